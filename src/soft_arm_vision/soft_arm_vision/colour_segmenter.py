"""The ring by its colour, its depth and its size."""

import cv2
import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.colour_mask import colour_mask
from soft_arm_vision.instance import Instance, plausibility
from soft_arm_vision.intrinsics import Intrinsics


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


def _cut(instance: Instance, window: tuple[slice, slice], shape: tuple[int, int]) -> bool:
    """Whether the instance ends where the window does, but not the image: the ring has left the window."""
    return any(s.start == w.start > 0 or s.stop == w.stop < size for s, w, size in zip(instance.window, window, shape, strict=True))
