"""Measure the ring on a calibration jig through the camera's topics."""

import subprocess
import time

import numpy as np

from soft_arm_calibration.ros.camera_session import CameraSession
from soft_arm_calibration.ros.rig_process import end
from soft_arm_msgs.srv import PlaceRing
from soft_arm_node_kit.session import Session
from soft_arm_vision.errors import VisionError
from soft_arm_vision.frames import Frame
from soft_arm_vision.ring.detector import RingDetector

SETTLING_S = 0.1  # time after a placement before which frames are not used
FIND_RIG_S, START_RIG_S, SERVICE_S = 2.0, 30.0, 5.0


def ring_centre_m(session: CameraSession, detector: RingDetector, frames: int) -> np.ndarray:
    """Return the ring's mean centre over the next frames [m], optical frame, shape (3,).

    Raises:
        VisionError: If the ring is not detected in enough frames in time.
    """

    def centre_m(frame: Frame) -> np.ndarray:
        found = detector.detect(frame.rgb, frame.depth_m, frame.intrinsics)
        if found.fit is None:
            raise VisionError(found.reason)
        return found.fit.centre

    after_ns = session.node.get_clock().now().nanoseconds + int(1e9 * SETTLING_S)
    centres_m = session.measure(centre_m, frames, 3.0 + frames / 5, 'the ring', after_ns)
    return np.mean(centres_m, axis=0)


class VirtualJig(Session):
    """A session with the jig of the virtual rig.

    If no virtual rig runs, one is started, and ended with the session.

    Args:
        robot: Robot file of the virtual rig that is started.
    """

    def __init__(self, robot: str):
        super().__init__('calibration_jig', remedy='is the rig running?', error=VisionError)
        self._robot, self._holds_ring = robot, False
        self._rig: subprocess.Popen | None = None

    def begin(self) -> None:
        """Find the virtual rig, or start one."""
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
        deadline = time.monotonic() + START_RIG_S
        while not self._place.wait_for_service(timeout_sec=0.5):
            if self._rig.poll() is not None:
                raise VisionError(
                    f'the virtual rig ended with exit code {self._rig.returncode}; see its '
                    'message above'
                )
            if time.monotonic() > deadline:
                raise VisionError(f'the virtual rig did not start within {START_RIG_S:.0f} s')

    def __exit__(self, *error: object) -> None:
        try:
            if self._holds_ring and not self.started_rig:
                self.place(-1)
        finally:
            super().__exit__(*error)
            if self._rig is not None:
                end(self._rig)

    @property
    def started_rig(self) -> bool:
        """True if this session has started the virtual rig."""
        return self._rig is not None

    def place(self, peg: int) -> None:
        """Put the ring on a peg, or back on the arm with -1.

        Raises:
            VisionError: If the rig refuses or does not answer.
        """
        future = self._place.call_async(PlaceRing.Request(peg=peg))
        self.wait_for(future.done, SERVICE_S, 'the answer of place_ring')
        if not future.result().success:
            raise VisionError(f'peg {peg}: {future.result().message}')
        self._holds_ring = peg >= 0
