"""Cylinders in point clouds: RANSAC on pairs of points with normals, and robust least squares.

Hypotheses are handled as arrays (K of them at a time), never one by one. The number of hypotheses
follows the share of inliers found so far, `k = lg(1 - P) / lg(1 - t^N)`. With noisy normals a pair
of inliers often gives a bad cylinder, so that k is taken as a lower bound only: at least
`MIN_HYPOTHESES`, and the best few are optimised before one is chosen.
"""

# mypy: disable-error-code="no-untyped-def"
# Numba infers the types of the compiled functions.

import math

import numpy as np
from scipy.spatial import cKDTree

from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_vision.clouds.cylinder import NOWHERE, Cylinders, cross, optimise, relative_to

CONFIDENCE = 0.999
MIN_HYPOTHESES = 128
MAX_HYPOTHESES = 1024
BLOCK = 128  # hypotheses scored together
SEEDS = 150  # points with a normal
NEIGHBOURS = 30
SCORED = 400  # points that a hypothesis is scored on
OPTIMISED = 5


def required_hypotheses(
    inlier_share: float, sample_size: int, confidence: float = CONFIDENCE
) -> int:
    """Hypotheses needed to draw one sample of inliers only: k = lg(1-P) / lg(1-t^N), rounded up."""
    good = min(max(inlier_share, 0.0), 1.0) ** sample_size
    if good <= 0.0:
        return MAX_HYPOTHESES
    if good >= confidence:
        return 1
    return math.ceil(math.log(1 - confidence) / math.log1p(-good))


