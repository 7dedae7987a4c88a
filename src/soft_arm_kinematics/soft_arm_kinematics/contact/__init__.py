"""Contact of a bending bellows with something at one place, from the pose of its tip."""

from soft_arm_kinematics.contact.estimation import (
    ContactEstimate,
    locate_contact,
    tip_in_contact,
    tracker_covariance,
)
from soft_arm_kinematics.contact.stream import ContactStream, Detection

__all__ = [
    'ContactEstimate',
    'ContactStream',
    'Detection',
    'locate_contact',
    'tip_in_contact',
    'tracker_covariance',
]
