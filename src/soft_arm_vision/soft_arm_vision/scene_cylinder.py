"""One cylinder in any cloud: what is flat is taken away, what is left is parted, and the part that makes the best cylinder is fitted."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import label

from soft_arm_vision.cloud import voxel_filter
from soft_arm_vision.cylinder_fit import Cylinders, optimise, perpendiculars, ransac_cylinder, surface_frame, tukey
from soft_arm_vision.errors import VisionError

THRESHOLD_M = 0.003  # of an inlier
VOXEL_M = 0.002
TUKEY_SIGMAS = 4.7
MIN_CUT_M = 0.001
RADIUS_LIMITS_M = (0.005, 0.3)
PLANES = 4  # at most
PLANE_SHARE = 0.15  # of the cloud, or it is left
BENT_SHARE = 0.5  # of the scatter across a plane that a quadratic surface explains: then it is a strip of a curved wall
PLANE_HYPOTHESES = 1000
PLANES_REFINED = 8  # the best hypotheses, each to its end: the best of them at first may be a slanting cut through two things
PLANE_BAND = 3.0  # thresholds, taken away around a plane
PART_GAP_M = 0.006
MIN_PART = 100
PARTS = 8
TRIES = 3  # in each part
MIN_INLIER_SHARE = 0.2
SECTORS = 36  # of the circle
MIN_SECTORS = 6  # 60 deg: less of a circle can be anything
PATCHES = (6, 4)  # round and along; points in one patch may err together


@dataclass(frozen=True)
class SceneCylinder:
    """A cylinder and how well it is known.

    Attributes:
        centre: Middle of the wall that is seen [m], shape (3,).
        axis: Unit vector, shape (3,).
        radius_m, height_m: Of the wall; a given radius is not changed.
        inliers: Points of the thinned cloud on its wall.
        inlier_share: Of the part of the cloud that it was found in.
        covariance: Of (x, y, z, rotation about x, y, z) [m, rad], shape (6, 6); nothing is known of the rotation about the axis.
        radius_std_m: None if the radius was given.
    """

    centre: np.ndarray
    axis: np.ndarray
    radius_m: float
    height_m: float
    inliers: int
    inlier_share: float
    covariance: np.ndarray
    radius_std_m: float | None


def find_cylinder(
    points: np.ndarray, *, radius_m: float | None = None, height_m: float | None = None, viewpoint: np.ndarray | None = None, seed: int = 0
) -> SceneCylinder:
    """Find the one cylinder of a cloud.

    Args:
        points: Shape (n, 3) [m].
        radius_m: Known radius, or None to estimate it.
        height_m: Known height: walls that are much higher or lower are refused.
        viewpoint: Camera position [m]; then only the side that it can see counts as wall, not the inside of a hollow body. None: any side.
        seed: Of the random choices.

    Raises:
        VisionError: If there is none.
    """
    rng = np.random.default_rng(seed)
    thinned = voxel_filter(points, VOXEL_M)
    found = []
    for part in _parts(_without_planes(thinned, rng)):
        for _ in range(TRIES):
            candidate = ransac_cylinder(
                part, radius_m=radius_m, threshold_m=THRESHOLD_M, rng=rng, viewpoint=viewpoint, radius_limits_m=RADIUS_LIMITS_M
            )
            if candidate is None:
                continue
            fit = _refined(part, candidate[0], radius_m, viewpoint)
            score = _covered(part, fit, viewpoint)
            sound = RADIUS_LIMITS_M[0] <= fit.radius[0] <= RADIUS_LIMITS_M[1] and score >= MIN_INLIER_SHARE * len(part)
            if sound and (height_m is None or 0.3 * height_m < _extent(part, fit, viewpoint)[1] < 1.5 * height_m):
                found.append((score, part, fit))
    if not found:
        raise VisionError(
            f'no cylinder in {len(points)} points: none of their parts shows {360 // SECTORS * MIN_SECTORS} deg of a round wall'
        )
    _, part, fit = max(found, key=lambda f: f[0])
    return _described(part, fit, radius_m, viewpoint)


def plane_of(points: np.ndarray, rng: np.random.Generator, threshold_m: float = THRESHOLD_M) -> tuple[np.ndarray, np.ndarray]:
    """The plane with the most points: a point on it and its unit normal, (3,) each."""
    sample = points[rng.permutation(len(points))[:3000]]
    corners = sample[rng.integers(len(sample), size=(PLANE_HYPOTHESES, 3))]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    distance = np.abs(sample @ normals.T - np.einsum('ki,ki->k', corners[:, 0], normals))
    order = np.argsort(np.minimum(distance / threshold_m, 1).mean(axis=0))[:PLANES_REFINED]
    found = [_refined_plane(sample, corners[k, 0], normals[k], threshold_m) for k in order]
    point, normal = min(found, key=lambda f: np.minimum(np.abs((sample - f[0]) @ f[1]) / threshold_m, 1).mean())
    return _refined_plane(points, point, normal, threshold_m)


def _refined_plane(points, point, normal, threshold_m) -> tuple[np.ndarray, np.ndarray]:
    for _ in range(5):
        on = points[np.abs((points - point) @ normal) < threshold_m]
        if len(on) < 10:
            break
        point = on.mean(axis=0)
        offset = on - point
        normal = np.linalg.eigh(offset.T @ offset)[1][:, 0]
    return point, normal


def _without_planes(points: np.ndarray, rng) -> np.ndarray:
    whole = len(points)
    for _ in range(PLANES):
        if len(points) < MIN_PART:
            break
        point, normal = plane_of(points, rng)
        distance = (points - point) @ normal
        on = np.abs(distance) < THRESHOLD_M
        if on.sum() < PLANE_SHARE * whole or _bent(points[on] - point, normal):
            break
        points = points[np.abs(distance) > PLANE_BAND * THRESHOLD_M]
    return points


def _bent(offset: np.ndarray, normal: np.ndarray) -> bool:
    e1, e2 = perpendiculars(normal)
    x, y, height = offset @ e1, offset @ e2, offset @ normal
    terms = np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y])
    rest = height - terms @ np.linalg.lstsq(terms, height)[0]
    return rest.var() < (1 - BENT_SHARE) * height.var()


def _parts(points: np.ndarray) -> list[np.ndarray]:
    """Connected parts, largest first."""
    if len(points) == 0:
        return []
    cells = np.floor((points - points.min(axis=0)) / PART_GAP_M).astype(int)
    near = (cells < 600).all(axis=1)  # 3.6 m; a grid over anything larger would not fit into memory
    points, cells = points[near], cells[near]
    grid = np.zeros(cells.max(axis=0) + 1, bool)
    grid[tuple(cells.T)] = True
    labels, _ = label(grid, np.ones((3, 3, 3)))
    owner = labels[tuple(cells.T)]
    count = np.bincount(owner)
    return [points[owner == k] for k in np.argsort(-count)[:PARTS] if count[k] >= MIN_PART]


def _refined(points, start: Cylinders, radius_m, viewpoint) -> Cylinders:
    fit = start
    for cut in (2 * THRESHOLD_M, THRESHOLD_M):
        fit = optimise(points, fit, cut_m=cut, iterations=8, viewpoint=viewpoint, free_radius=radius_m is None)
    _, _, residual, on = _wall(points, fit, viewpoint)
    if not on.any():
        return fit
    cut = float(np.clip(TUKEY_SIGMAS * 1.4826 * np.median(np.abs(residual[on])), MIN_CUT_M, THRESHOLD_M))  # no farther than noise goes
    return optimise(points, fit, cut_m=cut, iterations=8, viewpoint=viewpoint, free_radius=radius_m is None)


def _wall(points, fit: Cylinders, viewpoint):
    """Axial coordinate, angle about the axis, residual and whether each point is on the wall, (n,) each."""
    axial, normal, residual = (part[0] for part in surface_frame(points, fit))
    e1, e2 = perpendiculars(fit.axis[0])
    on = np.abs(residual) < THRESHOLD_M
    if viewpoint is not None:
        on &= np.einsum('ni,ni->n', normal, viewpoint - points) > 0
    return axial, np.arctan2(normal @ e2, normal @ e1), residual, on


def _covered(points, fit, viewpoint) -> float:
    """Points on the wall, where no sector counts for more than twice the median one; 0 if too little of the circle is seen."""
    _, angle, _, on = _wall(points, fit, viewpoint)
    sector = np.bincount(((angle[on] + np.pi) / (2 * np.pi) * SECTORS).astype(int) % SECTORS, minlength=SECTORS)
    seen = sector[sector >= 5]
    return float(np.minimum(seen, 2 * np.median(seen)).sum()) if len(seen) >= MIN_SECTORS else 0.0


def _extent(points, fit, viewpoint) -> tuple[float, float, float]:
    """Middle of the wall along the axis from the fit's point, its height, and the middle's standard deviation [m]."""
    axial, angle, _, on = _wall(points, fit, viewpoint)
    low, high = np.percentile(axial[on], (1.0, 99.0))
    sector = ((angle[on] + np.pi) / (2 * np.pi) * SECTORS).astype(int) % SECTORS
    middles = [0.5 * np.sum(np.percentile(axial[on][sector == k], (2.0, 98.0))) for k in range(SECTORS) if (sector == k).sum() >= 10]
    spread = float(np.std(middles) / np.sqrt(len(middles))) if len(middles) > 2 else high - low
    return 0.5 * (low + high), float(high - low), max(spread, VOXEL_M / np.sqrt(12))


def _described(points, fit: Cylinders, radius_m, viewpoint) -> SceneCylinder:
    axial, angle, residual, on = _wall(points, fit, viewpoint)
    middle, height_m, along_std_m = _extent(points, fit, viewpoint)
    e1, e2 = perpendiculars(fit.axis[0])
    arm, weight = axial - middle, tukey(residual, THRESHOLD_M) * on
    across1, across2 = np.cos(angle), np.sin(angle)
    columns = [across1, across2, arm * across1, arm * across2] + ([np.ones_like(arm)] if radius_m is None else [])
    jacobian = np.column_stack(columns)
    inverse = np.linalg.inv(jacobian.T @ (jacobian * weight[:, None]))
    # points side by side err together: what a patch says counts once
    patch = ((angle + np.pi) / (2 * np.pi) * PATCHES[0] * 4).astype(int) * PATCHES[1]
    patch += np.clip(((arm / max(height_m, 1e-6) + 0.5) * PATCHES[1]).astype(int), 0, PATCHES[1] - 1)
    score = jacobian * (weight * residual)[:, None]
    sums = np.array([np.bincount(patch, column) for column in score.T]).T
    unknowns = inverse @ (sums.T @ sums) @ inverse
    spread = np.zeros((6, 4))
    spread[:3, 0], spread[:3, 1], spread[3:, 2], spread[3:, 3] = e1, e2, e2, -e1
    covariance = spread @ unknowns[:4, :4] @ spread.T
    axis = fit.axis[0]
    covariance[:3, :3] += along_std_m**2 * np.outer(axis, axis)
    covariance[3:, 3:] += np.pi**2 / 3 * np.outer(axis, axis)
    radius_std_m = float(np.sqrt(unknowns[4, 4])) if radius_m is None else None
    centre = fit.point[0] + middle * axis
    return SceneCylinder(centre, axis, float(fit.radius[0]), height_m, int(on.sum()), float(on.mean()), covariance, radius_std_m)
