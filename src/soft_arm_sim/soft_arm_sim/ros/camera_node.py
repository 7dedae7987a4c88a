"""Node of a virtual RGB-D camera."""

import time
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.parameter import Parameter
from sensor_msgs.msg import CameraInfo, Image
from tf2_ros import StaticTransformBroadcaster

from soft_arm_kinematics.ros.conversions import transform_msg
from soft_arm_node_kit import qos
from soft_arm_node_kit.diagnostics import RateMeter
from soft_arm_node_kit.node import Node
from soft_arm_sim.cameras import parameters
from soft_arm_sim.ros.conversions import camera_info_message, image_message
from soft_arm_sim.simulated_frames import Frame


class CameraNode(Node):
    """Publishes colour and aligned depth with one stamp; a companion of the virtual rig's node.

    Args:
        name: Name of the node, with which its optical frame begins.
        namespace: Its namespace.
        streams: Prefixes of the topics of colour and depth.
        image: Intrinsics that it states.
        distortion: Lens that it states: k1, k2, p1, p2, k3.
        frames: Static transforms.
        simulated: Whether its time is that of /clock.
    """

    def __init__(
        self,
        name: str,
        namespace: str,
        streams: tuple[str, str],
        image: parameters.Image,
        distortion: Sequence[float] = (0.0,) * 5,
        frames: Sequence[Frame] = (),
        simulated: bool = False,
    ):
        # The arguments of this process name and place the virtual rig, not its camera.
        super().__init__(
            name,
            namespace=namespace,
            use_global_arguments=False,
            parameter_overrides=[Parameter('use_sim_time', value=simulated)],
        )
        self.meter = RateMeter(self.now_s if simulated else time.monotonic)
        self.optical_frame = f'{name}_color_optical_frame'
        self._image, self._distortion = image, distortion
        self._streams = [
            (
                self.create_publisher(Image, f'{stream}/image_raw', qos.IMAGE),
                self.create_publisher(CameraInfo, f'{stream}/camera_info', qos.STATE),
            )
            for stream in streams
        ]
        self._images: list[Image] = []  # of the newest frame
        self._tf = StaticTransformBroadcaster(self)
        stamp = self.get_clock().now().to_msg()
        self._tf.sendTransform([transform_msg(T, *names, stamp) for *names, T in frames])

    def publish(self, rgb: np.ndarray, depth: np.ndarray, stamp: Time) -> None:
        """Publish colour (h, w, 3) uint8, depth (h, w) uint16 [mm] and their camera infos."""
        self._images = [
            image_message(rgb, 'rgb8', stamp, self.optical_frame),
            image_message(depth, '16UC1', stamp, self.optical_frame),
        ]
        info = camera_info_message(self._image, stamp, self.optical_frame, self._distortion)
        for _, infos in self._streams:
            infos.publish(info)
        self.publish_again()
        self.meter.tick()

    def publish_again(self) -> None:
        """Publish the newest images again."""
        for image, (images, _) in zip(self._images, self._streams, strict=False):
            images.publish(image)
