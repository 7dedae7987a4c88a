"""Common interface of the tip trackers of a camera."""

from typing import NamedTuple, Protocol, Self

import numpy as np

from soft_arm_vision.intrinsics import Intrinsics


class TipSight(NamedTuple):
    """The tip in one frame.

    Attributes:
        T_base_tip: Its pose in the arm's base frame, (4, 4); None if it was not found.
        covariance: Of position and rotation about the axes of the base frame [m, rad], (6, 6).
        trouble: Why it was not found; empty if it was.
    """

    T_base_tip: np.ndarray | None
    covariance: np.ndarray
    trouble: str = ''

    @classmethod
    def missed(cls, trouble: str) -> Self:
        """Return the result for a frame without a tip."""
        return cls(None, np.zeros((6, 6)), trouble)


class TipTracker(Protocol):
    """Finds the tip in each frame of one camera."""

    def track(self, colour: np.ndarray, depth: np.ndarray, intrinsics: Intrinsics) -> TipSight:
        """Look for the tip in one frame.

        Args:
            colour: RGB, shape (h, w, 3), uint8.
            depth: Aligned depth, shape (h, w): uint16 millimetres or float metres.
            intrinsics: Intrinsics of both images.
        """

    def overlay(self, colour: np.ndarray) -> np.ndarray:
        """Return the newest frame's colour image with what was found drawn on it."""

    def check_camera(self) -> str | None:
        """Return the systematic errors of the camera by all frames so far, in one line, or None.

        It may take some milliseconds: the tip of the frame goes out first.
        """
