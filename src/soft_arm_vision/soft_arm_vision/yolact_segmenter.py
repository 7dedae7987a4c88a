"""Ring by what it looks like: YOLACT finds it, depth says whether it is one, depth and colours draw its edge."""

from collections.abc import Iterator

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.errors import VisionError
from soft_arm_vision.instance import Instance
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring_odds import RingOdds
from soft_arm_vision.yolact.exported import ExportedYolact

RING_CLASS = 'ring'
MAX_FINDS = 3  # that are looked at, best first


class YolactSegmenter:
    """See `segmenter.Segmenter`; unlike `ColourSegmenter` it knows nothing of the previous frame.

    Args:
        ring: Whose size a find must have at its depth.
        network: None: the shipped one.
        seed: Of the random choices.

    Attributes:
        network: The one it uses.

    Raises:
        VisionError: If the network finds no rings.
    """

    def __init__(self, ring: Ring, network: ExportedYolact | None = None, seed: int = 0):
        self._ring, self.network, self._seed = ring, network or ExportedYolact(), seed
        if RING_CLASS not in self.network.classes:
            raise VisionError(f'the network finds {", ".join(self.network.classes)}, but no {RING_CLASS!r}: train one with that class')
        self._class = self.network.classes.index(RING_CLASS)
        self._odds = RingOdds(**self.network.card['odds'])
        self.network.detect(np.zeros((1, 1, 3), np.uint8), np.zeros((1, 1), np.float32))  # the first picture takes ten times as long

    def segment(self, colour: np.ndarray, depth_m: np.ndarray, intrinsics: Intrinsics) -> Iterator[Instance]:
        """See `Segmenter.segment`."""
        found, prototypes = self.network.detect(colour, depth_m)
        rng = np.random.default_rng(self._seed)  # the same frame gives the same answer
        for i in np.flatnonzero(found.classes == self._class)[:MAX_FINDS]:
            coarse = self.network.mask(found, prototypes, i, colour.shape[:2])
            if not coarse[0].any():
                continue
            find = Instance(*coarse, float(found.scores[i]))
            instance = self._odds.candidate(find, colour, depth_m, intrinsics, self._ring, rng)
            if instance is not None:
                yield instance
