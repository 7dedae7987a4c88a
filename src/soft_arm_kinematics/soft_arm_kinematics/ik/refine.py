"""Batched Jacobians and Levenberg-Marquardt steps inside the limits, compiled for all cores."""

import numpy as np
from numpy.typing import ArrayLike

from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.backends import compiled_formulas, compiled_solver
from soft_arm_kinematics.errors import KinematicsError

MAX_STEPS = 60


def twist_jacobian_batch(arm: Arm, q: np.ndarray, device: str | None = None) -> np.ndarray:
    """Compute `Configuration.twist_jacobian` of q (..., n) on all cores or a torch device.

    Rows are velocity [m] and angular velocity [rad] per unit of each coordinate [m, Pa or rad].

    Raises:
        KinematicsError: If the shape is wrong, a value is not finite, or the device cannot be had.
    """
    rows = np.ascontiguousarray(arm.checked(q)).reshape(-1, arm.n_actuators)
    if device is None:
        jacobians = np.empty((len(rows), 6, arm.n_actuators))
        compiled_formulas.twist_jacobians(arm.chain, rows, jacobians)
    else:
        from soft_arm_kinematics.backends.torch_batch import tensor, twist_jacobian  # takes seconds

        jacobians = twist_jacobian(arm.chain, tensor(rows, device)).cpu().numpy()
    return jacobians.reshape(*np.shape(q)[:-1], 6, arm.n_actuators)


def refine(
    arm: Arm,
    starts: np.ndarray,
    targets_m: np.ndarray,
    axis: np.ndarray | None = None,
    limits: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bring starts to targets inside the limits, on all cores, by Levenberg-Marquardt steps.

    Args:
        arm: The arm.
        starts: q (k, n), lengths [m] for bellows; those outside the limits start on them.
        targets_m: (3,) one tip position [m] for all starts, or (k, 3) one for each.
        axis: (3,) wanted unit direction of the tip's z axis, or None for any.
        limits: (2, n) to use instead of the arm's; equal ones hold a coordinate.

    Returns:
        Actuation (k, n), distances from the target (k,) [m], angles from the axis (k,) [rad] (0
        where none is wanted). A start that cannot reach the target ends where its distance is
        locally least.

    Raises:
        KinematicsError: If a shape is wrong or a value is not finite.
    """
    found = _starts(arm, starts)
    shape = np.shape(targets_m)
    targets_m = _finite('targets', targets_m, (3,) if shape == (3,) else (len(found), 3))
    wanted_axis = np.zeros(3) if axis is None else _finite('axis', axis, (3,))
    residuals_m, axis_errors_rad = np.empty(len(found)), np.empty(len(found))
    chain = arm.chain
    if limits is not None:
        low, high = np.ascontiguousarray(limits, dtype=float)
        chain = chain._replace(low=low, high=high)
    compiled_solver.refine(
        chain,
        3 if axis is None else 6,
        found,
        np.ascontiguousarray(np.broadcast_to(targets_m, (len(found), 3))),
        wanted_axis,
        MAX_STEPS,
        residuals_m,
        axis_errors_rad,
    )
    return found, residuals_m, axis_errors_rad


def _starts(arm: Arm, starts: np.ndarray) -> np.ndarray:
    starts = np.array(arm.checked(starts), order='C')
    if starts.ndim != 2:
        raise KinematicsError(f'starts of shape {starts.shape}: give (k, {arm.n_actuators})')
    return starts


def _finite(what: str, values: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    values = np.ascontiguousarray(values, dtype=float)
    if values.shape != shape or not np.isfinite(values).all():
        raise KinematicsError(
            f'{what} of shape {values.shape}: give finite numbers of shape {shape}'
        )
    return values
