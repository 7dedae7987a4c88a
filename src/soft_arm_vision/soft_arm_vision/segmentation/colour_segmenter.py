"""Segment the ring by its colour."""

from collections.abc import Iterator

import cv2
import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.clouds.cloud import BORDER_PX, solid_pixels
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.segmentation.candidate import TRACKING_MARGIN_PX, Candidate
from soft_arm_vision.segmentation.colour_mask import colour_mask

LARGEST = 5  # parts that are looked at
MIN_PX = 60  # of a part
LOST_PX = BORDER_PX + 1  # of a part's border where it is parted from others
NO_OPINION = 0.5  # score of a candidate of which only the colour is known


class ColourSegmenter:
    """Segment the ring by colour: candidates are the parts of its colour between jumps of depth."""

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
        tried: list[tuple[slice, slice]] = []
        for window in windows:
            for part in _parts(self._coloured(colour[window], depth_m[window]), depth_m, window):
                if part.window not in tried and not _cut(part, window, depth_m.shape):
                    tried.append(part.window)
                    yield part

    def _coloured(self, colour: np.ndarray, depth_m: np.ndarray) -> np.ndarray:
        low, high = self.DEPTH_RANGE_M
        # Pixels without depth stay in.
        out_of_range = (depth_m > 0) & ((depth_m < low) | (depth_m > high))
        return (colour_mask(colour, self._ring.colour_rgb) > 0) & ~out_of_range


def _parts(
    mask: np.ndarray, depth_m: np.ndarray, window: tuple[slice, slice]
) -> Iterator[Candidate]:
    """Yield the parts of the mask of a window between jumps of depth, largest first."""
    solid = solid_pixels(mask, depth_m[window]).astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(solid, connectivity=4)
    first_row, first_column = window[0].start, window[1].start
    for label in 1 + np.argsort(-stats[1:, cv2.CC_STAT_AREA], kind='stable')[:LARGEST]:
        x, y, w, h, area = (int(value) for value in stats[label])
        if area < MIN_PX:
            return
        core = Candidate(labels[y : y + h, x : x + w] == label, y, x, NO_OPINION)
        rows, columns = core.widened(LOST_PX, mask.shape)
        grown = cv2.dilate(
            core.mask_in(rows, columns).astype(np.uint8), np.ones((2 * LOST_PX + 1,) * 2, np.uint8)
        )
        yield Candidate(
            (grown > 0) & mask[rows, columns],
            first_row + rows.start,
            first_column + columns.start,
            NO_OPINION,
        )


def _cut(candidate: Candidate, window: tuple[slice, slice], shape: tuple[int, int]) -> bool:
    """Return whether the window, and not the image, cuts the candidate."""
    return any(
        s.start == w.start > 0 or s.stop == w.stop < size
        for s, w, size in zip(candidate.window, window, shape, strict=True)
    )
