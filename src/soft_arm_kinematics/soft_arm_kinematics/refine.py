"""Batched Jacobians and damped Gauss-Newton inside the limits, compiled (`compiled_solver`)."""

import numpy as np

from soft_arm_kinematics import compiled_solver
from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.compiled_model import compiled_arm

MAX_STEPS = 60


def twist_jacobian_batch(arm: Arm, actuation: np.ndarray) -> np.ndarray:
    """The same as `Arm.twist_jacobian`, (..., 6, n) of (..., n), on all cores at compiled speed."""
    rows = np.ascontiguousarray(arm.checked(actuation)).reshape(-1, arm.n_actuators)
    jacobians = np.empty((len(rows), 6, arm.n_actuators))
    compiled_solver.twist_jacobians(compiled_arm(arm), rows, jacobians)
    return jacobians.reshape(*np.shape(actuation)[:-1], 6, arm.n_actuators)


def refine(arm: Arm, starts: np.ndarray, target_m: np.ndarray, axis: np.ndarray | None = None):
    """Bring many starts to a target, inside the limits.

    Args:
        arm: The arm.
        starts: (k, n) actuation, lengths [m] for bellows; those outside the limits start on them.
        target_m: (3,) tip position [m].
        axis: (3,) wanted unit direction of the tip's z axis, or None for any.

    Returns:
        Actuation (k, n), distances from the target (k,) [m], angles from the axis (k,) [rad] (0 where none is wanted). A start that
        cannot reach the target ends where its distance is locally least.
    """
    found, target_m = np.array(starts, dtype=float, order='C'), np.ascontiguousarray(target_m, dtype=float)
    residuals_m, axis_errors_rad = np.empty(len(found)), np.empty(len(found))
    wanted_axis = np.ascontiguousarray(np.zeros(3) if axis is None else axis, dtype=float)
    compiled_solver.refine_all(compiled_arm(arm), found, target_m, wanted_axis, axis is not None, MAX_STEPS, residuals_m, axis_errors_rad)
    return found, residuals_m, axis_errors_rad
