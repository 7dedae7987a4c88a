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

from soft_arm_vision.errors import VisionError

UNIT_WITHIN = 0.01  # of the norm of a quaternion


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


def matrix_of(transform: Transform) -> np.ndarray:
    """Return the 4x4 pose of a geometry_msgs/Transform."""
    T = np.eye(4)
    T[:3, :3] = Rotation.from_quat([getattr(transform.rotation, i) for i in 'xyzw']).as_matrix()
    T[:3, 3] = [getattr(transform.translation, i) for i in 'xyz']
    return T


def pose_from_msg(message: PoseStamped, frame: str) -> np.ndarray:
    """Return the pose (4, 4) of a geometry_msgs/PoseStamped.

    Raises:
        VisionError: If it is in another frame, not finite, or turned by no unit quaternion.
    """
    if message.header.frame_id != frame:
        raise VisionError(
            f'poses are in frame {message.header.frame_id[:60]!r}, the calibration in {frame!r}: '
            'calibrate this system'
        )
    place_m = np.array([getattr(message.pose.position, i) for i in 'xyz'])
    q_xyzw = np.array([getattr(message.pose.orientation, i) for i in 'xyzw'])
    if not (np.isfinite(place_m).all() and abs(np.linalg.norm(q_xyzw) - 1) < UNIT_WITHIN):
        raise VisionError(
            f'pose {place_m.tolist()} m, {q_xyzw.tolist()} is not finite, or no unit quaternion: '
            'is the body tracked?'
        )
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = Rotation.from_quat(q_xyzw).as_matrix(), place_m
    return T


def _set(target, values: np.ndarray) -> None:
    for name, value in zip('xyzw', values, strict=False):
        setattr(target, name, float(value))
