"""Read the frames of a camera that runs."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from soft_arm_description.rig import VIRTUAL
from soft_arm_node_kit.graph import ARM_EMULATION, DeviceWatch
from soft_arm_node_kit.session import DISCOVERY_TIMEOUT_S, Session
from soft_arm_vision.errors import VisionError
from soft_arm_vision.frames import Frame
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ros.camera_input import CameraInput

FIRST_S = 10.0  # time limit of the first images, and of each frame of `frames`
_Used = TypeVar('_Used')


class CameraSession(Session):
    """A session with a camera.

    Args:
        topics: Namespace of the camera's topics.
        name, remedy: See `Session`.
        emulation, driver: Service type and driver's namespace for `DeviceWatch`.
        options: Options of `CameraInput`.
    """

    def __init__(
        self,
        topics: str = '/camera/camera',
        name: str = 'camera_check',
        remedy: str = 'is the camera running?',
        emulation: str = ARM_EMULATION,
        driver: str | None = None,
        **options: Any,
    ):
        super().__init__(name, remedy=remedy, error=VisionError)
        self._topics, self._options = topics, options
        self._emulation, self._driver = emulation, driver
        self._newest: deque[Frame | VisionError] = deque(maxlen=1)

    def begin(self) -> None:
        """Subscribe, and wait for the first images and their camera info."""
        self.watch = DeviceWatch(self.node, self._emulation, self._driver)
        self._input = CameraInput(
            self.node,
            lambda _, found: self._newest.append(found),  # in the worker thread
            f'{self._topics}/',
            **self._options,
        )
        self.wait_for(
            lambda: self._newest and self._input.intrinsics,
            FIRST_S,
            lambda: f'images of {self._topics}{self._trouble()}',
            self._check_input,
        )

    def __exit__(self, *error: object) -> None:
        if hasattr(self, '_input'):  # it is not, if `begin` failed before
            self._input.pair.close()
        super().__exit__(*error)

    @property
    def intrinsics(self) -> Intrinsics:
        """Corrected intrinsics of the images."""
        return self._input.intrinsics

    @property
    def camera_frame(self) -> str:
        """Frame of the images."""
        return self._input.frame_id

    def check_devices(self, rig: str, devices: str) -> None:
        """Make sure that the images come from one camera, and from a rig with these devices.

        Raises:
            VisionError: If they do not.
        """
        cameras = self.node.count_publishers(f'{self._topics}/color/camera_info')
        if cameras > 1:
            raise VisionError(
                f'{cameras} nodes publish {self._topics}/color/camera_info: stop all but the '
                'camera that is calibrated'
            )
        if devices == VIRTUAL:
            self.holds(self.watch.emulated, DISCOVERY_TIMEOUT_S)
        if mismatch := self.watch.mismatch(rig, devices):
            raise VisionError(f'{mismatch}; nothing was saved')

    def frames(self, duration_s: float) -> Iterator[Frame]:
        """Yield the newest frame, for some seconds.

        Raises:
            VisionError: If the images stop or cannot be used.
        """
        end_s = time.monotonic() + duration_s
        while time.monotonic() < end_s:
            yield from self.measure(lambda frame: frame, 1, FIRST_S, 'the camera')

    def measure(
        self,
        use: Callable[[Frame], _Used],
        count: int,
        timeout_s: float,
        what: str,
        after_ns: int = 0,
    ) -> list[_Used]:
        """Return what `use` returns for the next frames.

        Args:
            use: Called with each frame; raises VisionError for one that is not counted.
            count: Number of frames.
            timeout_s: Time limit [s].
            what: What the frames show, for errors.
            after_ns: Time after which the frames are taken [ns].

        Raises:
            VisionError: If too few frames come in time, or can be used.
        """
        found: list[_Used] = []
        trouble = ''

        def enough() -> bool:
            nonlocal trouble
            while self._newest and len(found) < count:
                frame = self._newest.popleft()
                try:
                    if isinstance(frame, VisionError):
                        raise frame
                    if frame.stamp_ns > after_ns:
                        found.append(use(frame))
                except VisionError as error:
                    trouble = f': {error}'
            return len(found) >= count

        self.wait_for(
            enough,
            timeout_s,
            lambda: (
                f'{count} frames of {what}, {len(found)} so far'
                f'{trouble or self._trouble() or ": no images arrived"}'
            ),
            self._check_input,
        )
        return found

    def _trouble(self) -> str:
        newest = next(iter(self._newest), None)
        why = newest if isinstance(newest, VisionError) else self._input.pair.trouble
        return f': {why}' if why else ''

    def _check_input(self) -> None:
        if not self._input.pair.alive:
            raise VisionError('the images cannot be used; see the error above')
