"""Messages <-> plain values of this package."""

import numpy as np
from geometry_msgs.msg import (
    Pose,
    PoseStamped,
    PoseWithCovarianceStamped,
    Transform,
    TransformStamped,
)
from scipy.spatial.transform import Rotation

from soft_arm_description.poses import PoseError, tracked_pose
from soft_arm_vision.errors import VisionError


def pose_message(header, T: np.ndarray, covariance: np.ndarray) -> PoseWithCovarianceStamped:
    """PoseWithCovarianceStamped of a 4x4 pose and its (6, 6) covariance."""
    message = PoseWithCovarianceStamped(header=header)
    message.pose.pose = Pose()
    _set(message.pose.pose.position, T[:3, 3])
    _set(message.pose.pose.orientation, Rotation.from_matrix(T[:3, :3]).as_quat())
    message.pose.covariance = covariance.ravel()
    return message


def transform_message(stamp, parent: str, child: str, T: np.ndarray) -> TransformStamped:
    """TransformStamped of a 4x4 pose of child in parent."""
    message = TransformStamped(child_frame_id=child, transform=Transform())
    message.header.stamp, message.header.frame_id = stamp, parent
    _set(message.transform.translation, T[:3, 3])
    _set(message.transform.rotation, Rotation.from_matrix(T[:3, :3]).as_quat())
    return message


def pose_from_msg(message: PoseStamped, frame: str) -> np.ndarray:
    """Return the pose (4, 4) of a geometry_msgs/PoseStamped.

    Raises:
        VisionError: If it is in another frame, or its body is not tracked.
    """
    if message.header.frame_id != frame:
        raise VisionError(
            f'poses are in frame {message.header.frame_id[:60]!r}, the calibration in {frame!r}: '
            'calibrate this system'
        )
    try:
        return tracked_pose(message.pose)
    except PoseError as error:
        raise VisionError(f'pose {error}: is the body tracked?') from error


def _set(target, values: np.ndarray) -> None:
    for name, value in zip('xyzw', values, strict=False):
        setattr(target, name, float(value))
