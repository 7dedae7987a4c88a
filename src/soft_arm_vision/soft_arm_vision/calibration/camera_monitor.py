"""Collect views of a moving ring, and watch for systematic errors of the camera meanwhile."""

from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np

from soft_arm_description.depth_sensor import DepthSensor
from soft_arm_description.robot import Ring
from soft_arm_vision.calibration.camera_check import (
    MAX_VIEWS,
    MIN_VIEWS,
    CameraCheck,
    RingView,
    trouble,
)
from soft_arm_vision.frames import Frame
from soft_arm_vision.ring.detector import Detection, RingDetector

EVERY_FRAMES = 5  # a view costs some milliseconds
# From every view that is kept: more than a pose's noise. Views of one pose share their errors, and
# many of them would be taken for certainty.
MOVED_M, TURNED_RAD = 2e-3, 0.1


class RingViews:
    """Choose frames in which the ring is where it has not been."""

    def __init__(self) -> None:
        self._centres_m: deque[np.ndarray] = deque(maxlen=MAX_VIEWS)
        self._axes: deque[np.ndarray] = deque(maxlen=MAX_VIEWS)

    def view(self, detection: Detection) -> RingView | None:
        """Return the view of a ring that was detected; None if there is none or nothing new."""
        fit, points, outline = detection.fit, detection.points, detection.outline
        if fit is None or points is None or outline is None:
            return None
        if self._is_known(fit.centre, fit.axis):
            return None
        self._centres_m.append(fit.centre)
        self._axes.append(fit.axis)
        return RingView(points, outline, fit.centre, fit.axis)

    def _is_known(self, centre_m: np.ndarray, axis: np.ndarray) -> bool:
        if not self._centres_m:
            return False
        moved_m = np.linalg.norm(np.array(self._centres_m) - centre_m, axis=1)
        turned = np.linalg.norm(np.array(self._axes) - axis, axis=1)
        return bool(((moved_m < MOVED_M) & (turned < TURNED_RAD)).any())


class CameraMonitor:
    """Watch for systematic errors of the camera in the frames of a detector.

    Attributes:
        trouble: What is wrong with the camera, in one line; None if nothing is known to be.
    """

    def __init__(self, ring: Ring, sensor: DepthSensor):
        self._check, self._views, self._frames = CameraCheck(ring, sensor), RingViews(), 0
        self.trouble: str | None = None

    def update(self, detection: Detection) -> None:
        """Use what was detected in one frame; see `RingViews.view`."""
        self._frames += 1
        if self._frames % EVERY_FRAMES:
            return
        view = self._views.view(detection)
        if view is None:
            return
        self._check.add(view)
        if self._check.views >= MIN_VIEWS:
            self.trouble = trouble(self._check.errors())


def ring_views(frames: Iterable[Frame], detector: RingDetector) -> Iterator[RingView]:
    """Yield the views of a moving ring.

    Args:
        frames: Frames of one camera.
        detector: Finds the ring.
    """
    views = RingViews()
    for frame in frames:
        view = views.view(detector.detect(frame.rgb, frame.depth_m, frame.intrinsics))
        if view is not None:
            yield view
