"""Segment the ring by YOLACT; depth verifies each detection, depth and colour refine its edge."""

from collections.abc import Iterator

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.clouds.cylinder import Cylinders
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.verification import Verifier
from soft_arm_vision.segmentation.candidate import TRACKING_MARGIN_PX, Candidate
from soft_arm_vision.segmentation.yolact.exported import ExportedYolact, Window, shipped_for

RING_CLASS = 'ring'
MAX_DETECTIONS = 3  # that are looked at, best first


class YolactSegmenter:
    """See `segmenter.Segmenter`.

    Around the last candidate the network looks at a window of its input, which takes less than a
    third of the time of the whole; without a candidate there it looks at the whole.

    Args:
        ring: The ring, whose size a detection must have at its depth.
        network: The network, told the ring's paint; None: the shipped one.
        seed: Seed of the random choices.

    Attributes:
        network: The network in use.

    Raises:
        VisionError: If the network finds no rings.
    """

    def __init__(self, ring: Ring, network: ExportedYolact | None = None, seed: int = 0):
        self._ring, self._seed = ring, seed
        self.network = network or ExportedYolact(shipped_for(ring.colour_rgb), ring.colour_rgb)
        if RING_CLASS not in self.network.classes:
            raise VisionError(
                f'the network finds {", ".join(self.network.classes)}, but no '
                f'{RING_CLASS!r}: train one with that class'
            )
        self._class = self.network.classes.index(RING_CLASS)
        if 'verifier' not in self.network.metadata:
            raise VisionError(
                'the card of the network has no odds: train it with `softarm train ring-segmenter`'
            )
        self._verifier = Verifier(**self.network.metadata['verifier'])
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
                yield from self._candidates(colour, depth_m, intrinsics, window, last.cylinder)
        yield from self._candidates(colour, depth_m, intrinsics)

    def _candidates(
        self,
        colour: np.ndarray,
        depth_m: np.ndarray,
        intrinsics: Intrinsics,
        window: Window | None = None,
        start: Cylinders | None = None,
    ) -> Iterator[Candidate]:
        found, prototypes = self.network.detect(colour, depth_m, window=window)
        rng = np.random.default_rng(self._seed)  # the same frame gives the same answer
        for i in np.flatnonzero(found.classes == self._class)[:MAX_DETECTIONS]:
            coarse = self.network.mask(found, prototypes, i, colour.shape[:2])
            if not coarse[0].any():
                continue
            find = Candidate(*coarse, float(found.scores[i]))
            candidate = self._verifier.verify(
                find, colour, depth_m, intrinsics, self._ring, rng, start
            )
            if candidate is not None:
                yield candidate
