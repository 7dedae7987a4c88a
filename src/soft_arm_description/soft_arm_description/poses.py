"""Check positions and quaternions of messages, received or recorded, and convert them to poses."""

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

NORM_TOLERANCE = 0.01  # of the norm of a quaternion; float32 and printed values are within


class PoseError(ValueError):
    """Position and quaternion that are no pose."""


def pose_matrix(position: Any, orientation: Any) -> np.ndarray:
    """Return the pose (4, 4) of a position or translation [m] and a quaternion x, y, z, w.

    Raises:
        PoseError: If a value is not finite, or the quaternion is not a unit quaternion.
    """
    T = np.eye(4)
    T[:3, 3] = position.x, position.y, position.z
    q_xyzw = np.array([orientation.x, orientation.y, orientation.z, orientation.w])
    numbers = ', '.join(f'{value:.4g}' for value in (*T[:3, 3], *q_xyzw))
    if not (np.isfinite(T).all() and np.isfinite(q_xyzw).all()):
        raise PoseError(f'({numbers}) is not finite')
    if abs(np.linalg.norm(q_xyzw) - 1.0) > NORM_TOLERANCE:
        raise PoseError(f'({numbers}) has no unit quaternion: x, y, z, w are the last four')
    T[:3, :3] = Rotation.from_quat(q_xyzw).as_matrix()
    return T


def tracked_pose(pose: Any) -> np.ndarray:
    """Return the pose (4, 4) of a geometry_msgs/Pose of something that is tracked.

    Raises:
        PoseError: As `pose_matrix`, or if it is exactly the identity, which tracking systems
            publish for a body that they lost.
    """
    T = pose_matrix(pose.position, pose.orientation)
    if np.array_equal(T, np.eye(4)):
        raise PoseError('exactly the identity at (0, 0, 0), as of a body that is not tracked')
    return T
