"""Differential inverse kinematics: damped Gauss-Newton steps inside the limits."""

from typing import Protocol

import numpy as np
from scipy.optimize import lsq_linear

ITERATIONS = 2  # enough for a control loop, which starts at the solution of the last tick
DAMPING = 1.0e-3  # of the Jacobian [m/m]; matters only near singular configurations
NULL_SPACE_GAIN = 0.3  # share of the way to the preferred lengths of each null-space step
SMALLEST_M = 1.0e-9  # range of an actuator, for the solver
_DAMPED = DAMPING**2 * np.eye(3)


class TipModel(Protocol):
    """The tip as a function of coordinates, such as lengths [m] of bellows."""

    def tip(self, coordinates: np.ndarray, /) -> np.ndarray:
        """Return the tip [m], (3,)."""

    def tip_jacobian(self, coordinates: np.ndarray, /) -> np.ndarray:
        """Return its derivative by the coordinates, (3, n)."""


def differential_ik(
    arm: TipModel,
    start_m: np.ndarray,
    target_m: np.ndarray,
    preferred_m: np.ndarray,
    limits_m: np.ndarray,
    free: np.ndarray,
    iterations: int = ITERATIONS,
) -> tuple[np.ndarray, float]:
    """Solve tip(lengths) = target near `start_m`.

    Actuators that are not free keep their lengths. Each step is the bounded least-squares one:
    where an actuator is at a limit, the others come as near to the target as they can. Motion in
    the null space of the Jacobian goes towards the preferred lengths.

    Args:
        arm: Model of the tip and its Jacobian; what follows says lengths [m] for its coordinates.
        start_m: Lengths to start from [m], shape (n,).
        target_m: Wanted tip [m], shape (3,).
        preferred_m: Lengths that the null-space motion approaches [m], shape (n,).
        limits_m: Shortest and longest lengths [m], shape (2, n).
        free: Which actuators may move, bool, shape (n,).
        iterations: Number of steps, all with the Jacobian at the start.

    Returns:
        Lengths [m] within the limits, shape (n,), and the distance [m] of their tip from the
        target.
    """
    lengths_m = np.clip(start_m, *limits_m)
    jacobian = arm.tip_jacobian(lengths_m)
    tip_m = arm.tip(lengths_m)
    for _ in range(iterations):
        lengths_m = _step(lengths_m, target_m - tip_m, jacobian, preferred_m, limits_m, free)
        tip_m = arm.tip(lengths_m)
    return lengths_m, float(np.linalg.norm(target_m - tip_m))


def _step(
    lengths_m: np.ndarray,
    residual_m: np.ndarray,
    jacobian: np.ndarray,
    preferred_m: np.ndarray,
    limits_m: np.ndarray,
    free: np.ndarray,
) -> np.ndarray:
    """Return the lengths [m], shape (n,), after the best change that the limits allow.

    The change x of the free lengths minimises |J x - residual|^2 + DAMPING^2 |x - null|^2, null
    being a step towards the preferred lengths.
    """
    j = jacobian[:, free]
    null_m = NULL_SPACE_GAIN * (preferred_m - lengths_m)[free]
    change_m = null_m + j.T @ np.linalg.solve(j @ j.T + _DAMPED, residual_m - j @ null_m)
    low_m, high_m = (limits_m - lengths_m)[:, free]
    if not ((change_m >= low_m) & (change_m <= high_m)).all():
        weighted = np.vstack([j, DAMPING * np.eye(len(null_m))])
        wanted_m = np.concatenate([residual_m, DAMPING * null_m])
        bounds_m = low_m, np.maximum(high_m, low_m + SMALLEST_M)
        change_m = lsq_linear(weighted, wanted_m, bounds_m, method='bvls').x
    found_m = lengths_m.copy()
    found_m[free] = np.clip(lengths_m[free] + change_m, *limits_m[:, free])
    return found_m
