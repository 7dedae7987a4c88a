"""Poses from which a fit may start: walls of the ring's radius in a candidate's depth."""

from collections.abc import Iterator

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.clouds.cylinder import surface_frame
from soft_arm_vision.clouds.cylinder_fit import ransac_cylinder, seed_normals
from soft_arm_vision.ring.tolerances import TOLERANCES

MAX_POINTS = 1500  # that a wall is sought in
WALLS = 3  # that are sought, each in what the ones before have left


def start_poses(
    points: np.ndarray, ring: Ring, tolerance_m: float, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield centres [m] and unit axes of pieces of wall as high as the ring, most points first.

    A candidate may hold more than the ring. Of a ring seen from near its axis there is little but
    the far wall's inside: a near wall seen from behind.

    Args:
        points: Points of the candidate [m], shape (n, 3).
        ring: Size of the ring.
        tolerance_m: Distance of an inlier from the wall.
        rng: Random number generator.
    """
    left = points[rng.permutation(len(points))[:MAX_POINTS]]
    for _ in range(WALLS):
        if len(left) < TOLERANCES.min_points:
            return
        rest = None
        places, normals = seed_normals(left, rng, np.zeros(3))
        for radius_m, viewpoint, side in (
            (ring.radius_m, np.zeros(3), 1),
            (ring.radius_m - ring.thickness_m, 2 * np.median(left, axis=0), -1),
        ):
            seeds = places, side * normals
            found = _wall(left, seeds, radius_m, viewpoint, ring, tolerance_m, rng)
            if found is not None:
                centre, axis, on_wall = found
                yield centre, axis
                rest = left[~on_wall] if rest is None else rest
        if rest is None:
            return
        left = rest


def _wall(
    points: np.ndarray,
    seeds: tuple[np.ndarray, np.ndarray],
    radius_m: float,
    viewpoint: np.ndarray,
    ring: Ring,
    tolerance_m: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return centre and axis of the piece of wall that holds most points, and which these are.

    Only points whose normals face the viewpoint count. None if there is no such piece.
    """
    found = ransac_cylinder(
        points,
        radius_m=radius_m,
        threshold_m=tolerance_m,
        rng=rng,
        viewpoint=(viewpoint[0], viewpoint[1], viewpoint[2]),
        seeds=seeds,
    )
    if found is None:
        return None
    cylinder, _ = found
    axial, normal, residual = (part[0] for part in surface_frame(points, cylinder))
    seen = np.einsum('ni,ni->n', normal, viewpoint - points) > 0
    on_wall = seen & (np.abs(residual) < tolerance_m)
    along = np.sort(axial[on_wall])
    if len(along) < TOLERANCES.min_points / 2:
        return None
    reach = np.searchsorted(along, along + ring.height_m + 2 * tolerance_m) - np.arange(len(along))
    densest = int(reach.argmax())
    inside = along[densest : densest + reach[densest]]
    middle = 0.5 * sum(np.percentile(inside, (2, 98)))
    near = on_wall & (np.abs(axial - middle) < 0.75 * ring.height_m)
    return cylinder.point[0] + middle * cylinder.axis[0], cylinder.axis[0], near
