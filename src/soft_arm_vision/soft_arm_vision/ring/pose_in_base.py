"""Pose of a detected ring in the arm's base frame."""

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_vision.calibration.mounting import Mounting
from soft_arm_vision.ring.fit import RingFit


def pose_in_base(fit: RingFit, mounting: Mounting) -> tuple[np.ndarray, np.ndarray]:
    """Return the ring's pose T_base_tip (4, 4) and its covariance (6, 6) in the base frame.

    The covariance holds the fit's and the camera calibration's; the latter is the same in every
    frame. A ring does not show its rotation about its axis; the pose is the smallest turn that
    takes base z to the ring's axis, as one arc does.
    """
    R = mounting.T_base_camera[:3, :3]
    axis = R @ fit.axis
    T = np.eye(4)
    T[:3, :3] = _turn_to(axis)
    T[:3, 3] = R @ fit.centre + mounting.T_base_camera[:3, 3]
    both = np.kron(np.eye(2), R)
    return T, both @ fit.covariance @ both.T + mounting.covariance_at(T[:3, 3])


def _turn_to(axis: np.ndarray) -> np.ndarray:
    """Smallest rotation that takes z to a unit vector, shape (3, 3)."""
    across = np.array([-axis[1], axis[0], 0.0])
    sine = np.linalg.norm(across)
    if sine < 1e-9:
        return np.diag([1.0, 1.0, 1.0]) if axis[2] > 0 else np.diag([1.0, -1.0, -1.0])
    return Rotation.from_rotvec(across / sine * np.arctan2(sine, axis[2])).as_matrix()
