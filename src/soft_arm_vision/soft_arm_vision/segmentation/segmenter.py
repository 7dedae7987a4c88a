"""Find the ring in an image: candidate masks from colour and depth."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np

from soft_arm_description.robot import Ring, Robot
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.segmentation.candidate import Candidate
from soft_arm_vision.segmentation.colour_mask import is_coloured
from soft_arm_vision.segmentation.colour_segmenter import ColourSegmenter
from soft_arm_vision.segmentation.yolact.exported import ExportedYolact, shipped_for
from soft_arm_vision.segmentation.yolact_segmenter import YolactSegmenter


class Segmenter(Protocol):
    """Finds candidates of the ring; the log odds of a candidate tell how doubtful it is."""

    def segment(
        self,
        colour: np.ndarray,
        depth_m: np.ndarray,
        intrinsics: Intrinsics,
        last: Candidate | None = None,
    ) -> Iterator[Candidate]:
        """Yield the candidates of one frame, best first, each computed on demand.

        The caller stops at the candidate that it accepts.

        Args:
            colour: RGB, shape (h, w, 3), uint8.
            depth_m: Aligned depth [m], 0 where there is none, shape (h, w).
            intrinsics: Intrinsics of both images.
            last: The candidate of the frame before, inside the image: the search begins around
                it. None: it covers the whole image at once.
        """


def ring_of(robot: Robot) -> Ring:
    """Return the positioning ring of a robot.

    Raises:
        VisionError: If the robot has no ring.
    """
    if robot.ring is None:
        raise VisionError(
            f'robot {robot.name} has no ring, so there is none to find: add the key ring to its '
            'file, or measure the tip by another tip_source: fiducial or pose'
        )
    return robot.ring


def make_segmenter(name: str, ring: Ring, network: Path | None = None) -> Segmenter:
    """Return a segmenter by its name, 'colour' or 'yolact'.

    Args:
        name: Its name.
        ring: The ring, with the paint to look for.
        network: Exported network (.onnx) of 'yolact'; None: the shipped one
            for this colour.

    Raises:
        VisionError: If the name is unknown, the network cannot be read, or it cannot find
            rings of this colour.
    """
    refuse_unused_network(network, name)
    if name == 'colour':
        if not is_coloured(ring.colour_rgb):
            raise VisionError(
                f'colour_rgb {ring.colour_rgb} of the ring is grey, white or black, which '
                'the colour segmenter cannot separate from the background: '
                'paint the ring in a full colour (orange is best) and correct colour_rgb in '
                'the robot file'
            )
        return ColourSegmenter(ring)
    if name == 'yolact':
        return YolactSegmenter(ring, ExportedYolact(network or shipped_for(ring.colour_rgb), ring))
    raise VisionError(f"segmenter {name!r} is not known: use one of ['colour', 'yolact']")


def refuse_unused_network(network: Path | None, name: str) -> None:
    """Raise if a network is given that what measures the tip does not use.

    Args:
        network: Path of the network; None: none is given.
        name: What measures the tip.

    Raises:
        VisionError: If there is a network, and `name` is not 'yolact'.
    """
    if network is not None and name != 'yolact':
        raise VisionError(f'network {network}: {name!r} uses none: leave it out, or use yolact')
