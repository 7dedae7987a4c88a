"""Read the frames of a camera that runs."""

import queue
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Self

from std_msgs.msg import Header

from soft_arm_node_kit.graph import ARM_EMULATION, DeviceWatch
from soft_arm_node_kit.session import Session
from soft_arm_vision.errors import VisionError
from soft_arm_vision.frames import Frame
from soft_arm_vision.ros.camera_input import CameraInput

FIRST_S = 10.0  # within which the first frame must come


class CameraSession(Session):
    """A session with a camera.

    Args:
        topics: Namespace of the camera's topics.
        options: Options of `CameraInput`.
    """

    def __init__(self, topics: str = '/camera/camera', **options: Any):
        super().__init__('camera_check', remedy='is the camera running?', error=VisionError)
        self._topics, self._options = topics, options
        self._frames: queue.Queue[Frame | VisionError] = queue.Queue(maxsize=1)
        self._trouble: str | None = None
        self._begun = False

    def __enter__(self) -> Self:
        super().__enter__()
        with ExitStack() as unfinished:  # closes what is open when something here fails
            unfinished.callback(self.__exit__)
            self.watch = DeviceWatch(self.node, ARM_EMULATION)
            self._input = CameraInput(self.node, self._take, f'{self._topics}/', **self._options)
            self.wait_for(
                lambda: not self._frames.empty(),
                FIRST_S,
                lambda: self._trouble or self._input.pair.trouble or f'images of {self._topics}',
            )
            unfinished.pop_all()
        return self

    def frames(self, duration_s: float) -> Iterator[Frame]:
        """Yield the newest frame, for some seconds.

        Raises:
            VisionError: If the images stop or cannot be used.
        """
        end_s = time.monotonic() + duration_s
        while time.monotonic() < end_s:
            self.wait_for(lambda: not self._frames.empty(), FIRST_S, 'more images')
            found = self._frames.get()
            if isinstance(found, VisionError):
                raise found
            yield found

    def _take(self, header: Header, found: Frame | VisionError) -> None:
        """In the worker thread."""
        if isinstance(found, VisionError) and not self._begun:
            self._trouble = str(found)
            return
        self._begun = True
        self._frames.put(found)

    def __exit__(self, *error: object) -> None:
        if hasattr(self, '_input'):
            while not self._frames.empty():
                self._frames.get_nowait()
            self._input.pair.close()
        super().__exit__(*error)
