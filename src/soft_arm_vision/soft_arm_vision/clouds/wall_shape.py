"""Deviation of a wall from the fitted cylinder, and the uncertainty of the radius by it.

The section of a body may be oval or lobed, its wall conical, barrelled or bent. The amplitudes of
these radial displacements are estimated together with the cylinder, each with a wide prior, and
their posterior is propagated to the radius. The radius of an oval is therefore uncertain, and so is
the radius of an arc too short to exclude an oval. One limit on this uncertainty rejects both.
"""

from dataclasses import dataclass

import numpy as np

from soft_arm_vision.clouds.cylinder import perpendiculars, tukey
from soft_arm_vision.clouds.scene_parts import Part
from soft_arm_vision.clouds.walls import (
    SIGMAS,
    TUKEY_SIGMAS,
    OnWall,
    Wall,
    derivatives,
    on_wall,
    scatter_m,
)

# Prior standard deviations in radii. Lobes: the curvature of a section varies by 10 %, and a lobe
# of n periods of amplitude a has (n^2 - 1) a of it.
LOBES = (2, 3)
CURVATURE = 0.1
BARREL, BEND, TAPER = 0.05, 0.05, 0.1  # at the ends
BULGES = 3  # the barrel and two directions of bend stand first
REACH = 0.12  # distance from the cylinder, in radii, of points that are used
STEPS = 15
MAX_SCATTER = (6, 0.015)  # times the noise of small patches, and of the radius
MIN_SHARE = 0.4  # of its part of the cloud
ALIGNED = 0.93  # cosine of the angle between normals of the points and of the wall: 21 deg
MIN_ALIGNED = 0.65  # of the normals
MIN_STD = 0.005  # of a radius that a known one is compared with
MAX_GROWTH = 1.14  # of the points on the wall if it may have a shape
MAX_RADIUS_STD = 0.05  # of the radius
MAX_OPEN_STD = 0.15  # of a known radius
MAX_OUT_OF_ROUND, MAX_BULGE = 0.045, 0.05  # of the radius
MAX_AXIS_STD_RAD = 0.2
RADIUS_SIGMAS = 3  # between a known radius and the wall's
GROUPS = (12, 4)  # round and along; points in one group may err together


@dataclass(frozen=True)
class Shape:
    """The shape of a wall.

    Attributes:
        covariance: Of shifts, tilts, radius and thickness of the fitted cylinder, as
            `derivatives` orders them; noise and shape.
        radius_error_m: Radius of the points minus the radius of the fitted cylinder.
        out_of_round, bulge: Root mean square of the displacements by taper and lobes, and by
            barrel and bend, which the radius hardly follows, of the radius.
        gained: Points that the shape explains, over those that the cylinder does.
    """

    covariance: np.ndarray
    radius_error_m: float
    out_of_round: float
    bulge: float
    gained: float


def displacements(at: OnWall, radius_m: float) -> np.ndarray:
    """Return radial displacements by the standard deviation of each amplitude (n, 8) [m]."""
    low, high = np.percentile(at.axial_m, (2, 98))  # its ends are mixed with their surroundings
    z = np.clip((2 * at.axial_m - low - high) / max(high - low, 1e-9), -1, 1)
    bulge = 1.5 * z * z - 0.5
    c, s = np.cos(at.angle_rad), np.sin(at.angle_rad)
    columns = [BARREL * bulge, BEND * bulge * c, BEND * bulge * s, TAPER * z]
    for n in LOBES:
        lobe = CURVATURE / (n * n - 1)
        columns += [lobe * np.cos(n * at.angle_rad), lobe * np.sin(n * at.angle_rad)]
    return radius_m * np.column_stack(columns)


def shape_of(at: OnWall, wall: Wall, sigma_m: float, floor_m: float) -> Shape:
    """Estimate the shape of a wall.

    Args:
        at: Points on the wall and about it.
        wall: The cylinder that fits them best.
        sigma_m: Scatter of the points on it [m].
        floor_m: Least scatter that is expected [m].
    """
    near = np.abs(at.residual_m) < max(2 * SIGMAS * sigma_m, REACH * wall.radius_m)
    at = OnWall(*(values[near] for values in vars(at).values()))
    own, other = derivatives(at, wall, True), displacements(at, wall.radius_m)
    both, prior = np.hstack([own, other]), np.r_[np.zeros(own.shape[1]), np.ones(other.shape[1])]
    cut_m, scale_m, x = REACH * wall.radius_m, sigma_m, np.zeros(len(prior))
    cut_m = max(cut_m, TUKEY_SIGMAS * sigma_m)
    for _ in range(STEPS):
        rest = at.residual_m - both @ x
        weight = tukey(rest, cut_m)
        whole = both.T @ (both * weight[:, None]) / scale_m**2 + np.diag(prior)
        whole += 1e-9 * np.diag(np.diag(whole) + 1)  # directions that no point determines
        x = np.linalg.solve(whole, both.T @ (weight * at.residual_m) / scale_m**2)
        rest = at.residual_m - both @ x
        scale_m = max(scatter_m(rest, cut_m), floor_m)
        cut_m = max(0.7 * cut_m, TUKEY_SIGMAS * scale_m)
    # Errors of the points of one group add up.
    middle = np.linalg.inv(whole)
    spread = middle @ (_moment(both, weight * rest / scale_m**2, at) + np.diag(prior)) @ middle
    size = own.shape[1]
    amplitude = x[size:]
    left = spread[size:, size:] + np.outer(amplitude, amplitude)
    weight = tukey(at.residual_m, TUKEY_SIGMAS * sigma_m)
    inverse = np.linalg.inv(own.T @ (own * weight[:, None]) + 1e-12 * np.eye(size))
    noise = inverse @ _moment(own, weight * rest, at) @ inverse
    moved = inverse @ own.T @ (other * weight[:, None])
    covariance = noise + moved @ left @ moved.T
    by_shape = (other * amplitude)[weight > 0] / wall.radius_m
    bulge, out_of_round = (
        float(np.sqrt(np.square(part.sum(axis=1)).mean()))
        for part in (by_shape[:, :BULGES], by_shape[:, BULGES:])
    )
    explained = (np.abs(rest) < SIGMAS * sigma_m).sum()
    return Shape(
        covariance,
        float((inverse @ own.T @ (weight * at.residual_m))[4]),
        out_of_round,
        bulge,
        float(explained / (np.abs(at.residual_m) < SIGMAS * sigma_m).sum()),
    )


