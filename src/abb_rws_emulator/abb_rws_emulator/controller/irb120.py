"""Kinematics of the emulated ABB IRB 120-3/0.58, from its Denavit-Hartenberg table.

The table, ranges and speeds are those of the product specification 3HAC035960. Everything here is
written without abb_rws_bridge, the client that the emulator tests, so that a mistake in one of them
does not cancel in the other. Base frame: z up, x forwards; `tool0` stands on the flange, z out.
"""

import math
from collections.abc import Iterable

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
    """Joint angles outside the robot's range, or a pose that no joint angles reach."""


def tool_pose(joints_rad: np.ndarray) -> np.ndarray:
    """Return T_base_tool0, shape (4, 4) [m], of joint angles [rad], shape (6,).

    The range is not checked.
    """
    return _chain(joints_rad, 6)


def _chain(joints_rad: Iterable[float], count: int) -> np.ndarray:
    pose = np.eye(4)
    for (a, alpha, d, offset), q in zip(DH[:count], joints_rad, strict=False):
        link = np.eye(4)
        link[:3, :3] = Rotation.from_euler('ZX', [q + offset, alpha]).as_matrix()
        link[:3, 3] = a * math.cos(q + offset), a * math.sin(q + offset), d
        pose = pose @ link
    return pose


def all_joint_angles(pose: np.ndarray) -> np.ndarray:
    """Return every set of joint angles within the range that reaches a pose, shape (n, 6) [rad].

    The wrist centre in the shoulder's frame gives A cos q3 + B sin q3 = C for the elbow (Paul,
    Robot Manipulators, 1981), the elbow gives the shoulder, and the wrist is a ZYZ rotation. With
    axis 5 straight, axis 4 is set to zero and axis 6 turns for both.

    Args:
        pose: T_base_tool0, shape (4, 4) [m].
    """
    (upper, elbow, fore), height = (DH[1, 0], DH[2, 0], DH[3, 2]), DH[0, 2]
    x, y, z = pose[:3, 3] - DH[5, 2] * pose[:3, 2]
    found = []
    for q1, reach in (
        (math.atan2(y, x), math.hypot(x, y)),
        (math.atan2(-y, -x), -math.hypot(x, y)),
    ):
        squares = reach**2 + (z - height) ** 2 - upper**2 - elbow**2 - fore**2
        cosine = squares / (2 * upper * math.hypot(elbow, fore))
        if abs(cosine) > 1.0:
            return np.empty((0, 6))
        for swing in (math.acos(cosine), -math.acos(cosine)):
            q3 = swing - math.atan2(fore, elbow)
            # the wrist centre, seen along the upper arm and across it, turns with q2 to (z, reach)
            along = upper + elbow * math.cos(q3) - fore * math.sin(q3)
            across = elbow * math.sin(q3) + fore * math.cos(q3)
            q2 = math.atan2(reach, z - height) - math.atan2(across, along)
            arm = [q1, q2, q3]
            found += [arm + wrist for wrist in _wrist_angles(arm, pose[:3, :3])]
    joints = np.remainder(np.array(found) + math.pi, 2 * math.pi) - math.pi
    joints = np.concatenate(
        [joints + [0, 0, 0, 0, 0, turn] for turn in 2 * math.pi * np.arange(-1, 2)]
    )
    return joints[((joints >= RANGE_RAD[:, 0]) & (joints <= RANGE_RAD[:, 1])).all(axis=1)]


def _wrist_angles(arm_rad: list[float], tool: np.ndarray) -> list[list[float]]:
    half_turn = Rotation.from_euler('Z', DH[5, 3])
    wrist = (
        Rotation.from_matrix(_chain(arm_rad, 3)[:3, :3].T @ tool) * half_turn.inv()
    ).as_matrix()
    # Euler angles ZYZ; where the wrist is straight, rounding decides q4 and q6 makes up for it.
    q4 = math.atan2(wrist[1, 2], wrist[0, 2])
    bend = math.atan2(math.hypot(wrist[0, 2], wrist[1, 2]), wrist[2, 2])
    sin, cos = -math.sin(q4) * wrist[0, :2] + math.cos(q4) * wrist[1, :2]
    q6 = math.atan2(sin, cos)
    return [[q4, -bend, q6], [q4 + math.pi, bend, q6 + math.pi]]


def nearest_joint_angles(pose: np.ndarray, near_rad: np.ndarray) -> np.ndarray:
    """Return the joint angles of a pose that are nearest to others, shape (6,) [rad].

    Raises:
        OutOfReach: If there are none.
    """
    found = all_joint_angles(pose)
    if not len(found):
        raise OutOfReach(f'no joint angles reach {np.round(pose[:3, 3], 4).tolist()} m like this')
    return found[np.argmin(np.linalg.norm(found - near_rad, axis=1))]


def in_range(joints_rad: np.ndarray) -> np.ndarray:
    """Return the joint angles [rad], shape (6,), if they are six and within the range.

    Raises:
        OutOfReach: If not; NaN is out of range too.
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


def frame(position_m: np.ndarray, q_wxyz: np.ndarray) -> np.ndarray:
    """Return the pose, shape (4, 4), of a position and a quaternion in ABB's order.

    Raises:
        ValueError: If the length of the quaternion is further than 1e-3 from one.
    """
    if not abs(np.linalg.norm(q_wxyz) - 1.0) <= 1e-3:
        raise ValueError('Quaternion is not normalised')
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_quat(np.roll(q_wxyz, -1)).as_matrix()
    pose[:3, 3] = position_m
    return pose