def seed_normals(
    points: np.ndarray, rng: np.random.Generator, viewpoint: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Normals by principal components at a random choice of points, turned to the viewpoint.

    Returns:
        Points (m, 3) and unit normals (m, 3).
    """
    seeds = points[rng.permutation(len(points))[:SEEDS]]
    _, neighbours = cKDTree(points).query(seeds, k=min(NEIGHBOURS, len(points)))
    patch = points[neighbours]
    patch = patch - patch.mean(axis=1, keepdims=True)
    _, vectors = np.linalg.eigh(np.matmul(patch.transpose(0, 2, 1), patch))
    normals = vectors[:, :, 0]
    away = np.einsum('ni,ni->n', normals, viewpoint - seeds) < 0
    return seeds, np.where(away[:, None], -normals, normals)


def hypothesise(
    seeds: np.ndarray,
    normals: np.ndarray,
    count: int,
    rng: np.random.Generator,
    radius_m: float | None,
    radius_limits_m: tuple[float, float],
    threshold_m: float,
) -> Cylinders:
    """Return cylinders through random pairs of oriented points; inconsistent pairs are left out.

    Args:
        seeds, normals: Points [m] and outward normals, (m, 3) each.
        count: Pairs drawn.
        rng: Random numbers.
        radius_m: Known radius, or None: then the two normals' crossing gives it.
        radius_limits_m: Accepted radii when it is not known.
        threshold_m: Allowed disagreement of the two points about the axis is four times this [m].
    """
    i, j = rng.integers(len(seeds), size=(2, count))
    p1, p2, n1, n2 = seeds[i], seeds[j], normals[i], normals[j]
    axis = cross(n1, n2)
    sine = np.linalg.norm(axis, axis=1)
    keep = sine > 0.35  # nearly parallel normals say nothing of the axis
    p1, p2, n1, n2 = p1[keep], p2[keep], n1[keep], n2[keep]
    axis = axis[keep] / sine[keep, None]
    gap = p2 - p1
    gap = gap - np.einsum('ni,ni->n', gap, axis)[:, None] * axis  # in the cross-section
    if radius_m is None:
        radius = np.einsum('ni,ni->n', gap, n2 - n1) / np.maximum(
            np.einsum('ni,ni->n', n2 - n1, n2 - n1), 1e-9
        )
    else:
        radius = np.full(len(p1), radius_m)
    disagreement = np.linalg.norm(gap - radius[:, None] * (n2 - n1), axis=1)
    keep = (
        (disagreement < 4 * threshold_m)
        & (radius >= radius_limits_m[0])
        & (radius <= radius_limits_m[1])
    )
    point = p1 - radius[:, None] * n1 + 0.5 * (gap - radius[:, None] * (n2 - n1))
    return Cylinders(point[keep], axis[keep], radius[keep])


def msac_cost(
    points: np.ndarray, cylinders: Cylinders, threshold_m: float, viewpoint: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return cost and share of inliers of each cylinder, (K,) each.

    The cost is the mean truncated squared distance in units of the threshold: 0 best, 1 worst.
    """
    points = np.ascontiguousarray(points, float)
    view = NOWHERE if viewpoint is None else np.asarray(viewpoint, float)
    return _costs(points, cylinders.point, cylinders.axis, cylinders.radius, threshold_m, view)


@njit(cache=True, nogil=True)
def _costs(points, point, axis, radius, threshold_m, viewpoint):
    cost, share = np.zeros(len(radius)), np.zeros(len(radius))
    for k in range(len(radius)):
        for i in range(len(points)):
            _, x, y, z, residual = relative_to(points[i], point[k], axis[k], radius[k])
            squared = (residual / threshold_m) ** 2
            if squared < 1 and _faces(x, y, z, points[i], viewpoint):
                cost[k] += squared
                share[k] += 1
            else:
                cost[k] += 1
    return cost / len(points), share / len(points)


@njit(cache=True, nogil=True, forceinline=True)
def _faces(x, y, z, place, viewpoint):
    """Whether a normal looks to the viewpoint; any does where that is not known (NaN)."""
    towards = (
        x * (viewpoint[0] - place[0])
        + y * (viewpoint[1] - place[1])
        + z * (viewpoint[2] - place[2])
    )
    return not towards <= 0


def ransac_cylinder(
    points: np.ndarray,
    *,
    radius_m: float | None,
    threshold_m: float = 0.003,
    rng: np.random.Generator,
    viewpoint: tuple[float, float, float] | None = (0.0, 0.0, 0.0),
    radius_limits_m: tuple[float, float] = (0.0, 1.0),
    seeds: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[Cylinders, float] | None:
    """Find one cylinder in a cloud.

    Args:
        points: Shape (n, 3) [m].
        radius_m: Known radius, or None to estimate it.
        threshold_m: Distance of an inlier from the surface [m].
        rng: Random numbers.
        viewpoint: Camera position [m], on whose side the wall is seen. None: seen from anywhere.
        radius_limits_m: Accepted radii when the radius is free.
        seeds: Some of the points and their normals, as of `seed_normals`; None: they are chosen.

    Returns:
        The cylinder (K = 1) and its share of inliers, or None if no pair of points makes one.
    """
    if len(points) < 10:
        return None
    view = None if viewpoint is None else np.asarray(viewpoint, float)
    if seeds is None:
        seeds = seed_normals(points, rng, points.mean(axis=0) if view is None else view)
    places, normals = seeds
    if view is None:
        normals = -normals  # outward from the middle of the cloud
    scored = points[rng.permutation(len(points))[:SCORED]]
    limits = (0.0, np.inf) if radius_m is not None else radius_limits_m
    best, costs, drawn, needed = None, np.empty(0), 0, MIN_HYPOTHESES
    while drawn < needed:
        block = hypothesise(places, normals, BLOCK, rng, radius_m, limits, threshold_m)
        drawn += BLOCK
        if len(block.radius):
            cost, share = msac_cost(scored, block, threshold_m, view)
            best = (
                block
                if best is None
                else Cylinders(
                    *(
                        np.concatenate([getattr(c, f) for c in (best, block)])
                        for f in ('point', 'axis', 'radius')
                    )
                )
            )
            costs = np.concatenate([costs, cost])
            order = np.argsort(costs)[:OPTIMISED]
            best, costs = best[order], costs[order]
            top_share = msac_cost(scored, best[:1], threshold_m, view)[1][0]
            needed = max(MIN_HYPOTHESES, min(MAX_HYPOTHESES, required_hypotheses(top_share, 2)))
        else:
            needed = MAX_HYPOTHESES
    if best is None:
        return None
    for cut in (2 * threshold_m, threshold_m):
        best = optimise(
            scored, best, cut_m=cut, iterations=3, viewpoint=view, free_radius=radius_m is None
        )
    cost, share = msac_cost(scored, best, threshold_m, view)
    top = int(np.argmin(cost))
    return best[top : top + 1], float(share[top])
