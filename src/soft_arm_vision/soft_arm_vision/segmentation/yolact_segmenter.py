"""Segment the ring by YOLACT."""

from collections.abc import Iterator

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.segmentation.candidate import TRACKING_MARGIN_PX, Candidate
from soft_arm_vision.segmentation.yolact.exported import ExportedYolact, Window, shipped_for

RING_CLASS = 'ring'
MAX_DETECTIONS = 3  # best first


class YolactSegmenter:
    """See `segmenter.Segmenter`.

    Around the last candidate the network looks at a window of its input, which takes less than a
    third of the time of the whole; without a candidate there it looks at the whole.

    Args:
        ring: The ring.
        network: The network, set up for the ring; None: the shipped one.

    Attributes:
        network: The network in use.

    Raises:
        VisionError: If the network finds no rings.
    """

    def __init__(self, ring: Ring, network: ExportedYolact | None = None):
        self.network = network or ExportedYolact(shipped_for(ring.colour_rgb), ring)
        if RING_CLASS not in self.network.classes:
            raise VisionError(
                f'the network finds {", ".join(self.network.classes)}, but no '
                f'{RING_CLASS!r}: train one with that class'
            )
        self._class = self.network.classes.index(RING_CLASS)
        # The first picture of each size takes ten times as long.
        for window in (None, self.network.window_about((slice(0, 1),) * 2, (1, 1))):
            self.network.detect(
                np.zeros((1, 1, 3), np.uint8), np.zeros((1, 1), np.float32), window=window
            )

    def segment(
        self,
        colour: np.ndarray,
        depth_m: np.ndarray,
        intrinsics: Intrinsics,
        last: Candidate | None = None,
    ) -> Iterator[Candidate]:
        """See `Segmenter.segment`."""
        if last is not None:
            about = last.widened(TRACKING_MARGIN_PX, depth_m.shape)
            window = self.network.window_about(about, depth_m.shape)
            if window is not None:
                yield from self._candidates(colour, depth_m, window)
        yield from self._candidates(colour, depth_m)

    def _candidates(
        self,
        colour: np.ndarray,
        depth_m: np.ndarray,
        window: Window | None = None,
    ) -> Iterator[Candidate]:
        found, prototypes = self.network.detect(colour, depth_m, window=window)
        for i in np.flatnonzero(found.classes == self._class)[:MAX_DETECTIONS]:
            coarse = self.network.mask(found, prototypes, i, colour.shape[:2])
            if not coarse[0].any():
                continue
            yield Candidate(*coarse, float(found.scores[i]))
