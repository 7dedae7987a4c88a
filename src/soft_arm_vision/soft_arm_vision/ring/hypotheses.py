"""Poses from which a fit may start: walls of the ring's radius in a candidate's depth."""

from collections.abc import Iterator

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.clouds.cylinder import surface_frame
from soft_arm_vision.clouds.cylinder_fit import ransac_cylinder, seed_normals
from soft_arm_vision.ring.tolerances import TOLERANCES

MAX_POINTS = 1500  # that a wall is sought in


def start_poses(
    points: np.ndarray, ring: Ring, tolerance_m: float, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield centres [m] and unit axes of the pieces of wall, as high as the ring, of most points.

    One is seen from outside. Of a ring seen from near its axis there is little but the far wall's
    inside: a near wall seen from behind, which is the other one.

    Args:
        points: Points of the candidate [m], shape (n, 3).
        ring: Size of the ring.
        tolerance_m: Distance of an inlier from the wall.
        rng: Random number generator.
    """
    points = points[rng.permutation(len(points))[:MAX_POINTS]]
    places, normals = seed_normals(points, rng, np.zeros(3))
    for radius_m, viewpoint, side in (
        (ring.radius_m, np.zeros(3), 1),
        (ring.radius_m - ring.thickness_m, 2 * np.median(points, axis=0), -1),
    ):
        found = ransac_cylinder(
            points,
            radius_m=radius_m,
            threshold_m=tolerance_m,
            rng=rng,
            viewpoint=(viewpoint[0], viewpoint[1], viewpoint[2]),
            seeds=(places, side * normals),
        )
        if found is None:
            continue
        point, axis = found[0].point[0], found[0].axis[0]
        axial, normal, residual = surface_frame(points, point, axis, radius_m)
        seen = np.einsum('ni,ni->n', normal, viewpoint - points) > 0
        along = np.sort(axial[seen & (np.abs(residual) < tolerance_m)])
        if len(along) < TOLERANCES.min_points / 2:
            continue
        end = np.searchsorted(along, along + ring.height_m + 2 * tolerance_m)
        densest = int((end - np.arange(len(along))).argmax())
        middle = np.percentile(along[densest : end[densest]], (2, 98)).mean()
        yield point + middle * axis, axis
