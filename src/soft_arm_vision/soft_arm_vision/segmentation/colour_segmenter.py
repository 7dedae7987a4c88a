"""Segment the ring by its colour."""

from collections.abc import Iterator

import cv2
import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.clouds.cloud import solid_pixels
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.segmentation.candidate import TRACKING_MARGIN_PX, Candidate
from soft_arm_vision.segmentation.colour_mask import colour_mask
from soft_arm_vision.tolerances import TOLERANCES

MAX_PARTS, MAX_REGIONS = 5, 2
MIN_PX = 60  # of a part
LOST_PX = TOLERANCES.border_px + 1  # width of the border that `solid_pixels` drops
DUPLICATE_TOLERANCE_PX = 3  # between the sides of two candidates
UNKNOWN_SCORE = 0.5  # of a candidate found by its colour


class ColourSegmenter:
    """Segment the ring by colour.

    Candidates are the parts of its colour between jumps of depth, because another object of that
    colour may be next to the ring. After them come whole regions: depth may be missing in stripes.
    """

    DEPTH_RANGE_M = (0.15, 2.0)

    def __init__(self, ring: Ring):
        self._ring = ring

    def segment(
        self,
        colour: np.ndarray,
        depth_m: np.ndarray,
        intrinsics: Intrinsics,
        last: Candidate | None = None,
    ) -> Iterator[Candidate]:
        """See `Segmenter.segment`."""
        windows = [(slice(0, depth_m.shape[0]), slice(0, depth_m.shape[1]))]
        if last is not None:
            windows.insert(0, last.widened(TRACKING_MARGIN_PX, depth_m.shape))
        tried: list[np.ndarray] = []
        for window in windows:
            mask = self._coloured(colour[window], depth_m[window])
            solid = solid_pixels(mask, depth_m[window], self._ring.radius_m)
            for cores, count in ((solid, MAX_PARTS), (mask, MAX_REGIONS)):
                for part in _largest(cores, count, mask, window):
                    sides = np.array([(s.start, s.stop) for s in part.window])
                    if _cut(part, window, depth_m.shape) or any(
                        np.abs(sides - other).max() <= DUPLICATE_TOLERANCE_PX for other in tried
                    ):
                        continue
                    tried.append(sides)
                    yield part

    def _coloured(self, colour: np.ndarray, depth_m: np.ndarray) -> np.ndarray:
        low, high = self.DEPTH_RANGE_M
        # Pixels without depth stay in.
        out_of_range = (depth_m > 0) & ((depth_m < low) | (depth_m > high))
        return (colour_mask(colour, self._ring.colour_rgb) > 0) & ~out_of_range


def _largest(
    cores: np.ndarray, count: int, mask: np.ndarray, window: tuple[slice, slice]
) -> Iterator[Candidate]:
    """Yield so many connected parts of the cores of a mask, largest first, with their borders."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(cores.astype(np.uint8), connectivity=4)
    first_row, first_column = window[0].start, window[1].start
    for label in 1 + np.argsort(-stats[1:, cv2.CC_STAT_AREA], kind='stable')[:count]:
        x, y, w, h, area = (int(value) for value in stats[label])
        if area < MIN_PX:
            return
        core = Candidate(labels[y : y + h, x : x + w] == label, y, x, UNKNOWN_SCORE)
        rows, columns = core.widened(LOST_PX, mask.shape)
        grown = cv2.dilate(
            core.mask_in(rows, columns).astype(np.uint8), np.ones((2 * LOST_PX + 1,) * 2, np.uint8)
        )
        yield Candidate(
            (grown > 0) & mask[rows, columns],
            first_row + rows.start,
            first_column + columns.start,
            UNKNOWN_SCORE,
        )


def _cut(candidate: Candidate, window: tuple[slice, slice], shape: tuple[int, int]) -> bool:
    """Return whether the window, and not the image, cuts the candidate."""
    return any(
        s.start == w.start > 0 or s.stop == w.stop < size
        for s, w, size in zip(candidate.window, window, shape, strict=True)
    )
