"""Segment the ring by its colour."""

from collections.abc import Iterator

import cv2
import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.clouds.cloud import BORDER_PX, solid_pixels
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.segmentation.candidate import TRACKING_MARGIN_PX, Candidate
from soft_arm_vision.segmentation.colour_mask import colour_mask

LARGEST = 5  # regions that are looked at
MIN_PX = 60  # of a region
NO_OPINION = 0.5  # score of a candidate of which only the colour is known


class ColourSegmenter:
    """Segment the ring by colour.

    Each region of the ring's colour is a candidate. After them come the parts of these
    regions between jumps of depth, because another object of that colour may be beside the ring.
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
        height, width = depth_m.shape
        windows = [(slice(0, height), slice(0, width))]
        tried: list[Candidate] = []
        if last is not None:
            windows.insert(0, last.widened(TRACKING_MARGIN_PX, depth_m.shape))
        for window in windows:
            mask = self._coloured(colour[window], depth_m[window])
            for parted in (False, True):
                for piece in _largest(
                    solid_pixels(mask, depth_m[window]) if parted else mask, window
                ):
                    if _cut(piece, window, depth_m.shape) or any(
                        _alike(piece, other) for other in tried
                    ):
                        continue
                    tried.append(piece)
                    yield piece

    def _coloured(self, colour: np.ndarray, depth_m: np.ndarray) -> np.ndarray:
        low, high = self.DEPTH_RANGE_M
        # Pixels without depth stay in.
        out_of_range = (depth_m > 0) & ((depth_m < low) | (depth_m > high))
        return (colour_mask(colour, self._ring.colour_rgb) > 0) & ~out_of_range


def _largest(mask: np.ndarray, window: tuple[slice, slice]) -> Iterator[Candidate]:
    """Return the connected regions of the mask of a window, largest first."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=4)
    for label in 1 + np.argsort(-stats[1:, cv2.CC_STAT_AREA], kind='stable')[:LARGEST]:
        x, y, w, h, _ = stats[label]
        if stats[label, cv2.CC_STAT_AREA] < MIN_PX:
            return
        yield Candidate(
            labels[y : y + h, x : x + w] == label,
            int(window[0].start + y),
            int(window[1].start + x),
            NO_OPINION,
        )


def _alike(one: Candidate, other: Candidate) -> bool:
    """Return whether two candidates fill the same window, but for the border of a part."""
    sides = zip(one.window, other.window, strict=True)
    return all(max(abs(a.start - b.start), abs(a.stop - b.stop)) <= BORDER_PX + 1 for a, b in sides)


def _cut(candidate: Candidate, window: tuple[slice, slice], shape: tuple[int, int]) -> bool:
    """Return whether the window, and not the image, cuts the candidate."""
    return any(
        s.start == w.start > 0 or s.stop == w.stop < size
        for s, w, size in zip(candidate.window, window, shape, strict=True)
    )
