"""Round walls: cylinders of one or two surfaces, from pairs of normals and by least squares."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from soft_arm_vision.clouds.cylinder import (
    EVEN_NOISE,
    normal_equations,
    perpendiculars,
    truncated_costs,
)
from soft_arm_vision.clouds.scene_parts import normals_of

NEIGHBOURS = (15, 40, 120)  # of a point, for its normal: small patches are noisy, large ones bent
SEEDS = 200  # points with a normal
PAIRS = 600  # of seeds, for each size of patch
SCORED = 1000  # points that a hypothesis is scored on
REFINED = 4  # best hypotheses of each size of patch
MIN_SINE = 0.25  # between two normals: nearly parallel ones say nothing of the axis
TUKEY_SIGMAS = 4.7
SIGMAS = 3.5  # a point that is nearer than these is on the wall
MAX_TILT_RAD = 0.3  # of one step
MIN_POINTS = 10  # on a wall, for a step
MAX_THICKNESS = 0.2  # of the radius
MIN_SIDE_SHARE = 0.1  # of the wall, or a side is not taken for one


@dataclass(frozen=True)
class Wall:
    """A point on the axis [m] (3,), the unit axis (3,), and the sizes of the wall.

    `radius_m` is the outer radius; the inside lies `thickness_m` below it, None if one surface
    explains the wall.
    """

    point: np.ndarray
    axis: np.ndarray
    radius_m: float
    thickness_m: float | None = None


@dataclass(frozen=True)
class OnWall:
    """Points in the coordinates of a wall, (n,) each.

    Attributes:
        axial_m: Coordinate along the axis from the wall's point.
        angle_rad: About the axis, zero at the first of `perpendiculars(axis)`.
        residual_m: Signed distance from the surface that the camera sees there.
        inside: Whether the camera sees the inside there.
    """

    axial_m: np.ndarray
    angle_rad: np.ndarray
    residual_m: np.ndarray
    inside: np.ndarray


def on_wall(points: np.ndarray, wall: Wall, viewpoint: np.ndarray) -> OnWall:
    """Return the points (n, 3) [m] in the wall's coordinates, seen from the viewpoint [m]."""
    offset = points - wall.point
    axial = offset @ wall.axis
    e1, e2 = perpendiculars(wall.axis)
    x, y = offset @ e1, offset @ e2
    distance = np.hypot(x, y)
    view = viewpoint - wall.point
    inside = x * (view @ e1) + y * (view @ e2) < distance**2
    residual = distance - wall.radius_m + np.where(inside, wall.thickness_m or 0.0, 0.0)
    return OnWall(axial, np.arctan2(y, x), residual, inside)


def derivatives(at: OnWall, wall: Wall, free_radius: bool) -> np.ndarray:
    """Return what residuals lose by two shifts, two tilts, the radius and the thickness.

    Columns of the sizes that are not free are left out, shape (n, 4 to 6).
    """
    c, s = np.cos(at.angle_rad), np.sin(at.angle_rad)
    columns = [c, s, at.axial_m * c, at.axial_m * s]
    columns += [np.ones_like(c)] * free_radius
    columns += [-at.inside.astype(float)] * (wall.thickness_m is not None)
    return np.column_stack(columns)


def step(
    points: np.ndarray, wall: Wall, viewpoint: np.ndarray, cut_m: float, free: list[bool]
) -> Wall:
    """Return the wall after one reweighted Gauss-Newton step (Tukey's biweight).

    Args:
        points, wall, viewpoint: As in `on_wall`.
        cut_m: Residual from which a point has no weight [m].
        free: Whether radius and thickness are estimated.
    """
    e1, e2 = perpendiculars(wall.axis)
    _, _, weight, _, matrix, gradient, middle = normal_equations(
        points, wall.point, e1, e2, wall.axis, wall.radius_m, wall.thickness_m or 0.0, viewpoint,
        EVEN_NOISE, cut_m, 0.0, np.inf,
    )  # fmt: skip
    if np.count_nonzero(weight) < MIN_POINTS:
        return wall
    matrix += 1e-9 * np.trace(matrix) * np.eye(6)
    unknowns = np.flatnonzero([True] * 4 + free)
    change = np.zeros(6)
    change[unknowns] = np.linalg.solve(matrix[np.ix_(unknowns, unknowns)], gradient[unknowns])
    change[:2] += middle * change[2:4]  # the axis turns about the points' middle
    largest = np.repeat([wall.radius_m, MAX_TILT_RAD, 0.5 * wall.radius_m], 2)
    change = np.clip(change, -largest, largest)
    axis = wall.axis + change[2] * e1 + change[3] * e2
    return Wall(
        wall.point + middle * wall.axis + change[0] * e1 + change[1] * e2,
        axis / np.linalg.norm(axis),
        max(wall.radius_m + float(change[4]), 1e-4),
        None if wall.thickness_m is None else wall.thickness_m + float(change[5]),
    )


def scatter_m(residual: np.ndarray, cut_m: float) -> float:
    """Return the robust standard deviation of the residuals below a cut."""
    near = np.abs(residual[np.abs(residual) < cut_m])
    return 1.4826 * float(np.median(near)) if len(near) else cut_m


