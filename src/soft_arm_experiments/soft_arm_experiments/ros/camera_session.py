"""Read the images of a camera that runs."""

import queue
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Self

import numpy as np
from sensor_msgs.msg import CameraInfo, Image

from soft_arm_node_kit import qos
from soft_arm_node_kit.graph import ARM_EMULATION, DeviceWatch
from soft_arm_node_kit.session import Session
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ros.camera_input import CameraInput
from soft_arm_vision.ros.newest_pair import NewestPair

FIRST_S = 10.0  # within which the first images must come


class CameraSession(Session):
    """A session with a camera whose depth its driver aligns.

    Args:
        camera: Namespace of the camera's topics.
    """

    def __init__(self, camera: str = '/camera/camera'):
        super().__init__('camera_check', remedy='is the camera running?', error=VisionError)
        self._camera = camera
        self._pairs: queue.Queue[tuple[Image, Image]] = queue.Queue(maxsize=1)

    def __enter__(self) -> Self:
        super().__enter__()
        with ExitStack() as unfinished:  # closes what is open when something here fails
            unfinished.callback(self.__exit__)
            self.watch = DeviceWatch(self.node, ARM_EMULATION)
            self._input = CameraInput(self.node, None)
            self._pair = NewestPair(lambda *pair: self._pairs.put(pair))
            for kind, topic, put in (
                (CameraInfo, 'color/camera_info', self._input.take_info),
                (Image, 'color/image_raw', self._pair.put_colour),
                (Image, self._input.depth_topic, self._pair.put_depth),
            ):
                self.node.create_subscription(kind, f'{self._camera}/{topic}', put, qos.SENSOR)
            self.wait_for(
                lambda: self._input.intrinsics and not self._pairs.empty(),
                FIRST_S,
                lambda: self._pair.trouble or f'images of {self._camera}',
            )
            unfinished.pop_all()
        return self

    def frames(self, duration_s: float) -> Iterator[tuple[np.ndarray, np.ndarray, Intrinsics]]:
        """Yield colour, depth and intrinsics of the newest pair of images, for some seconds.

        Raises:
            VisionError: If the images stop or cannot be used.
        """
        end_s = time.monotonic() + duration_s
        while time.monotonic() < end_s:
            self.wait_for(lambda: not self._pairs.empty(), FIRST_S, 'more images')
            yield self._input.images(*self._pairs.get())

    def __exit__(self, *error: object) -> None:
        if hasattr(self, '_pair'):
            while not self._pairs.empty():
                self._pairs.get_nowait()
            self._pair.close()
        super().__exit__(*error)
