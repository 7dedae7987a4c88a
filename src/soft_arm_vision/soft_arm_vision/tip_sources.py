"""Every way to see the tip in a camera's pictures, by its name."""

from pathlib import Path

from soft_arm_description.depth_sensor import DepthSensor
from soft_arm_description.robot import Robot
from soft_arm_vision.calibration.mounting import Mounting
from soft_arm_vision.errors import VisionError
from soft_arm_vision.fiducial_tracker import FiducialTracker, fiducial_of
from soft_arm_vision.ring_tracker import RingTracker
from soft_arm_vision.segmentation.segmenter import (
    make_segmenter,
    refuse_unused_network,
    ring_of,
)
from soft_arm_vision.tip_tracker import TipTracker

SEEN_AS = {'yolact': 'ring', 'colour': 'ring', 'fiducial': 'marker'}
"""Target of each source."""


def make_tracker(
    source: str, robot: Robot, mounting: Mounting, sensor: DepthSensor, network: Path | None = None
) -> TipTracker:
    """Return a tracker by its name: a segmenter's for the ring, or `fiducial`.

    Args:
        source: The name.
        robot: The robot file, with a ring or with markers.
        mounting: Calibrated pose of the camera.
        sensor: Of the camera.
        network: Exported network of `yolact`; None: the shipped one.

    Raises:
        VisionError: If the robot has no target of this source, the source is unknown, or a network
            is given for a source without one.
    """
    if source not in SEEN_AS:
        raise VisionError(f'tip_source {source!r} is not known: use one of {", ".join(SEEN_AS)}')
    if source == 'fiducial':
        refuse_unused_network(network, source)
        return FiducialTracker(fiducial_of(robot), mounting, sensor)
    return RingTracker(robot, mounting, make_segmenter(source, ring_of(robot), network), sensor)
