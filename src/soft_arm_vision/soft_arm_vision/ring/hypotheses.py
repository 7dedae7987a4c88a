"""Poses from which a fit may start: walls of the ring's radius in a candidate's depth."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.clouds.walls import hypotheses, on_wall, settle
from soft_arm_vision.tolerances import TOLERANCES

CAMERA = np.zeros(3)


def start_poses(
    points: np.ndarray, ring: Ring, tolerance_m: float, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield centres [m] and unit axes of the best walls of the ring's size, by RANSAC.

    Args:
        points: Points of the candidate [m], shape (n, 3).
        ring: Size of the ring.
        tolerance_m: Distance of an inlier from the wall.
        rng: Random number generator.
    """
    for wall in hypotheses(
        points, CAMERA, tolerance_m, ring.radius_m, (0.0, np.inf), rng, (TOLERANCES.patch_points,)
    ):
        wall = replace(wall, thickness_m=ring.thickness_m)
        wall, _ = settle(
            points,
            wall,
            CAMERA,
            2 * tolerance_m,
            tolerance_m / TOLERANCES.outlier_sigmas,
            [False] * 2,
        )
        at = on_wall(points, wall, CAMERA)
        along = np.sort(at.axial_m[np.abs(at.residual_m) < tolerance_m])
        if len(along) < TOLERANCES.min_points / 2:
            continue
        end = np.searchsorted(along, along + ring.height_m + 2 * tolerance_m)
        densest = int((end - np.arange(len(along))).argmax())
        middle = np.percentile(along[densest : end[densest]], (2, 98)).mean()
        yield wall.point + middle * wall.axis, wall.axis
