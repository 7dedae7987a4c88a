"""Cylinders in point clouds: RANSAC on pairs of points with normals, and robust least squares.

Hypotheses are handled as arrays (K of them at a time), never one by one. The number of hypotheses
follows the share of inliers found so far, `k = lg(1 - P) / lg(1 - t^N)`. With noisy normals a pair
of inliers often gives a bad cylinder, so that k is taken as a lower bound only: at least
`MIN_HYPOTHESES`, and the best few are optimised before one is chosen.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from soft_arm_kinematics.backends.machine_code import njit

CONFIDENCE = 0.999
MIN_HYPOTHESES = 128
MAX_HYPOTHESES = 1024
BLOCK = 128  # hypotheses scored together
SEEDS = 150  # points with a normal
NEIGHBOURS = 30
SCORED = 400  # points that a hypothesis is scored on
OPTIMISED = 5
_NOWHERE = np.full(3, np.nan)


@dataclass(frozen=True)
class Cylinders:
    """K infinite cylinders: a point on each axis [m] (K, 3), unit axes (K, 3), radii [m] (K,)."""

    point: np.ndarray
    axis: np.ndarray
    radius: np.ndarray

    def __getitem__(self, which) -> 'Cylinders':
        return Cylinders(self.point[which], self.axis[which], self.radius[which])


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


def surface_frame(
    points: np.ndarray, cylinders: Cylinders
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points in the cylinders' coordinates.

    Returns:
        Axial coordinate [m] from `cylinders.point` (K, n), outward unit normals (K, n, 3), signed
        distance to the surface [m] (K, n).
    """
    offset = points[None] - cylinders.point[:, None]
    axial = np.matmul(offset, cylinders.axis[:, :, None])[..., 0]
    radial = offset - axial[..., None] * cylinders.axis[:, None]
    distance = np.sqrt(np.einsum('kni,kni->kn', radial, radial))
    normal = radial / np.maximum(distance, 1e-9)[..., None]
    return axial, normal, distance - cylinders.radius[:, None]


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross product over the last axis; `numpy.cross` costs ten times as much on small arrays."""
    ax, ay, az, bx, by, bz = a[..., 0], a[..., 1], a[..., 2], b[..., 0], b[..., 1], b[..., 2]
    return np.stack((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx), axis=-1)


def perpendiculars(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors that make a right-handed frame with each axis, shapes as axis, (..., 3)."""
    if axis.ndim == 1:
        return _perpendiculars_of_one(np.ascontiguousarray(axis, float))
    other = np.eye(3)[np.argmin(np.abs(axis), axis=-1)]
    e1 = cross(axis, other)
    e1 /= np.linalg.norm(e1, axis=-1, keepdims=True)
    return e1, cross(axis, e1)


@njit(cache=True, nogil=True)
def _perpendiculars_of_one(axis):
    other = np.zeros(3)
    other[np.argmin(np.abs(axis))] = 1.0
    e1 = np.cross(axis, other)
    e1 /= np.sqrt(e1 @ e1)
    return e1, np.cross(axis, e1)


def tukey(residual: np.ndarray, cut: float | np.ndarray) -> np.ndarray:
    """Tukey's biweight: 1 at zero, 0 from |residual| = cut on."""
    return np.square(np.clip(1 - np.square(residual / cut), 0, None))


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
    """Cylinders through random pairs of oriented points; pairs that contradict themselves are left out.

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


def optimise(
    points: np.ndarray,
    cylinders: Cylinders,
    *,
    cut_m: float,
    iterations: int,
    viewpoint: np.ndarray | None,
    free_radius: bool = False,
) -> Cylinders:
    """Robust Gauss-Newton on axis, lateral position and, if free, radius, all cylinders at once.

    Args:
        points: Shape (n, 3) [m].
        cylinders: Starts.
        cut_m: Tukey's cut [m].
        iterations: Steps.
        viewpoint: Camera position [m]; only the near side of the wall can be seen from it. None: all sides count.
        free_radius: Estimate the radius too.
    """
    points, view = (
        np.ascontiguousarray(points, float),
        _NOWHERE if viewpoint is None else np.asarray(viewpoint, float),
    )
    for _ in range(iterations):
        e1, e2 = perpendiculars(cylinders.axis)
        middle, normal_matrix, pull = _normal_equations(
            points, cylinders.point, cylinders.axis, cylinders.radius, e1, e2, cut_m, view
        )
        if not free_radius:
            normal_matrix, pull = normal_matrix[:, :4, :4], pull[:, :4]
        unknowns = normal_matrix.shape[1]
        least = 1e-9 * np.maximum(np.trace(normal_matrix, axis1=1, axis2=2), 1e-12)
        normal_matrix = normal_matrix + least[:, None, None] * np.eye(unknowns)
        step = np.linalg.solve(normal_matrix, pull[..., None])[..., 0]
        step[:, :2] = np.clip(step[:, :2], -0.02, 0.02)
        step[:, 2:4] = np.clip(step[:, 2:4], -0.5, 0.5)
        axis = cylinders.axis + step[:, 2:3] * e1 + step[:, 3:4] * e2
        axis /= np.linalg.norm(axis, axis=1, keepdims=True)
        point = (
            cylinders.point
            + middle[:, None] * cylinders.axis
            + step[:, :1] * e1
            + step[:, 1:2] * e2
        )
        radius = (
            np.maximum(cylinders.radius + step[:, 4], 1e-4) if free_radius else cylinders.radius
        )
        cylinders = Cylinders(point, axis, radius)
    return cylinders


def msac_cost(
    points: np.ndarray, cylinders: Cylinders, threshold_m: float, viewpoint: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Mean truncated squared distance in units of the threshold (K,), 0 best and 1 worst, and share of inliers (K,)."""
    points, view = (
        np.ascontiguousarray(points, float),
        _NOWHERE if viewpoint is None else np.asarray(viewpoint, float),
    )
    return _costs(points, cylinders.point, cylinders.axis, cylinders.radius, threshold_m, view)


