"""Test whether a sphere or two planes explain the points of a cylinder better."""

import numpy as np

from soft_arm_vision.clouds.scene_parts import plane_of

# Mean square of the residuals in units of the threshold: 0.11 for noise of a third of the
# threshold, 0.33 for points that are spread evenly.
MAX_SPREAD = 0.2


def rival(points: np.ndarray, residual: np.ndarray, threshold_m: float) -> str | None:
    """Name the shape that explains a part of a cloud better than its cylinder, or return None.

    Args:
        points: Points of the part, shape (n, 3) [m].
        residual: Distances of the points from the cylinder [m], shape (n,).
        threshold_m: Distances count up to here [m]; what is nearer is on the wall.
    """
    on = np.abs(residual) < threshold_m
    own = _cost(residual[on], threshold_m)
    if own > MAX_SPREAD:
        return 'the points do not gather on the best wall'
    # A belt of a sphere is nearly a cylinder; the whole sphere is not.
    for some in (on, np.ones(len(points), bool)):
        if _cost(_off_sphere(points[some], threshold_m), threshold_m) < _cost(
            residual[some], threshold_m
        ):
            return 'the best wall is rather a ball'
    if _cost(_off_two_planes(points[on], threshold_m), threshold_m) < own:
        return 'the best wall is rather flat, or an edge between two flat faces'
    return None


def _cost(residual: np.ndarray, threshold_m: float) -> float:
    return float(np.minimum(np.square(residual / threshold_m), 1).mean())


def _off_sphere(points: np.ndarray, threshold_m: float) -> np.ndarray:
    """Return the distances to the sphere that fits best, by reweighted algebraic least squares."""
    middle = points.mean(axis=0)
    offset, weight = points - middle, np.ones(len(points))
    system, square = np.column_stack([2 * offset, np.ones(len(points))]), (offset**2).sum(axis=1)
    for _ in range(8):
        root = np.sqrt(weight)
        solution = np.linalg.lstsq(system * root[:, None], square * root)[0]
        radius_m = np.sqrt(max(solution[3] + solution[:3] @ solution[:3], 0.0))
        residual = np.linalg.norm(offset - solution[:3], axis=1) - radius_m
        weight = np.square(np.clip(1 - np.square(residual / (3 * threshold_m)), 1e-3, None))
    return residual


def _off_two_planes(points: np.ndarray, threshold_m: float) -> np.ndarray:
    """Return the distances to the nearer of two planes, found one after the other."""
    rest, distances = points, []
    for _ in range(2):
        if len(rest) < 10:
            break
        point, normal = plane_of(rest, threshold_m)
        distances.append(np.abs((points - point) @ normal))
        rest = rest[np.abs((rest - point) @ normal) > threshold_m]
    return np.min(distances, axis=0)
