"""Collect views of a moving ring, and watch for systematic errors of the camera meanwhile."""

from collections.abc import Iterable, Iterator

import numpy as np

from soft_arm_description.depth_sensor import DepthSensor
from soft_arm_description.robot import Ring
from soft_arm_vision.calibration.camera_check import (
    MIN_VIEWS,
    CameraCheck,
    RingView,
    trouble,
    view_of,
)
from soft_arm_vision.clouds.cloud import depth_in_metres
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.detector import Detection, RingDetector

EVERY_FRAMES = 5  # a view costs some milliseconds
MOVED_M, TURNED_RAD = 2e-3, 0.02  # since the last view; the same view again tells nothing new

Images = tuple[np.ndarray, np.ndarray, Intrinsics]


class RingViews:
    """Choose frames in which the ring has moved since the last chosen one."""

    def __init__(self) -> None:
        self._last: RingView | None = None

    def view(
        self, detection: Detection, depth: np.ndarray, intrinsics: Intrinsics
    ) -> RingView | None:
        """Return the view of a ring that was detected; None if there is none or nothing new.

        Args:
            detection: What was found.
            depth: Depth that it was found in, shape (h, w).
            intrinsics: Intrinsics of the image.
        """
        fit, last = detection.fit, self._last
        if fit is None or detection.candidate is None:
            return None
        if (
            last is not None
            and np.linalg.norm(fit.centre - last.centre) < MOVED_M
            and np.linalg.norm(fit.axis - last.axis) < TURNED_RAD
        ):
            return None
        self._last = view_of(detection.candidate, fit, depth_in_metres(depth), intrinsics)
        return self._last


class CameraMonitor:
    """Watch for systematic errors of the camera in the frames of a detector.

    Attributes:
        trouble: What is wrong with the camera, in one line; None if nothing is known to be.
    """

    def __init__(self, ring: Ring, sensor: DepthSensor):
        self._check, self._views, self._frames = CameraCheck(ring, sensor), RingViews(), 0
        self.trouble: str | None = None

    def update(self, detection: Detection, depth: np.ndarray, intrinsics: Intrinsics) -> None:
        """Use what was detected in one frame; see `RingViews.view`."""
        self._frames += 1
        if self._frames % EVERY_FRAMES:
            return
        view = self._views.view(detection, depth, intrinsics)
        if view is None:
            return
        self._check.add(view)
        if self._check.views >= MIN_VIEWS:
            self.trouble = trouble(self._check.errors())


def ring_views(frames: Iterable[Images], detector: RingDetector) -> Iterator[RingView]:
    """Yield the views of a moving ring.

    Args:
        frames: Colour (h, w, 3), aligned depth (h, w) and the intrinsics of both.
        detector: Finds the ring.
    """
    views = RingViews()
    for colour, depth, intrinsics in frames:
        view = views.view(detector.detect(colour, depth, intrinsics), depth, intrinsics)
        if view is not None:
            yield view
