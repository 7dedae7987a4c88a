"""Rigid sections through points: joint values of a segment that has any shape, as of a simulation.

Section k lies along the chord to the end of section k (squid, 7-13): in the frame of the section
before it, turn = atan2(d_y, d_x), bend = atan2(hypot(d_x, d_y), d_z), extension = |d|.
"""

import math

import numpy as np


def values_through(
    T_start: np.ndarray, points_m: np.ndarray, T_end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the joint values of a segment whose sections end at points.

    The turns lie within 90 deg, so that a section that is nearly straight turns its successors
    little; the bend has a sign.

    Args:
        T_start: Pose of the chain at the segment's start, (4, 4).
        points_m: Ends of the sections [m], (n, 3).
        T_end: Pose of the segment's end, (4, 4); the last point is its origin.

    Returns:
        Values (3 n + 2,) as `sections.arc_sections`, and the pose (4, 4) of the chain at its end.
        All its sections end at the points. Its z axis is as near to the z axis of `T_end`
        as the two joints at the end allow: equal for a planar bend.
    """
    rotation, origin_m = T_start[:3, :3], T_start[:3, 3]
    values: list[float] = []
    for point_m in points_m:
        x, y, z = (rotation.T @ (point_m - origin_m)).tolist()
        turn, side = math.atan2(y, x), 1.0
        if abs(turn) > math.pi / 2:
            turn, side = turn - math.copysign(math.pi, turn), -1.0
        bend = side * math.atan2(math.hypot(x, y), z)
        values += [turn, bend, math.hypot(x, y, z)]
        rotation = rotation @ _about_z(turn) @ _about_y(bend)
        origin_m = point_m
    rest = rotation.T @ T_end[:3, :3]
    bend, turn = math.atan2(rest[0, 2], rest[2, 2]), math.atan2(rest[1, 0], rest[1, 1])
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation @ _about_y(bend) @ _about_z(turn), origin_m
    return np.array([*values, bend, turn]), T


def _about_y(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def _about_z(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
