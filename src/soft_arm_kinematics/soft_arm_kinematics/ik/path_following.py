"""Following a path of tip positions on one part of the family of solutions: no jump to another part without saying so."""

from dataclasses import dataclass

import numpy as np

from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ik.inverse import AXIS_TOLERANCE_RAD, RESIDUAL_M, InverseKinematics
from soft_arm_kinematics.ik.refine import refine

SUBSTEP_M = 0.004  # the path is walked in steps no longer than this
JUMP_SHARE = (
    0.10  # a change within one step by more than this share of a coordinate's range is a jump
)


@dataclass(frozen=True, eq=False)
class FollowedPath:
    """Solutions along a path.

    Attributes:
        actuation: (m, n), one row for each target; lengths [m] for bellows.
        residuals_m: (m,) distances of the tips from the targets [m].
        jumps: Numbers of the targets on whose way the arm had to leave its part of the family; empty where it never had to.
        jump_shares: For each jump, the largest change as a share of that coordinate's range.
    """

    actuation: np.ndarray
    residuals_m: np.ndarray
    jumps: tuple[int, ...]
    jump_shares: tuple[float, ...]


def follow(
    solver: InverseKinematics,
    targets_m: np.ndarray,
    axes: np.ndarray | None = None,
    start: np.ndarray | None = None,
) -> FollowedPath:
    """Follow tip positions from where the arm is, with the least change of actuation at every step.

    Args:
        solver: Inverse kinematics of the arm.
        targets_m: (m, 3) [m]; straight lines join them.
        axes: (m, 3) wanted directions of the tip axis, or None for any.
        start: (n,) where the arm is; the best solution of the first target where None.

    Raises:
        KinematicsError: If a target cannot be reached (it says which) or a value is not finite or
            of the wrong shape.
    """
    arm = solver.arm
    targets_m = np.asarray(targets_m, dtype=float)
    if (
        targets_m.ndim != 2
        or targets_m.shape[1] != 3
        or not len(targets_m)
        or not np.isfinite(targets_m).all()
    ):
        raise KinematicsError(
            f'targets of shape {targets_m.shape}: give finite positions (m, 3) [m], at least one'
        )
    axes = None if axes is None else _unit_axes(axes, len(targets_m))
    if start is None:
        first = solver.solve(targets_m[0], None if axes is None else axes[0], max_solutions=1)
        if not first.solutions:
            raise KinematicsError(f'target 0: {first.message}')
        start = first.solutions[0].actuation
    here = np.clip(arm.checked(start), *arm.actuation_limits)
    actuation, residuals_m, jumps, shares = (
        np.empty((len(targets_m), arm.n_actuators)),
        np.empty(len(targets_m)),
        [],
        [],
    )
    for i, target_m in enumerate(targets_m):
        axis = None if axes is None else axes[i]
        here, residuals_m[i], share = _walk(solver, here, target_m, axis, i)
        actuation[i] = here
        if share > JUMP_SHARE:
            jumps.append(i)
            shares.append(share)
    return FollowedPath(actuation, residuals_m, tuple(jumps), tuple(shares))


def _walk(solver, here, target_m, axis, number):
    """Go to a target in substeps; returns actuation, residual [m] and the largest change within one substep as a share of the range."""
    arm = solver.arm
    from_m = arm.fk(here)[:3, 3]
    from_axis = arm.fk(here)[:3, 2]
    count = max(1, int(np.ceil(np.linalg.norm(target_m - from_m) / SUBSTEP_M)))
    worst, reach = 0.0, np.diff(arm.actuation_limits, axis=0)[0]
    for k in range(1, count + 1):
        wanted = None
        if axis is not None:
            wanted = from_axis + (axis - from_axis) * k / count
            wanted = wanted / max(np.linalg.norm(wanted), 1e-9) if k < count else axis
        found, residual_m, axis_error = refine(
            arm, here[None], from_m + (target_m - from_m) * k / count, wanted
        )
        change = float(np.max(np.abs(found[0] - here) / reach))
        if residual_m[0] > RESIDUAL_M or axis_error[0] > AXIS_TOLERANCE_RAD or change > JUMP_SHARE:
            break
        here, worst = found[0], max(worst, change)
    else:
        return here, float(residual_m[0]), worst
    result = solver.solve(
        target_m, axis, here
    )  # the rest of the way in one step, to the solution nearest to where it got stuck
    if not result.solutions:
        raise KinematicsError(f'target {number}: {result.message}')
    changes = np.max(np.abs(result.solutions.actuation - here) / reach, axis=1)
    nearest = int(np.argmin(changes))
    return (
        result.solutions.actuation[nearest],
        float(result.solutions.residuals_m[nearest]),
        float(changes[nearest]),
    )


def _unit_axes(axes, count):
    axes = np.asarray(axes, dtype=float)
    if (
        axes.shape != (count, 3)
        or not np.isfinite(axes).all()
        or not (np.linalg.norm(axes, axis=1) > 1e-9).all()
    ):
        raise KinematicsError(
            f'axes of shape {axes.shape}: give a finite direction, not zero, for each of the {count} targets'
        )
    return axes / np.linalg.norm(axes, axis=1, keepdims=True)
