"""Actuator lengths that put the tip on a point, found from lengths nearby: damped Gauss-Newton inside the length limits."""

import numpy as np

from soft_arm_kinematics.arm import BellowsArm

ITERATIONS = 2  # a control loop starts where it ended one tick ago
DAMPING = 1.0e-3  # dimensionless like the Jacobian [m/m]; matters only where a direction cannot be moved at all
NULL_SHARE = (
    0.3  # of the distance to the preferred lengths that each iteration goes along the null space
)


def differential_ik(
    arm: BellowsArm,
    start_m: np.ndarray,
    target_m: np.ndarray,
    preferred_m: np.ndarray,
    limits_m: np.ndarray,
    free: np.ndarray,
    iterations: int = ITERATIONS,
) -> tuple[np.ndarray, float]:
    """Solve tip(lengths) = target near `start_m`.

    Actuators that are not free stay where they start. One that reaches a limit stays there and the
    others take over; what is left of motion is spent on nearing the preferred lengths, where it
    does not move the tip.

    Args:
        arm: Model of the tip and its Jacobian.
        start_m: Where to start [m], shape (n,).
        target_m: Wanted tip [m], shape (3,).
        preferred_m: Lengths to stay near [m], shape (n,).
        limits_m: Shortest and longest lengths [m], shape (2, n).
        free: Which actuators may move, bool, shape (n,).
        iterations: Steps taken with the Jacobian at the start.

    Returns:
        Lengths [m] within the limits, shape (n,), and the distance [m] of their tip from the
        target.
    """
    lengths_m = np.clip(start_m, *limits_m)
    jacobian, tip_m = arm.tip_jacobian(lengths_m), arm.tip(lengths_m)
    for _ in range(iterations):
        lengths_m = _step(lengths_m, target_m - tip_m, jacobian, preferred_m, limits_m, free)
        tip_m = arm.tip(lengths_m)
    return lengths_m, float(np.linalg.norm(target_m - tip_m))


def _step(lengths_m, residual_m, jacobian, preferred_m, limits_m, free):
    moving, change_m = free.copy(), np.zeros_like(lengths_m)
    for _ in range(len(lengths_m)):
        if not moving.any():
            break
        j = jacobian[:, moving]
        still_m = residual_m - jacobian[:, ~moving] @ change_m[~moving]
        inverse = j.T @ np.linalg.inv(j @ j.T + DAMPING**2 * np.eye(3))
        wish_m = NULL_SHARE * (preferred_m - lengths_m)[moving]
        change_m[moving] = inverse @ (still_m - j @ wish_m) + wish_m
        wanted_m = lengths_m + change_m
        outside = moving & ((wanted_m < limits_m[0]) | (wanted_m > limits_m[1]))
        if not outside.any():
            break
        change_m[outside] = np.clip(wanted_m, *limits_m)[outside] - lengths_m[outside]
        moving &= ~outside
    return np.clip(lengths_m + change_m, *limits_m)
