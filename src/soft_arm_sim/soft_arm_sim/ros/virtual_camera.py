"""The virtual D435i's node: frames as realsense2_camera publishes them."""

from collections.abc import Callable

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import CameraInfo, Image
from tf2_ros import StaticTransformBroadcaster

from soft_arm_node_kit import qos
from soft_arm_node_kit.diagnostics import RateMeter
from soft_arm_node_kit.node import Node
from soft_arm_sim.cameras.camera import VirtualCamera
from soft_arm_sim.ros.conversions import camera_info_message, image_message, inner_frame_messages


class CameraNode(Node):
    """/camera/<name>.

    Publishes frames as realsense2_camera does with align_depth and enable_sync.

    Args:
        camera: Renders the frames.
        name: Name of the node, with which its frames begin.
        clock: Returns the time [s] for the rate of the frames.
    """

    def __init__(self, camera: VirtualCamera, name: str, clock: Callable[[], float]):
        # The arguments of this process name and place the virtual rig, not its camera.
        super().__init__(
            name,
            namespace='/camera',
            use_global_arguments=False,
            start_parameter_services=False,
        )
        self._camera, self.meter = camera, RateMeter(clock)
        self._optical_frame = f'{name}_color_optical_frame'
        self._topics = [
            (
                self.create_publisher(Image, f'~/{stream}/image_raw', qos.IMAGE),
                self.create_publisher(CameraInfo, f'~/{stream}/camera_info', qos.STATE),
                encoding,
            )
            for stream, encoding in (('color', 'rgb8'), ('aligned_depth_to_color', '16UC1'))
        ]
        self._images: list[Image] = []  # of the newest frame
        self._tf = StaticTransformBroadcaster(self)
        self._tf.sendTransform(inner_frame_messages(name, self.get_clock().now().to_msg()))

    def publish(self, qpos: np.ndarray, stamp: Time) -> None:
        """Render the plant at joint positions (nq,); publish colour, depth and camera infos."""
        frame = self._camera.capture(qpos)
        self._images = [
            image_message(pixels, encoding, stamp, self._optical_frame)
            for pixels, (_, _, encoding) in zip((frame.rgb, frame.depth), self._topics, strict=True)
        ]
        for _, infos, _ in self._topics:
            infos.publish(
                camera_info_message(
                    self._camera.parameters.stated_image, stamp, frame_id=self._optical_frame
                )
            )
        self.publish_again()
        self.meter.tick()

    def publish_again(self) -> None:
        """Publish the newest images again."""
        for image, (images, _, _) in zip(self._images, self._topics, strict=False):
            images.publish(image)
