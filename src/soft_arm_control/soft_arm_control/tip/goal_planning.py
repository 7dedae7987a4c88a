"""Plan a goal of the tip controller from points, preferred lengths and held segments."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from soft_arm_control.errors import GoalError, OutsideWorkspaceError
from soft_arm_control.tip.differential_ik import differential_ik
from soft_arm_control.tip.goal import MAX_PAYLOAD_KG, Goal
from soft_arm_control.tip.loaded_arm import LoadedArm
from soft_arm_description.robot import Robot
from soft_arm_kinematics.arm import BellowsArm

STEPS_PER_JACOBIAN = 3
MAX_JACOBIANS = 20
MAX_MODEL_ERROR_M = 0.0005  # distance of the model tip from the target
LENGTH_TOLERANCE_M = 1.0e-6
MAX_COORDINATE_M = 10.0


def free_actuators(robot: Robot, held_segments: list[str]) -> np.ndarray:
    """Return which actuators the feedback may move, bool, shape (n,).

    Raises:
        GoalError: If a segment is unknown or none is left free.
    """
    unknown = sorted(set(held_segments) - set(robot.segment_names))
    if unknown:
        raise GoalError(
            f'held segment {unknown[0]!r} is unknown: use some of {list(robot.segment_names)}'
        )
    free = np.array([s.name not in held_segments for s in robot.segments for _ in s.chambers])
    if not free.any():
        raise GoalError(
            f'held segments {held_segments}: leave at least one of {list(robot.segment_names)} free'
        )
    return free


def checked_point(point_m: ArrayLike) -> np.ndarray:
    """Check a target [m] and return it, shape (3,).

    Raises:
        GoalError: If it is not finite.
        OutsideWorkspaceError: If it is further than any arm reaches.
    """
    point_m = np.asarray(point_m, float)
    if not np.isfinite(point_m).all():
        raise GoalError(f'target {point_m.tolist()} m: give finite numbers')
    if np.abs(point_m).max() > MAX_COORDINATE_M:
        raise OutsideWorkspaceError(
            f'target {point_m.tolist()} m: outside the workspace, limit {MAX_COORDINATE_M:g} m; '
            'positions are in metres'
        )
    return point_m


def plan(
    arm: BellowsArm,
    points_m: Sequence[ArrayLike],
    lengths_m: Sequence[Sequence[float] | np.ndarray],
    times_s: ArrayLike,
    held_segments: list[str],
    start_m: np.ndarray,
    tolerance_m: float,
    timeout_s: float,
    open_loop: bool,
    velocity_scaling: float = 1.0,
    payload_kg: float = 0.0,
) -> Goal:
    """Solve the loaded arm for the lengths of each waypoint, starting at the solution before.

    Args:
        arm: The arm.
        points_m: Tip positions [m].
        lengths_m: Preferred lengths [m] of each point; an empty sequence where there are none.
        times_s: Times of the waypoints [s].
        held_segments: Segments that the feedback must not move. They go to the preferred lengths;
            without these they keep their lengths of the start.
        start_m: Lengths [m] at which the search starts: the measured ones, or a solution of inverse
            kinematics without load.
        tolerance_m, timeout_s, open_loop, velocity_scaling, payload_kg: As in `Goal`.

    Raises:
        GoalError: If a value is not finite, an array has the wrong size, or a length is outside
            its limits.
        OutsideWorkspaceError: If the model cannot reach a point with these segments held.
    """
    free = free_actuators(arm.robot, held_segments)
    if not points_m:
        raise GoalError('no waypoints: give at least 1')
    if not 0.0 <= payload_kg <= MAX_PAYLOAD_KG:
        raise GoalError(f'payload_kg = {payload_kg}: give a mass from 0 to {MAX_PAYLOAD_KG:g} kg')
    targets_m = [checked_point(p) for p in points_m]
    now_m = np.clip(start_m, *arm.length_limits_m)
    model = LoadedArm(arm, payload_kg)
    found_m = []
    for point_m, given_m in zip(targets_m, lengths_m, strict=True):
        now_m = now_m if len(given_m) == 0 else _checked_lengths(arm, given_m)
        if not (open_loop and len(given_m)):
            now_m = _solve(model, now_m, point_m, arm.length_limits_m, free)
        found_m.append(now_m)
    return Goal(
        np.array(targets_m),
        np.array(found_m),
        np.asarray(times_s, float),
        free,
        tolerance_m,
        timeout_s,
        open_loop,
        velocity_scaling,
        payload_kg,
    )


def _checked_lengths(arm: BellowsArm, values_m: ArrayLike) -> np.ndarray:
    lengths_m = np.asarray(values_m, float)
    low_m, high_m = arm.length_limits_m
    if lengths_m.shape != low_m.shape or not np.isfinite(lengths_m).all():
        raise GoalError(
            f'lengths_m {lengths_m.tolist()}: give {len(low_m)} finite lengths [m], '
            f'one for each of {list(arm.robot.chambers)}'
        )
    bad = (lengths_m < low_m - LENGTH_TOLERANCE_M) | (lengths_m > high_m + LENGTH_TOLERANCE_M)
    if bad.any():
        i = int(np.argmax(bad))
        raise GoalError(
            f'length of {arm.robot.chambers[i]} is {1e3 * lengths_m[i]:.2f} mm, limits '
            f'{1e3 * low_m[i]:.2f} .. {1e3 * high_m[i]:.2f} mm: choose a length inside'
        )
    return np.clip(lengths_m, low_m, high_m)


def _solve(
    model: LoadedArm,
    start_m: np.ndarray,
    point_m: np.ndarray,
    limits_m: np.ndarray,
    free: np.ndarray,
) -> np.ndarray:
    lengths_m = start_m
    error_m = np.inf
    for _ in range(MAX_JACOBIANS):
        lengths_m, error_m = differential_ik(
            model, lengths_m, point_m, start_m, limits_m, free, STEPS_PER_JACOBIAN
        )
        if error_m < MAX_MODEL_ERROR_M / 10:
            break
    if error_m > MAX_MODEL_ERROR_M:
        raise OutsideWorkspaceError(
            f'target {np.round(1e3 * point_m, 2).tolist()} mm: '
            f'the model stays {1e3 * error_m:.2f} mm away, limit {1e3 * MAX_MODEL_ERROR_M:.1f} mm; '
            'move the target inside the workspace, or hold fewer segments'
        )
    return lengths_m
