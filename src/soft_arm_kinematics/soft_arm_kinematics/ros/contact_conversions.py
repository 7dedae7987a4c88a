"""Between the contact estimator's messages and plain values."""

import math
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Pose

from soft_arm_description.poses import PoseError, tracked_pose
from soft_arm_kinematics.contact.estimation import ContactEstimate
from soft_arm_kinematics.contact.stream import Detection
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_msgs.msg import ContactEstimate as ContactEstimateMsg

MIN_VARIANCE = 1e-18  # [m^2, rad^2]; smaller variances are not plausible for a tracker


def planar_pose(pose: Pose, phi_rad: float, near_rad: float) -> np.ndarray:
    """Return the planar pose (x [m], z [m], theta [rad]) in the bending plane at phi.

    Of the equal angles theta, a full turn apart, it is the one nearest to near_rad.

    Raises:
        KinematicsError: If the pose is not of a tracked body.
    """
    try:
        axis = tracked_pose(pose)[:3, 2]
    except PoseError as error:
        raise KinematicsError(f'{error}: check the tracker') from error
    direction = np.array([np.cos(phi_rad), np.sin(phi_rad)])
    theta = math.atan2(axis[:2] @ direction, axis[2])
    theta += 2 * math.pi * round((near_rad - theta) / (2 * math.pi))
    return np.array(
        [np.array([pose.position.x, pose.position.y]) @ direction, pose.position.z, theta]
    )


def planar_covariance(covariance: Sequence[float], phi_rad: float) -> np.ndarray | None:
    """Return the covariance (3, 3) of the planar pose [m, m, rad] from a message's 36 numbers.

    It is None where the message has no usable covariance, such as zeros.

    Raises:
        KinematicsError: If a standard deviation is more than 1 m or 1 rad.
    """
    cos, sin = np.cos(phi_rad), np.sin(phi_rad)
    to_plane = np.array([[cos, sin, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 0, -sin, cos, 0]])
    if not np.isfinite(covariance).all():
        return None
    planar = to_plane @ np.reshape(covariance, (6, 6)) @ to_plane.T
    planar = (planar + planar.T) / 2.0
    if np.diag(planar).max() > 1.0:
        raise KinematicsError(
            f'variances {np.diag(planar).tolist()} [m^2, m^2, rad^2] mean an unknown pose: at '
            'most 1 m and 1 rad of standard deviation are used'
        )
    return planar if np.linalg.eigvalsh(planar)[0] > MIN_VARIANCE else None


def contact_msg(
    detection: Detection, estimate: ContactEstimate | None, header
) -> ContactEstimateMsg:
    """Message of a detection and of the latest location, if there is one."""
    message = ContactEstimateMsg(
        header=header,
        in_contact=detection.in_contact,
        limit=detection.limit,
        statistic=_or_nan(detection.statistic),
        centrode_deviation_m=_or_nan(detection.deviation_m),
    )
    unknown = math.nan, math.nan
    message.site_m = _or_nan(estimate.site_m if estimate else None)
    message.site_low_m, message.site_high_m = (
        estimate.site_interval_m if estimate else None
    ) or unknown
    message.onset_pa = _or_nan(estimate.onset_pa if estimate else None)
    message.onset_low_pa, message.onset_high_pa = (
        estimate.onset_interval_pa if estimate else None
    ) or unknown
    message.message = (
        estimate.message
        if estimate
        else 'contact, not yet located'
        if detection.in_contact
        else 'free motion'
    )
    return message


def _or_nan(value):
    return math.nan if value is None else value
