"""Analyse a cloud: its noise, its planes, and the connected parts of the rest."""

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from soft_arm_vision.clouds.cylinder import perpendiculars

PATCH_M = 0.015  # radius of the patches that show the noise
PATCHES_MEASURED = 150
PLANES = 4  # at most
PLANE_SHARE = 0.15  # of the cloud, or it is left
# Share of the scatter of normals that varies smoothly with the place, from which a plane is taken
# for strips of curved walls.
TURNING_SHARE = 0.7
FACE_COSINE = 0.9  # 25 deg
EVEN_RAD = 0.02  # scatter of normals below which a surface is flat, whatever turns
PLANE_HYPOTHESES = 1000
FOOT_M = (
    0.0045  # taken away around a plane besides 1.5 thresholds: there the depths of both are mixed
)
PART_GAP_M = 0.012
MIN_PART = 100
PARTS = 8


def noise_m(points: np.ndarray, rng: np.random.Generator) -> float | None:
    """Return the median scatter of small patches about quadratic surfaces [m].

    None if the points are too few or too far apart.
    """
    tree, scatter = cKDTree(points), []
    for seed in points[rng.permutation(len(points))[:PATCHES_MEASURED]]:
        offset = points[tree.query_ball_point(seed, PATCH_M)] - seed
        if len(offset) >= 20:
            normal = np.linalg.eigh(np.cov(offset.T))[1][:, 0]
            rest = _off_quadratic(offset, normal)
            scatter.append(np.sqrt(rest @ rest / (len(rest) - 6)))
    return float(np.median(scatter)) if len(scatter) >= 10 else None


def plane_of(points: np.ndarray, threshold_m: float = 0.003) -> tuple[np.ndarray, np.ndarray]:
    """Return the plane with the most points: a point on it and its unit normal, (3,) each."""
    import open3d  # takes 0.6 s

    open3d.utility.random.seed(0)
    (*normal, offset), _ = open3d_cloud(points).segment_plane(threshold_m, 3, PLANE_HYPOTHESES)
    normal = np.array(normal) / np.linalg.norm(normal)
    return -offset * normal, normal


def without_planes(points: np.ndarray, rng: np.random.Generator, threshold_m: float) -> np.ndarray:
    """The points that are on none of the large planes, shape (m, 3)."""
    whole = len(points)
    for _ in range(PLANES):
        if len(points) < MIN_PART:
            break
        point, normal = plane_of(points, threshold_m)
        distance = (points - point) @ normal
        on = np.abs(distance) < threshold_m
        if on.sum() < PLANE_SHARE * whole or not _face(points, on, point, normal, rng):
            break
        points = points[np.abs(distance) > 1.5 * threshold_m + FOOT_M]
    return points


def _off_quadratic(offset: np.ndarray, normal: np.ndarray) -> np.ndarray:
    e1, e2 = perpendiculars(normal)
    x, y, height = offset @ e1, offset @ e2, offset @ normal
    terms = np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y])
    return height - terms @ np.linalg.lstsq(terms, height)[0]


def _face(
    points: np.ndarray,
    on: np.ndarray,
    point: np.ndarray,
    normal: np.ndarray,
    rng: np.random.Generator,
) -> bool:
    """Return whether the points on a plane are flat, and not strips of a curved wall.

    The surface's own normals, of small patches around some of the plane's points, must be the
    plane's, and must not turn evenly from place to place: those of a strip do, and those of two
    strips of a hollow body's wall.
    """
    tree, own, places = cKDTree(points), [], []
    for seed in rng.permutation(np.flatnonzero(on))[:PATCHES_MEASURED]:
        patch = points[tree.query_ball_point(points[seed], PATCH_M)]
        if len(patch) >= 10:
            direction = np.linalg.eigh(np.cov(patch.T))[1][:, 0]
            own.append(direction * np.copysign(1.0, direction @ normal))
            places.append(points[seed] - point)
    if not own:
        return True
    normals, axes = np.array(own), np.column_stack(perpendiculars(normal))
    along = normals @ normal > FACE_COSINE
    if along.mean() < 0.5:
        return False
    return _evenly_turning(normals[along] @ axes, np.array(places)[along] @ axes) < TURNING_SHARE


def _evenly_turning(tilt: np.ndarray, place: np.ndarray) -> float:
    """Return the share of the scatter of tilts (n, 2) that a cubic of the place (n, 2) explains.

    The share is adjusted for the number of terms.
    """
    x, y = ((place - place.mean(axis=0)) / place.std()).T
    terms = np.column_stack([x**i * y**j for i in range(4) for j in range(4 - i)])
    if len(tilt) <= 2 * terms.shape[1] or tilt.var(axis=0).sum() < EVEN_RAD**2:
        return 0.0
    rest = tilt - terms @ np.linalg.lstsq(terms, tilt)[0]
    return 1 - np.square(rest).sum() / (len(tilt) - terms.shape[1]) / tilt.var(axis=0, ddof=1).sum()


def connected_parts(points: np.ndarray, gap_m: float) -> list[np.ndarray]:
    """Return the parts that gaps separate, largest first, (k, 3) each."""
    if len(points) == 0:
        return []
    owner = np.asarray(open3d_cloud(points).cluster_dbscan(eps=gap_m, min_points=1))
    count = np.bincount(owner)
    return [points[owner == k] for k in np.argsort(-count)[:PARTS] if count[k] >= MIN_PART]


def open3d_cloud(points: np.ndarray) -> Any:
    """Return the points as Open3D takes them."""
    import open3d

    return open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))