def rejection_reason(
    part: Part, wall: Wall, shape: Shape, sigma_m: float, viewpoint: np.ndarray, free: bool
) -> tuple[int, str] | None:
    """Return why points are not the wall of a cylinder, with the stage of the check, or None.

    Args:
        part: The points.
        wall, shape: The cylinder that fits them best, and their shape.
        sigma_m: Their scatter about the cylinder [m].
        viewpoint: Camera position [m].
        free: Whether the radius was estimated.
    """
    mm, r = 1e3, wall.radius_m
    limit_m = float(np.hypot(MAX_SCATTER[0] * part.noise_m, MAX_SCATTER[1] * r))
    places = on_wall(part.places, wall, viewpoint)
    e1, e2 = perpendiculars(wall.axis)
    own = np.outer(np.cos(places.angle_rad), e1) + np.outer(np.sin(places.angle_rad), e2)
    near = np.abs(places.residual_m) < SIGMAS * sigma_m
    aligned = (np.abs(np.einsum('ni,ni->n', own, part.normals)) > ALIGNED)[near].mean()
    at = on_wall(part.points, wall, viewpoint)
    share = (np.abs(at.residual_m) < SIGMAS * sigma_m).mean()
    if sigma_m > limit_m or share < MIN_SHARE or not aligned >= MIN_ALIGNED:
        return 0, (
            f'the points do not gather on the best wall, of radius {mm * r:.1f} mm: they scatter '
            f'by {mm * sigma_m:.2f} mm ({mm * limit_m:.2f} mm are allowed), {100 * share:.0f} % of '
            f'its part of the cloud are on it ({100 * MIN_SHARE:.0f} % are needed), and '
            f'{100 * aligned:.0f} % of the surfaces there follow it ({100 * MIN_ALIGNED:.0f} %); '
            'crop the cloud to the cylinder' + ('' if free else ', or correct --radius-m')
        )
    if (
        shape.gained > MAX_GROWTH
        or shape.out_of_round > MAX_OUT_OF_ROUND
        or shape.bulge > MAX_BULGE
    ):
        return 1, (
            f'the best wall, of radius {mm * r:.1f} mm, is not a cylinder: oval, lobed or conical '
            f'by {100 * shape.out_of_round:.1f} % of the radius ({100 * MAX_OUT_OF_ROUND:g} % are '
            f'allowed), barrelled or bent by {100 * shape.bulge:.1f} % ({100 * MAX_BULGE:g} %), '
            f'and that shape holds {shape.gained:.2f} times its points ({MAX_GROWTH:g}); crop the '
            'cloud to what is round'
        )
    axis_std_rad = np.sqrt(np.linalg.eigvalsh(shape.covariance[2:4, 2:4])[-1])
    std_m = np.hypot(np.sqrt(shape.covariance[4, 4]), shape.out_of_round * r)
    most = MAX_RADIUS_STD if free else MAX_OPEN_STD
    if axis_std_rad > MAX_AXIS_STD_RAD or std_m > most * r:
        return 2, (
            f'the best wall leaves axis +- {np.degrees(axis_std_rad):.1f} deg and radius '
            f'{mm * r:.1f} +- {mm * std_m:.1f} mm open, {np.degrees(MAX_AXIS_STD_RAD):.1f} deg and '
            f'{mm * most * r:.1f} mm are allowed: show more of its circumference, or '
            + ('give --radius-m' if free else 'leave out clutter')
        )
    if not free and abs(shape.radius_error_m) > RADIUS_SIGMAS * max(std_m, MIN_STD * r):
        return 3, (
            f'the best wall has a radius of {mm * (r + shape.radius_error_m):.1f} +- '
            f'{mm * std_m:.1f} mm, not {mm * r:.1f} mm: correct --radius-m, or leave it out'
        )
    return None


def _moment(rows: np.ndarray, error: np.ndarray, at: OnWall) -> np.ndarray:
    """Return the covariance of sums of rows (n, k) by errors (n,) of points that err in groups."""
    count = GROUPS[0] * GROUPS[1]
    turn = _ranks(at.angle_rad, GROUPS[0])
    group: np.ndarray = turn * GROUPS[1]
    for k in range(GROUPS[0]):
        own = turn == k
        group[own] += _ranks(at.axial_m[own], GROUPS[1])
    summed = np.column_stack([np.bincount(group, c, count) for c in (rows * error[:, None]).T])
    return summed.T @ summed * count / (count - rows.shape[1])


def _ranks(values: np.ndarray, parts: int) -> np.ndarray:
    """Return in which of as many equal parts of the sorted values each one is."""
    rank: np.ndarray = np.empty(len(values), int)
    rank[np.argsort(values)] = np.arange(len(values)) * parts // max(len(values), 1)
    return rank
