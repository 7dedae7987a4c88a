"""Outcomes of the goals of the tip and the gripper controller."""

import enum


class Outcome(enum.Enum):
    """Outcome of a goal; the message definitions give each a code."""

    REACHED = 'reached'
    TIMEOUT = 'timeout'
    CANCELLED = 'cancelled'
    REPLACED = 'replaced'
    INVALID_GOAL = 'invalid goal'
    TAKEN = 'another node commands'
    DRIVER_LOST = 'driver lost'
    # of the tip controller only
    TIP_LOST = 'tip lost'
    CAMERA_STALE = 'camera stale'
    SATURATED = 'saturated'
    OUTSIDE_WORKSPACE = 'outside workspace'
    OUTSIDE_VIEW = 'outside view'
    IK_UNAVAILABLE = 'no inverse kinematics'
    TF_ERROR = 'no transform'
    # of the gripper controller only
    NO_CONTACT = 'no contact'
    SHAPE_LOST = 'shape lost'
