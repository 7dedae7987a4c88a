"""Analyse a cloud: its noise, its planes, and the connected parts of the rest."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from soft_arm_vision.clouds.cylinder import perpendiculars

PATCHES = 250  # in which noise and flatness are measured
PATCH_POINTS = (40, 160, 640)  # a patch grows until it is wider than its noise
PATCH_SIGMAS = 6
PLANES = 10  # at most
PLANE_SHARES = (0.03, 0.15)  # of the whole and of what is left, or it stays
# Share of the scatter of normals that varies smoothly with the place, from which a plane is taken
# for strips of curved walls.
TURNING_SHARE = 0.7
FACE_COSINE = 0.9  # 25 deg
EVEN_RAD = 0.02  # scatter of normals below which a surface is flat, whatever turns
PLANE_HYPOTHESES = 1000
PLANE_POINTS = 20_000  # number of points in the search for planes
# Removed around a plane, in addition to 1.5 thresholds: there the depths of both are mixed.
FOOT_M = 0.0045
GAP_M, GAP_SPACINGS = 0.012, 3  # between parts, whichever is larger
MIN_PART = 100
PARTS = 8
PART_POINTS = 5_000  # number of points in the fit of a wall


@dataclass(frozen=True)
class Part:
    """Connected points of a cloud.

    Attributes:
        points: Shape (n, 3) [m], at most `PART_POINTS`.
        noise_m: Scatter of small patches about quadratic surfaces.
        spacing_m: Distance of neighbours among the points as they came, about a pixel of a camera.
        share: Of the whole cloud.
        places, normals: Some of the points and the normals of their patches, (m, 3) each.
    """

    points: np.ndarray
    noise_m: float
    spacing_m: float
    share: float
    places: np.ndarray
    normals: np.ndarray


def part_of(points: np.ndarray, whole: int, rng: np.random.Generator) -> Part:
    """Return a part of a cloud of `whole` points with its noise and spacing."""
    chosen = points[rng.permutation(len(points))]
    tree, seeds, noise_m = cKDTree(points), chosen[:PATCHES], 0.0
    # Each point has four around it.
    spacing_m = float(np.median(tree.query(seeds, k=5)[0][:, 4])) / np.sqrt(1.5)
    for count in PATCH_POINTS:
        distance, owner = tree.query(seeds, k=min(count, len(points)))
        noise_m = float(np.median([_scatter(points[k]) for k in owner]))
        if PATCH_SIGMAS * noise_m < np.median(distance[:, -1]):
            break
    share = len(points) / whole
    return Part(chosen[:PART_POINTS], noise_m, spacing_m, share, seeds, normals_of(points[owner]))


def normals_of(patch: np.ndarray) -> np.ndarray:
    """Return the unit normals (m, 3) of patches of points (m, k, 3), either way."""
    offset = patch - patch.mean(axis=1, keepdims=True)
    return np.linalg.eigh(np.einsum('nki,nkj->nij', offset, offset))[1][:, :, 0]


def _scatter(patch: np.ndarray) -> float:
    offset = patch - patch.mean(axis=0)
    x, y, height = (offset @ np.linalg.eigh(offset.T @ offset)[1][:, ::-1]).T
    terms = np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y])
    terms /= np.maximum(np.linalg.norm(terms, axis=0), 1e-300)
    rest = height - terms @ np.linalg.lstsq(terms, height)[0]
    return float(np.sqrt(rest @ rest / (len(rest) - 6)))


def plane_of(points: np.ndarray, threshold_m: float = 0.003) -> tuple[np.ndarray, np.ndarray]:
    """Return the plane with the most points: a point on it and its unit normal, (3,) each."""
    import open3d  # takes 0.6 s

    open3d.utility.random.seed(0)
    some = points[:: max(1, len(points) // PLANE_POINTS)]
    (*normal, offset), _ = open3d_cloud(some).segment_plane(threshold_m, 3, PLANE_HYPOTHESES)
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
        least = max(PLANE_SHARES[0] * whole, PLANE_SHARES[1] * len(points))
        if on.sum() < least or not _face(points, on, point, normal, rng):
            break
        points = points[np.abs(distance) > 1.5 * threshold_m + FOOT_M]
    return points


def _face(
    points: np.ndarray,
    on: np.ndarray,
    point: np.ndarray,
    normal: np.ndarray,
    rng: np.random.Generator,
) -> bool:
    """Return whether the points on a plane are flat, and not strips of a curved wall.

    Normals of small patches must agree with the plane and must not vary smoothly with the place,
    as they do on a strip of a curved wall.
    """
    seeds = points[rng.permutation(np.flatnonzero(on))[:PATCHES]]
    own = normals_of(points[cKDTree(points).query(seeds, k=PATCH_POINTS[0])[1]])
    own *= np.where(own @ normal < 0, -1.0, 1.0)[:, None]
    axes, along = np.column_stack(perpendiculars(normal)), own @ normal > FACE_COSINE
    if along.mean() < 0.5:
        return False
    return _evenly_turning(own[along] @ axes, (seeds - point)[along] @ axes) < TURNING_SHARE


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
    """Return the largest parts that gaps separate, (k, 3) each, by cells of that size."""
    if len(points) == 0:
        return []
    cell, owner = np.unique(np.floor(points / gap_m), axis=0, return_inverse=True)
    part = np.asarray(open3d_cloud(cell).cluster_dbscan(eps=1.5, min_points=1))[owner]
    count = np.bincount(part)
    return [points[part == k] for k in np.argsort(-count)[:PARTS] if count[k] >= MIN_PART]


def open3d_cloud(points: np.ndarray) -> Any:
    """Return the points as Open3D takes them."""
    import open3d

    return open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))
