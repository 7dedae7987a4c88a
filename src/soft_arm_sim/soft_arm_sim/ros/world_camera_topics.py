"""Pictures of a world's cameras as topics."""

from collections.abc import Callable

import mujoco
import numpy as np
from sensor_msgs.msg import CameraInfo, Image

from soft_arm_description.world import Camera
from soft_arm_node_kit import qos
from soft_arm_node_kit.diagnostics import RateMeter
from soft_arm_node_kit.node import Node
from soft_arm_sim.cameras.world_camera import PictureThread, image_of
from soft_arm_sim.ros.conversions import camera_info_message, image_message


class WorldCameraTopics:
    """`CAMERA/image_raw` and `CAMERA/camera_info` of each camera, while somebody subscribes.

    Args:
        node: The node.
        model: The simulation's model.
        cameras: The cameras of its world.
        frames: Their optical frames by name.
        rate_hz: Pictures a second of each camera [Hz].
        positions: Returns the present positions of the joints, (nq,).

    Raises:
        SimulationError: If OpenGL is missing.
    """

    def __init__(
        self,
        node: Node,
        model: mujoco.MjModel,
        cameras: tuple[Camera, ...],
        frames: dict[str, str],
        rate_hz: float,
        positions: Callable[[], np.ndarray],
    ):
        self._node, self._frames = node, frames
        self._meters = {camera.name: RateMeter() for camera in cameras}
        self._images = {camera.name: image_of(camera, rate_hz) for camera in cameras}
        self._publishers = {
            name: (
                node.create_publisher(Image, f'{name}/image_raw', qos.IMAGE),
                node.create_publisher(CameraInfo, f'{name}/camera_info', qos.STATE),
            )
            for name in self._images
        }
        self._thread = PictureThread(
            model, cameras, rate_hz, self._subscribed, positions, self._publish
        )
        if cameras:
            self._thread.start()

    @property
    def rates_hz(self) -> dict[str, float]:
        """Pictures a second [Hz] by camera."""
        return {name: meter.rate_hz for name, meter in self._meters.items()}

    def stop(self) -> None:
        """End the thread and free the cameras."""
        if self._images:
            self._thread.stop()

    def _subscribed(self, camera: str) -> bool:
        return bool(self._publishers[camera][0].get_subscription_count())

    def _publish(self, camera: str, rgb: np.ndarray) -> None:
        images, infos = self._publishers[camera]
        stamp, frame = self._node.get_clock().now().to_msg(), self._frames[camera]
        infos.publish(camera_info_message(self._images[camera], stamp, frame))
        images.publish(image_message(rgb, 'rgb8', stamp, frame))
        self._meters[camera].tick()
