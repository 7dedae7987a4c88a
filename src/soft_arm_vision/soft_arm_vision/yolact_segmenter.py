"""Ring by what it looks like: YOLACT finds it, depth says whether it is one, depth and colours draw its edge."""

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.instance import Instance, plausibility
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring_odds import WITHOUT_POSE, RingOdds
from soft_arm_vision.ring_region import ring_region
from soft_arm_vision.yolact.exported import ExportedYolact

RING_CLASS = 'ring'
MAX_FINDS = 3  # that are looked at, best first


class YolactSegmenter:
    """See `segmenter.Segmenter`; unlike `ColourSegmenter` it knows nothing of the previous frame.

    Finds that count only with a pose come before the first that counts without, and that is the last.

    Args:
        ring: Whose size a find must have at its depth.
        network: None: the shipped one.
        seed: Of the random choices.

    Attributes:
        network: The one it uses.
    """

    def __init__(self, ring: Ring, network: ExportedYolact | None = None, seed: int = 0):
        self._ring, self.network, self._seed = ring, network or ExportedYolact(), seed
        self._class = self.network.classes.index(RING_CLASS)
        self._odds = RingOdds(**self.network.card['odds'])
        self.network.detect(np.zeros((1, 1, 3), np.uint8), np.zeros((1, 1), np.float32))  # the first picture takes ten times as long

    def segment(self, colour: np.ndarray, depth_m: np.ndarray, intrinsics: Intrinsics) -> list[Instance]:
        """See `Segmenter.segment`."""
        found, prototypes = self.network.detect(colour, depth_m)
        instances, rng = [], np.random.default_rng(self._seed)  # the same frame gives the same answer
        for i in np.flatnonzero(found.classes == self._class)[:MAX_FINDS]:
            coarse = self.network.mask(found, prototypes, i, colour.shape[:2])
            if not coarse[0].any():
                continue
            score = float(found.scores[i])
            region = ring_region(Instance(*coarse, score), colour, depth_m, intrinsics, self._ring, rng)
            if region is None or not self._odds.may_be_ring(score, region):
                continue
            cylinder = None if region.doubted else region.cylinder
            instance = Instance(region.mask, region.row, region.column, score, cylinder, self._odds.log_odds(score, region))
            height, width = region.mask.shape
            if plausibility(self._ring, region.mask.sum(), width, height, depth_m[instance.window][region.mask], intrinsics) > 0:
                instances.append(instance)
                if instance.log_odds >= WITHOUT_POSE:
                    break
        return instances
