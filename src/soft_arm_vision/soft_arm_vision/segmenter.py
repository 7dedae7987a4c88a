"""Where the ring is in the picture: instance masks from colour and depth."""

from dataclasses import dataclass
from typing import Protocol

import cv2
import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.colour_mask import colour_mask
from soft_arm_vision.cylinder_fit import Cylinders
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics


@dataclass(frozen=True)
class Instance:
    """One instance: its mask inside a window of the image.

    Attributes:
        mask: Shape (h, w), bool.
        row, column: The window's first pixel in the whole image.
        score: 0..1, how sure the segmenter is.
        cylinder: Roughly the ring's wall (K = 1), where the segmenter looked for it.
    """

    mask: np.ndarray
    row: int
    column: int
    score: float
    cylinder: Cylinders | None = None

    @property
    def window(self) -> tuple[slice, slice]:
        """Rows and columns of the window in the whole image."""
        return slice(self.row, self.row + self.mask.shape[0]), slice(self.column, self.column + self.mask.shape[1])


class Segmenter(Protocol):
    """Finds rings; the best comes first, no ring is an empty list."""

    def segment(self, colour: np.ndarray, depth_m: np.ndarray, intrinsics: Intrinsics) -> list[Instance]:
        """Segment one frame.

        Args:
            colour: RGB, shape (h, w, 3), uint8.
            depth_m: Aligned depth [m], 0 where there is none, shape (h, w).
            intrinsics: Of both images.
        """


class ColourSegmenter:
    """Ring by its colour, its depth and its size; looks first where it last saw it."""

    DEPTH_RANGE_M = (0.15, 2.0)
    MARGIN_PX = 40  # a ring at 0.5 m moving 1 m/s shifts by this much between two frames at 30 Hz

    def __init__(self, ring: Ring):
        self._ring = ring
        self._last: Instance | None = None

    def segment(self, colour: np.ndarray, depth_m: np.ndarray, intrinsics: Intrinsics) -> list[Instance]:
        """See `Segmenter.segment`."""
        found = []
        if self._last is not None and colour.shape[:2] == depth_m.shape:
            rows, columns = self._last.window
            window = (
                slice(max(0, rows.start - self.MARGIN_PX), rows.stop + self.MARGIN_PX),
                slice(max(0, columns.start - self.MARGIN_PX), columns.stop + self.MARGIN_PX),
            )
            found = self._in_window(colour, depth_m, intrinsics, window)
            found = [] if found and _cut(found[0], window, depth_m.shape) else found
        if not found:
            found = self._in_window(colour, depth_m, intrinsics, (slice(0, colour.shape[0]), slice(0, colour.shape[1])))
        self._last = found[0] if found else None
        return found

    def _in_window(self, colour, depth_m, intrinsics, window) -> list[Instance]:
        candidates = colour_mask(colour[window], self._ring.colour_rgb)
        depth_m = depth_m[window]
        low, high = self.DEPTH_RANGE_M
        candidates[(depth_m > 0) & ((depth_m < low) | (depth_m > high))] = 0  # holes of the depth stay in
        count, labels, stats, _ = cv2.connectedComponentsWithStats(candidates, connectivity=4)
        found = []
        for label in 1 + np.argsort(-stats[1:, cv2.CC_STAT_AREA], kind='stable')[:5]:
            x, y, w, h, area = stats[label]
            box = slice(y, y + h), slice(x, x + w)
            mask = labels[box] == label
            score = plausibility(self._ring, area, w, h, depth_m[box][mask], intrinsics)
            if score > 0:
                found.append(Instance(mask, int(window[0].start + y), int(window[1].start + x), score))
        return sorted(found, key=lambda instance: -instance.score)


def plausibility(ring: Ring, area_px: int, width_px: int, height_px: int, depth_m: np.ndarray, intrinsics: Intrinsics) -> float:
    """0 for a size that no view of the ring has at that depth, else how much of a side view is seen.

    Args:
        ring: The ring.
        area_px, width_px, height_px: Of the mask and of its box.
        depth_m: Of the mask's pixels [m], 0 where there is none.
        intrinsics: Of the picture.
    """
    depth_m = depth_m[depth_m > 0]
    if area_px < 60 or len(depth_m) < 0.1 * area_px:
        return 0.0
    metres_per_px = np.median(depth_m) / intrinsics.fx
    side_m2 = 2 * ring.radius_m * ring.height_m
    seen_m2 = area_px * metres_per_px**2
    diagonal_m = np.hypot(2 * ring.radius_m, ring.height_m)
    if max(width_px, height_px) * metres_per_px > 1.3 * diagonal_m or seen_m2 > 1.4 * (np.pi * ring.radius_m**2 + side_m2):
        return 0.0
    return 0.0 if seen_m2 < 0.15 * side_m2 else float(min(1.0, seen_m2 / side_m2))


def _cut(instance: Instance, window: tuple[slice, slice], shape: tuple[int, int]) -> bool:
    """Whether the instance ends where the window does, but not the image: the ring has left the window."""
    return any(s.start == w.start > 0 or s.stop == w.stop < size for s, w, size in zip(instance.window, window, shape, strict=True))


def make_segmenter(name: str, ring: Ring) -> Segmenter:
    """Segmenter by name, 'colour' or 'yolact'.

    Raises:
        VisionError: If there is no such segmenter, or its network cannot be read.
    """
    if name == 'colour':
        return ColourSegmenter(ring)
    if name == 'yolact':
        from soft_arm_vision.yolact_segmenter import YolactSegmenter  # it needs this module

        return YolactSegmenter(ring)
    raise VisionError(f"segmenter {name!r} is not known: use one of ['colour', 'yolact']")
