"""Ring by what it looks like: YOLACT finds it, the picture's colours draw its edge."""

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.mask_refinement import refine
from soft_arm_vision.segmenter import Instance, plausibility
from soft_arm_vision.yolact.exported import ExportedYolact

RING_CLASS = 'ring'
MAX_RINGS = 3


class YolactSegmenter:
    """See `segmenter.Segmenter`; unlike `ColourSegmenter` it knows nothing of the previous frame.

    Args:
        ring: Whose size a find must have at its depth.
        network: None: the shipped one.
    """

    def __init__(self, ring: Ring, network: ExportedYolact | None = None):
        self._ring, self._network = ring, network or ExportedYolact()
        self._class = self._network.classes.index(RING_CLASS)

    def segment(self, colour: np.ndarray, depth_m: np.ndarray, intrinsics: Intrinsics) -> list[Instance]:
        """See `Segmenter.segment`."""
        found, prototypes = self._network.detect(colour)
        instances = []
        for i in np.flatnonzero(found.classes == self._class)[:MAX_RINGS]:
            coarse, row, column = self._network.mask(found, prototypes, i, colour.shape[:2])
            if not coarse.any():
                continue
            mask, row, column = refine(coarse, row, column, colour)
            instance = Instance(mask, row, column, float(found.scores[i]))
            height, width = mask.shape
            if plausibility(self._ring, mask.sum(), width, height, depth_m[instance.window][mask], intrinsics) > 0:
                instances.append(instance)
        return instances
