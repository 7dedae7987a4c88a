"""Differential inverse kinematics: damped Gauss-Newton steps inside the limits."""

from typing import Protocol

import numpy as np
from scipy.optimize import lsq_linear

ITERATIONS = 2  # enough for a control loop, which starts at the solution of the last tick
DAMPING = 1.0e-3  # of the least-squares step [m/m]; effective only near singular configurations
NULL_SPACE_GAIN = 0.3  # of the error to the preferred lengths, for each step
MIN_RANGE_M = 1.0e-9  # smallest range between bounds that the solver accepts
_DAMPED = DAMPING**2 * np.eye(3)


class Tip(Protocol):
    """Tip at given coordinates."""

    @property
    def tip_m(self) -> np.ndarray:
        """Tip [m], (3,)."""

    @property
    def tip_jacobian(self) -> np.ndarray:
        """Derivative of the tip by the coordinates, (3, n)."""


class TipModel(Protocol):
    """The tip as a function of coordinates, such as lengths [m] of bellows."""

    def at(self, coordinates: np.ndarray, /) -> Tip:
        """Return the tip at coordinates (n,)."""


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

    Actuators that are not free keep their lengths. Each step is a bounded least-squares solution:
    where an actuator is at a limit, the others minimise the distance to the target. Motion in the
    null space of the Jacobian approaches the preferred lengths.

    Args:
        arm: Model of the tip and its Jacobian; its coordinates are called lengths [m] here.
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
    start = arm.at(lengths_m)
    jacobian, tip_m = start.tip_jacobian, start.tip_m
    for _ in range(iterations):
        lengths_m = _step(lengths_m, target_m - tip_m, jacobian, preferred_m, limits_m, free)
        tip_m = arm.at(lengths_m).tip_m
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
        bounds_m = low_m, np.maximum(high_m, low_m + MIN_RANGE_M)
        change_m = lsq_linear(weighted, wanted_m, bounds_m, method='bvls').x
    found_m = lengths_m.copy()
    found_m[free] = np.clip(lengths_m[free] + change_m, *limits_m[:, free])
    return found_m
