"""Forward kinematics and limits of the emulated ABB IRB 120-3/0.58 (Denavit-Hartenberg).

Table, ranges and speeds: ABB, "Product specification IRB 120", 3HAC035960. The module shares no
code with abb_rws_bridge, the client under test, so that an error in one does not cancel in the
other. Base frame: z up, x forwards; `tool0` is the flange frame, z outwards.
"""

import math

import numpy as np
from scipy.spatial.transform import Rotation

DH = np.array(
    [  # a [m], alpha [rad], d [m], theta - q [rad]
        [0.0, -math.pi / 2, 0.290, 0.0],
        [0.270, 0.0, 0.0, -math.pi / 2],
        [0.070, -math.pi / 2, 0.0, 0.0],
        [0.0, math.pi / 2, 0.302, 0.0],
        [0.0, -math.pi / 2, 0.0, 0.0],
        [0.0, 0.0, 0.072, math.pi],
    ]
)
RANGE_RAD = np.radians(
    [(-165, 165), (-110, 110), (-110, 70), (-160, 160), (-120, 120), (-400, 400)]
)
SPEED_RAD_S = np.radians([250, 250, 250, 320, 320, 420])


class OutOfReach(ValueError):
    """Joint angles outside the range of the robot."""


def tool_pose(joints_rad: np.ndarray) -> np.ndarray:
    """Return T_base_tool0, shape (4, 4) [m], of joint angles [rad], shape (6,).

    The range is not checked.
    """
    pose = np.eye(4)
    for (a, alpha, d, offset), q in zip(DH, joints_rad, strict=True):
        link = np.eye(4)
        link[:3, :3] = Rotation.from_euler('ZX', [q + offset, alpha]).as_matrix()
        link[:3, 3] = a * math.cos(q + offset), a * math.sin(q + offset), d
        pose = pose @ link
    return pose


def in_range(joints_rad: np.ndarray) -> np.ndarray:
    """Return joint angles [rad], shape (6,), after a check of count and range.

    Raises:
        OutOfReach: If there are not six, or one is NaN or out of range.
    """
    joints = np.asarray(joints_rad, dtype=float)
    if (
        joints.shape != (6,)
        or not ((joints >= RANGE_RAD[:, 0]) & (joints <= RANGE_RAD[:, 1])).all()
    ):
        raise OutOfReach(f'{np.degrees(joints).round(2).tolist()} deg: give six angles in range')
    return joints


def quaternion(rotation: np.ndarray) -> np.ndarray:
    """Return the quaternion q1..q4 (w, x, y, z; w >= 0), shape (4,), of a rotation matrix."""
    return np.roll(Rotation.from_matrix(rotation).as_quat(canonical=True), 1)
