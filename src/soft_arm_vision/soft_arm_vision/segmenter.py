"""Where the ring is in the picture: instance masks from colour and depth."""

from typing import Protocol

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.colour_segmenter import ColourSegmenter
from soft_arm_vision.errors import VisionError
from soft_arm_vision.instance import Instance
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.yolact_segmenter import YolactSegmenter


class Segmenter(Protocol):
    """Finds rings; the best comes first, no ring is an empty list. One that is doubtful says so by its log odds."""

    def segment(self, colour: np.ndarray, depth_m: np.ndarray, intrinsics: Intrinsics) -> list[Instance]:
        """Segment one frame.

        Args:
            colour: RGB, shape (h, w, 3), uint8.
            depth_m: Aligned depth [m], 0 where there is none, shape (h, w).
            intrinsics: Of both images.
        """


def make_segmenter(name: str, ring: Ring) -> Segmenter:
    """Segmenter by name, 'colour' or 'yolact'.

    Raises:
        VisionError: If there is no such segmenter, or its network cannot be read.
    """
    if name == 'colour':
        return ColourSegmenter(ring)
    if name == 'yolact':
        return YolactSegmenter(ring)
    raise VisionError(f"segmenter {name!r} is not known: use one of ['colour', 'yolact']")