def settle(
    points: np.ndarray,
    wall: Wall,
    viewpoint: np.ndarray,
    start_m: float,
    floor_m: float,
    free: list[bool],
) -> tuple[Wall, float]:
    """Refine a wall until it stands still.

    Args:
        points, wall, viewpoint: As in `on_wall`.
        start_m: Cut of the first steps [m].
        floor_m: Least noise that is expected [m]: the cut follows the residuals down to this.
        free: Whether radius and thickness are estimated.

    Returns:
        The wall, and the scatter of the points on it [m].
    """
    sigma_m = start_m / TUKEY_SIGMAS
    for k in range(20):
        moved = step(points, wall, viewpoint, TUKEY_SIGMAS * sigma_m, free)
        still = np.linalg.norm(np.cross(moved.point - wall.point, wall.axis)) < 1e-5
        wall = moved
        if k >= 3:
            residual = on_wall(points, wall, viewpoint).residual_m
            sigma_m = max(scatter_m(residual, TUKEY_SIGMAS * sigma_m), floor_m)
        if still and k > 5:
            break
    return wall, sigma_m


def two_sided(
    points: np.ndarray,
    wall: Wall,
    viewpoint: np.ndarray,
    start_m: float,
    floor_m: float,
    free_radius: bool,
) -> tuple[Wall, float]:
    """`settle`, and again with a thickness if outside and inside of a hollow body are visible."""
    one = settle(points, wall, viewpoint, start_m, floor_m, [free_radius, False])
    at = on_wall(points, one[0], viewpoint)
    near = np.abs(at.residual_m) < start_m
    share = at.inside[near].mean() if near.any() else 0.0
    if not MIN_SIDE_SHARE < share < 1 - MIN_SIDE_SHARE:
        return one
    hollow = replace(one[0], thickness_m=0.0)
    two = settle(points, hollow, viewpoint, start_m, floor_m, [free_radius, True])
    thickness_m = two[0].thickness_m or 0.0
    return two if 0 < thickness_m < MAX_THICKNESS * two[0].radius_m else one


def hypotheses(
    points: np.ndarray,
    viewpoint: np.ndarray,
    threshold_m: float,
    radius_m: float | None,
    limits_m: tuple[float, float],
    rng: np.random.Generator,
    patches: tuple[int, ...] = NEIGHBOURS,
) -> list[Wall]:
    """Return the walls through pairs of oriented points that hold the most points (RANSAC).

    Args:
        points, viewpoint: As in `on_wall`.
        threshold_m: Distance from the wall up to which a point counts.
        radius_m: Known radius, or None.
        limits_m: Radii that are sought if it is not known.
        rng: Random numbers.
        patches: Numbers of neighbours that give a point's normal.
    """
    tree, found = cKDTree(points), []
    scored = points[rng.permutation(len(points))[:SCORED]]
    for neighbours in patches:
        seeds = points[rng.permutation(len(points))[:SEEDS]]
        normals = normals_of(points[tree.query(seeds, k=min(neighbours, len(points)))[1]])
        towards = np.einsum('ni,ni->n', normals, viewpoint - seeds)
        normals *= np.where(towards < 0, -1.0, 1.0)[:, None]
        walls = _through_pairs(seeds, normals, radius_m, limits_m, rng)
        if walls is None:
            continue
        point, axis, radius = walls
        cost = truncated_costs(scored, point, axis, radius, threshold_m)
        found += [Wall(point[k], axis[k], float(radius[k])) for k in np.argsort(cost)[:REFINED]]
    return found


def _through_pairs(
    seeds: np.ndarray,
    normals: np.ndarray,
    radius_m: float | None,
    limits_m: tuple[float, float],
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    i, j = rng.integers(len(seeds), size=(2, PAIRS))
    p1, p2, n1 = seeds[i], seeds[j], normals[i]
    # Normals to one camera agree on one surface; every other pair may be of both sides.
    n2 = normals[j] * np.where(np.arange(PAIRS) % 3 == 0, -1.0, 1.0)[:, None]
    axis = np.cross(n1, n2)
    sine = np.linalg.norm(axis, axis=1)
    keep = sine > MIN_SINE
    p1, p2, n1, n2, axis = p1[keep], p2[keep], n1[keep], n2[keep], axis[keep] / sine[keep, None]
    gap = p2 - p1
    gap -= np.einsum('ni,ni->n', gap, axis)[:, None] * axis  # in the cross-section
    turn = n2 - n1
    signed = np.einsum('ni,ni->n', gap, turn) / np.einsum('ni,ni->n', turn, turn)
    if radius_m is not None:
        signed = np.copysign(radius_m, signed)
    point = 0.5 * (p1 + p2 - signed[:, None] * (n1 + n2))
    keep = np.linalg.norm(gap - signed[:, None] * turn, axis=1) < 0.5 * np.abs(signed)
    keep &= (np.abs(signed) >= limits_m[0]) & (np.abs(signed) <= limits_m[1])
    return (point[keep], axis[keep], np.abs(signed[keep])) if keep.any() else None
