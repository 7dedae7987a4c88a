"""Nearest reachable point of a target outside the workspace."""

import numpy as np
from scipy.optimize import minimize

from soft_arm_kinematics.arm import Arm

_POLISHED = 3  # nearest starts, each near a local minimum


def nearest(
    arm: Arm,
    target_m: np.ndarray,
    starts: np.ndarray,
    distances_m: np.ndarray,
    limits: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Find the nearest point that the tip of the model reaches.

    Args:
        arm: The arm.
        target_m: Target [m], (3,).
        starts: Configurations (k, n) to start from.
        distances_m: Distances of their tips from the target [m], (k,).
        limits: Lowest and highest coordinates, (2, n); equal ones hold a coordinate.

    Returns:
        Its configuration (n,), the point (3,) [m] and its distance from the target [m].
    """
    low, high = limits
    extent = np.where(high > low, high - low, 1.0)  # a held coordinate has none

    # Coordinates as shares of their range, so that all have the same scale.
    def squared(share: np.ndarray) -> tuple[float, np.ndarray]:
        q = low + share * extent
        configuration = arm.at(q)
        error_m = configuration.tip_m - target_m
        gradient = error_m @ configuration.tip_jacobian
        return error_m @ error_m * 1e4, 2e4 * gradient * extent

    found = [
        minimize(
            squared,
            (start - low) / extent,
            jac=True,
            method='L-BFGS-B',
            bounds=[(0.0, float(free)) for free in high > low],
            options={'ftol': 1e-15, 'gtol': 1e-10, 'maxiter': 300},
        )
        for start in starts[np.argsort(distances_m)[:_POLISHED]]
    ]
    q = low + min(found, key=lambda f: f.fun).x * extent
    nearest_m = arm.at(q).tip_m
    return q, nearest_m, float(np.linalg.norm(nearest_m - target_m))
