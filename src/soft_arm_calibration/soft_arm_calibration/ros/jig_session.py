"""Measure the ring on a calibration jig through the camera's topics."""

import queue
import subprocess
import time
from contextlib import ExitStack
from typing import Any, Self

import numpy as np
from std_msgs.msg import Header

from soft_arm_calibration.ros.rig_process import end
from soft_arm_description.rig import Devices
from soft_arm_msgs.srv import PlaceRing
from soft_arm_node_kit.graph import ARM_EMULATION, DeviceWatch
from soft_arm_node_kit.session import Session
from soft_arm_vision.errors import VisionError
from soft_arm_vision.frames import Frame, stamp_ns
from soft_arm_vision.ring.detector import Detection, RingDetector
from soft_arm_vision.ros.camera_input import CameraInput

SETTLING_S = 0.1  # time after a placement before which frames are not used
FIND_RIG_S, START_RIG_S, CAMERA_S, SERVICE_S = 2.0, 30.0, 10.0, 5.0


class JigSession(Session):
    """A session with the camera and, on the virtual rig, with the jig.

    Args:
        detector: Finds the ring that is measured.
        virtual: Whether to move the ring of the virtual rig. If none runs, one is started and
            stopped at the end.
        robot: Robot file of the virtual rig that is started.
        topics: Namespace of the camera's topics.
        options: Options of `CameraInput`.
    """

    def __init__(
        self,
        detector: RingDetector,
        virtual: bool,
        robot: str,
        topics: str = '/camera/camera',
        **options: Any,
    ):
        super().__init__(
            'calibrate_extrinsics', remedy='are the camera and the rig running?', error=VisionError
        )
        self._topics, self._virtual, self._robot = topics, virtual, robot
        self._detector, self._options = detector, options
        self._rig: subprocess.Popen | None = None
        self._input: CameraInput | None = None
        self._results: queue.SimpleQueue[tuple[int, Detection]] = queue.SimpleQueue()
        self.started_rig = False

    def __enter__(self) -> Self:
        super().__enter__()
        self._devices = DeviceWatch(self.node, ARM_EMULATION)
        with ExitStack() as unfinished:  # closes what is open when something here fails
            unfinished.callback(self.__exit__)
            if self._virtual:
                self._find_rig()
            self._input = CameraInput(self.node, self._detect, f'{self._topics}/', **self._options)
            self.wait_for(
                lambda: self._input.intrinsics,
                CAMERA_S,
                f'{self._topics}/color/camera_info',
                self._check_pair,
            )
            unfinished.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        try:
            seen = self._input is not None and self._input.intrinsics is not None
            if self._virtual and seen and not self.started_rig:
                self.place(-1)
        finally:
            if self._input is not None:
                self._input.pair.close()
            super().__exit__(*error)
            if self._rig is not None:
                end(self._rig)

    @property
    def camera_frame(self) -> str:
        """Frame of the images."""
        return self._input.frame_id

    def place(self, peg: int) -> None:
        """Put the virtual rig's ring on a peg, or back on the arm with -1.

        Raises:
            VisionError: If the rig refuses or does not answer.
        """
        future = self._place.call_async(PlaceRing.Request(peg=peg))
        self.wait_for(future.done, SERVICE_S, 'the answer of place_ring', self._check_pair)
        if not future.result().success:
            raise VisionError(f'peg {peg}: {future.result().message}')

    def measure(self, frames: int) -> np.ndarray:
        """Return the ring's mean centre over the next frames [m], optical frame, shape (3,).

        Raises:
            VisionError: If the ring is not detected in enough frames in time.
        """
        after_ns = self.node.get_clock().now().nanoseconds + int(1e9 * SETTLING_S)
        centres, reasons = [], []

        def enough() -> bool:
            while not self._results.empty():
                taken_ns, detection = self._results.get()
                if taken_ns < after_ns:
                    continue
                if detection.fit is None:
                    reasons.append(detection.reason)
                else:
                    centres.append(detection.fit.centre)
            return len(centres) >= frames

        self.wait_for(
            enough,
            3.0 + frames / 5,
            lambda: (
                f'the ring in {frames} frames; {len(centres)} show it: '
                + (reasons[-1] if reasons else self._input.pair.trouble or 'no images arrived')
            ),
            self._check_pair,
        )
        return np.mean(centres[:frames], axis=0)

    @property
    def devices(self) -> Devices:
        """Devices of the rig whose camera is measured, `virtual` or `real`."""
        return self._devices.devices

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
        if mismatch := self._devices.mismatch(rig, devices):
            raise VisionError(mismatch)

    def _find_rig(self) -> None:
        self._place = self.node.create_client(PlaceRing, '/soft_arm/virtual_rig/place_ring')
        if self._place.wait_for_service(timeout_sec=FIND_RIG_S):
            return
        self._rig = subprocess.Popen(
            [
                *('softarm', 'run', 'soft_arm_sim', 'virtual_rig', '--ros-args'),
                *('-r', '__ns:=/soft_arm', '-p', 'modbus_port:=0'),
                *('-p', f'robot:={self._robot}'),
            ],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        self.started_rig = True
        deadline = time.monotonic() + START_RIG_S
        while not self._place.wait_for_service(timeout_sec=0.5):
            if self._rig.poll() is not None:
                raise VisionError(
                    f'the virtual rig ended with exit code {self._rig.returncode}; see its '
                    'message above'
                )
            if time.monotonic() > deadline:
                raise VisionError(f'the virtual rig did not start within {START_RIG_S:.0f} s')

    def _detect(self, header: Header, found: Frame | VisionError) -> None:
        """Detect the ring; runs in the worker thread."""
        if isinstance(found, VisionError):
            detection = Detection(None, str(found))
        else:
            detection = self._detector.detect(found.rgb, found.depth_m, found.intrinsics)
        self._results.put((stamp_ns(header.stamp), detection))

    def _check_pair(self) -> None:
        if self._input is not None and not self._input.pair.alive:
            raise VisionError('the images cannot be used; see the error above')
