"""One candidate of a segmenter, and whether its size can be that of the ring."""

from dataclasses import dataclass

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.clouds.cylinder import Cylinders
from soft_arm_vision.intrinsics import Intrinsics

# Around a candidate, where the ring is looked for in the next frame: at 0.5 m, a ring that moves
# 1 m/s shifts by this much between two frames at 30 Hz.
TRACKING_MARGIN_PX = 40


@dataclass(frozen=True)
class Candidate:
    """One candidate: its mask inside a window of the image.

    Attributes:
        mask: Shape (h, w), bool.
        row, column: The window's first pixel in the whole image.
        score: Confidence of the segmenter, 0..1.
        cylinder: First guess of the ring's wall (K = 1), where the segmenter has looked for it.
        verification_score: Log-odds of a ring before the pose fit; infinite if the segmenter is
            certain.
    """

    mask: np.ndarray
    row: int
    column: int
    score: float
    cylinder: Cylinders | None = None
    verification_score: float = np.inf

    @property
    def window(self) -> tuple[slice, slice]:
        """Rows and columns of the window in the whole image."""
        return slice(self.row, self.row + self.mask.shape[0]), slice(
            self.column, self.column + self.mask.shape[1]
        )

    def inside(self, shape: tuple[int, int]) -> bool:
        """Return whether the window lies inside an image of this shape."""
        return all(s.stop <= size for s, size in zip(self.window, shape, strict=True))

    def widened(self, by_px: int, shape: tuple[int, int]) -> tuple[slice, slice]:
        """The window with room on each side, inside an image of this shape."""
        rows, columns = (
            slice(max(0, s.start - by_px), min(size, s.stop + by_px))
            for s, size in zip(self.window, shape, strict=True)
        )
        return rows, columns

    def mask_in(self, rows: slice, columns: slice) -> np.ndarray:
        """The mask in a larger window, bool."""
        v, u = self.window
        return np.pad(
            self.mask,
            (
                (v.start - rows.start, rows.stop - v.stop),
                (u.start - columns.start, columns.stop - u.stop),
            ),
        )


def plausibility(
    ring: Ring, candidate: Candidate, depth_m: np.ndarray, intrinsics: Intrinsics
) -> float:
    """Return 0 for a size that no view of the ring has, else the visible share of a side view.

    Args:
        ring: The ring.
        candidate: The candidate.
        depth_m: Depth of the whole image [m], 0 where there is none, shape (h, w).
        intrinsics: Intrinsics of the image.
    """
    area_px = np.count_nonzero(candidate.mask)
    depth_m = depth_m[candidate.window][candidate.mask]
    depth_m = depth_m[depth_m > 0]
    if area_px < 60 or len(depth_m) < 0.1 * area_px:
        return 0.0
    metres_per_px = np.median(depth_m) / intrinsics.fx
    side_m2 = 2 * ring.radius_m * ring.height_m
    seen_m2 = area_px * metres_per_px**2
    diagonal_m = np.hypot(2 * ring.radius_m, ring.height_m)
    if max(candidate.mask.shape) * metres_per_px > 1.3 * diagonal_m or seen_m2 > 1.4 * (
        np.pi * ring.radius_m**2 + side_m2
    ):
        return 0.0
    return 0.0 if seen_m2 < 0.15 * side_m2 else float(min(1.0, seen_m2 / side_m2))
