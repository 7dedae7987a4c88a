"""Ring by what it looks like: YOLACT finds it, depth says whether it is one, depth and colours draw its edge."""

import cv2
import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.instance import Instance, plausibility
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.mask_refinement import BAND_PX, refine
from soft_arm_vision.ring_region import RingRegion, ring_region
from soft_arm_vision.yolact.exported import ExportedYolact

RING_CLASS = 'ring'
MAX_FINDS = 3  # that are looked at, best first
ALONG_COSINE = 0.7  # of the angle between sight and axis, above which little but the rim shows
GAP_PX = 5  # holes of depth up to this size are the ring's


class YolactSegmenter:
    """See `segmenter.Segmenter`; unlike `ColourSegmenter` it knows nothing of the previous frame. It ends at the first ring.

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
        self.network.detect(np.zeros((1, 1, 3), np.uint8), np.zeros((1, 1), np.float32))  # the first picture takes ten times as long

    def segment(self, colour: np.ndarray, depth_m: np.ndarray, intrinsics: Intrinsics) -> list[Instance]:
        """See `Segmenter.segment`."""
        found, prototypes = self.network.detect(colour, depth_m)
        rng = np.random.default_rng(self._seed)  # the same frame gives the same answer
        for i in np.flatnonzero(found.classes == self._class)[:MAX_FINDS]:
            coarse = self.network.mask(found, prototypes, i, colour.shape[:2])
            if not coarse[0].any():
                continue
            score = float(found.scores[i])
            region = ring_region(Instance(*coarse, score), depth_m, intrinsics, self._ring, rng)
            if region is None or not region.is_ring:
                continue
            mask, row, column = refine(*coarse, colour) if region.doubted else _ring_mask(region, coarse, colour)
            instance = Instance(mask, row, column, score, None if region.doubted else region.cylinder)
            height, width = mask.shape
            if plausibility(self._ring, mask.sum(), width, height, depth_m[instance.window][mask], intrinsics) > 0:
                return [instance]
        return []


def _ring_mask(region: RingRegion, coarse: tuple[np.ndarray, int, int], colour: np.ndarray) -> tuple[np.ndarray, int, int]:
    """Mask of the pixels with the ring's depth, their edge drawn by the colours, and its first row and column.

    Seen along its axis a ring is a thin rim, whose depth is mixed with that of a plate within it: there what the network saw counts too,
    and the colours part them.
    """
    solid = cv2.morphologyEx(region.mask.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    solid = cv2.morphologyEx(solid, cv2.MORPH_CLOSE, np.ones((GAP_PX, GAP_PX), np.uint8))
    centre, axis = region.cylinder.point[0], region.cylinder.axis[0]
    if abs(centre @ axis) > ALONG_COSINE * np.linalg.norm(centre):
        mask, row, column = coarse
        seen = np.zeros(colour.shape[:2], np.uint8)
        seen[row : row + mask.shape[0], column : column + mask.shape[1]] = mask
        solid |= seen[region.row : region.row + solid.shape[0], region.column : region.column + solid.shape[1]]
    x, y, width, height = cv2.boundingRect(solid)
    if width == 0:
        return np.zeros((0, 0), bool), 0, 0
    mask, row, column = refine(solid[y : y + height, x : x + width] > 0, region.row + y, region.column + x, colour)
    room = BAND_PX + 1  # by which the edge may have moved outwards
    excluded = np.pad(region.excluded, room)[row - region.row + room :, column - region.column + room :]
    return mask & ~excluded[: mask.shape[0], : mask.shape[1]], row, column