@njit(cache=True, nogil=True)
def _costs(points, point, axis, radius, threshold_m, viewpoint):
    cost, share = np.zeros(len(radius)), np.zeros(len(radius))
    for k in range(len(radius)):
        for i in range(len(points)):
            _, x, y, z, residual = _frame(points[i], point[k], axis[k], radius[k])
            squared = (residual / threshold_m) ** 2
            if squared < 1 and _faces(x, y, z, points[i], viewpoint):
                cost[k] += squared
                share[k] += 1
            else:
                cost[k] += 1
    return cost / len(points), share / len(points)


@njit(cache=True, nogil=True)
def _normal_equations(points, point, axis, radius, e1, e2, cut_m, viewpoint):
    """Weighted means of the axial coordinate (K,), normal matrices (K, 5, 5) and right sides (K, 5): across, across, tilt, tilt, radius."""
    count = len(radius)
    middle, matrix, pull = np.zeros(count), np.zeros((count, 5, 5)), np.zeros((count, 5))
    row, rows, weight, residual = (
        np.ones(5),
        np.empty((len(points), 3)),
        np.empty(len(points)),
        np.empty(len(points)),
    )
    for k in range(count):
        total = 0.0
        for i in range(len(points)):
            rows[i, 2], x, y, z, residual[i] = _frame(points[i], point[k], axis[k], radius[k])
            within = 1 - (residual[i] / cut_m) ** 2
            weight[i] = (
                within * within if within > 0 and _faces(x, y, z, points[i], viewpoint) else 0.0
            )
            total += weight[i]
            middle[k] += weight[i] * rows[i, 2]
            rows[i, 0] = x * e1[k, 0] + y * e1[k, 1] + z * e1[k, 2]
            rows[i, 1] = x * e2[k, 0] + y * e2[k, 1] + z * e2[k, 2]
        middle[k] /= max(total, 1e-9)
        for i in range(len(points)):
            if weight[i] > 0:
                arm = rows[i, 2] - middle[k]
                row[0], row[1], row[2], row[3] = (
                    rows[i, 0],
                    rows[i, 1],
                    arm * rows[i, 0],
                    arm * rows[i, 1],
                )
                for a in range(5):
                    pull[k, a] += weight[i] * row[a] * residual[i]
                    for b in range(5):
                        matrix[k, a, b] += weight[i] * row[a] * row[b]
    return middle, matrix, pull


@njit(cache=True, nogil=True, forceinline=True)
def _frame(place, point, axis, radius):
    """Axial coordinate, outward unit normal x, y, z and signed distance to the surface of one point."""
    x, y, z = place[0] - point[0], place[1] - point[1], place[2] - point[2]
    axial = x * axis[0] + y * axis[1] + z * axis[2]
    x, y, z = x - axial * axis[0], y - axial * axis[1], z - axial * axis[2]
    distance = np.sqrt(x * x + y * y + z * z)
    safe = max(distance, 1e-9)
    return axial, x / safe, y / safe, z / safe, distance - radius


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
) -> tuple[Cylinders, float] | None:
    """Find one cylinder in a cloud.

    Args:
        points: Shape (n, 3) [m].
        radius_m: Known radius, or None to estimate it.
        threshold_m: Distance of an inlier from the surface [m].
        rng: Random numbers.
        viewpoint: Camera position [m], on whose side the wall is seen. None: seen from anywhere.
        radius_limits_m: Accepted radii when the radius is free.

    Returns:
        The cylinder (K = 1) and its share of inliers, or None if no pair of points makes one.
    """
    if len(points) < 10:
        return None
    view = None if viewpoint is None else np.asarray(viewpoint, float)
    seeds, normals = seed_normals(points, rng, points.mean(axis=0) if view is None else view)
    if view is None:
        normals = -normals  # outward from the middle of the cloud
    scored = points[rng.permutation(len(points))[:SCORED]]
    limits = (0.0, np.inf) if radius_m is not None else radius_limits_m
    best, costs, drawn, needed = None, np.empty(0), 0, MIN_HYPOTHESES
    while drawn < needed:
        block = hypothesise(seeds, normals, BLOCK, rng, radius_m, limits, threshold_m)
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
