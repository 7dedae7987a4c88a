"""Find one cylinder in any cloud.

Planes are removed, the rest is split into connected parts, and the part that holds the best
cylinder is fitted.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from soft_arm_vision.clouds.cloud import voxel_filter
from soft_arm_vision.clouds.cylinder import (
    EVEN_NOISE,
    Cylinders,
    gauss_newton,
    normal_equations,
    optimise,
    perpendiculars,
    surface_frame,
)
from soft_arm_vision.clouds.cylinder_fit import ransac_cylinder
from soft_arm_vision.clouds.rival_shapes import rival
from soft_arm_vision.clouds.scene_parts import (
    MIN_PART,
    PART_GAP_M,
    connected_parts,
    noise_m,
    without_planes,
)
from soft_arm_vision.errors import VisionError

THRESHOLDS_M = (0.003, 0.01)  # of an inlier: three sigmas of the cloud's noise, within these
VOXELS_M = (0.002, 0.005)  # 1.5 sigmas, within these
LARGEST_M = 50.0  # a larger cloud is not in metres; what lies further from its middle is stray
TUKEY_SIGMAS = 4.7
MIN_CUT_M = 0.001
RADIUS_LIMITS_M = (0.005, 0.3)
TRIES = 3  # in each part
MIN_INLIER_SHARE = 0.2
SECTORS = 36  # of the circle
MIN_SECTORS = 6  # 60 deg: less of a circle can be anything
GROUPS = (12, 4)  # round and along; points in one group may err together
MIN_SIDE_SHARE = 0.1  # of the wall, or a side is not taken for one
SYSTEMATIC_SPACINGS = 0.3  # see `_systematic`
MAX_AXIS_STD_RAD = 0.2
MAX_RADIUS_STD = 0.25  # of the radius


@dataclass(frozen=True)
class SceneCylinder:
    """A cylinder and its uncertainty.

    Attributes:
        centre: Middle of the wall that is seen [m], shape (3,).
        axis: Unit vector, shape (3,).
        radius_m, height_m: Size of the wall; a given radius is not changed. If outside and inside
            of a hollow body are visible, the radius is that of the middle of the wall.
        inliers: Points of the thinned cloud on the wall.
        inlier_share: Share of these in the part of the cloud that holds the cylinder.
        covariance: Covariance of (x, y, z, rotation about x, y, z) [m, rad], shape (6, 6); the
            rotation about the axis is unknown.
        radius_std_m: Standard deviation of the radius; None if the radius was given.
        thickness_m: Thickness of the wall of a hollow body whose outside and inside are visible;
            None for any other body.
    """

    centre: np.ndarray
    axis: np.ndarray
    radius_m: float
    height_m: float
    inliers: int
    inlier_share: float
    covariance: np.ndarray
    radius_std_m: float | None
    thickness_m: float | None


@dataclass(frozen=True)
class _Part:
    points: np.ndarray
    threshold_m: float
    spacing_m: float  # of the points as they came, about a pixel of a camera
    radius_m: float | None  # if it is known
    viewpoint: np.ndarray


@dataclass(frozen=True)
class _Wall:
    fit: Cylinders
    thickness_m: float | None  # None: one surface, solid or thin


def find_cylinder(
    points: np.ndarray,
    *,
    radius_m: float | None = None,
    height_m: float | None = None,
    viewpoint: np.ndarray | None = None,
    seed: int = 0,
) -> SceneCylinder:
    """Find the one cylinder of a cloud.

    Args:
        points: Shape (n, 3) [m].
        radius_m: Known radius, or None to estimate it.
        height_m: Known height: walls that are much higher or lower are refused.
        viewpoint: Camera position [m]: it tells the outside of a hollow body from its inside. None:
            the origin.
        seed: Of the random choices.

    Raises:
        VisionError: If there is none, if what there is does not determine it, if a pipe is seen
            from inside, if the radius is outside
            `RADIUS_LIMITS_M`, or if the cloud is not in metres.
    """
    if radius_m is not None and not RADIUS_LIMITS_M[0] <= radius_m <= RADIUS_LIMITS_M[1]:
        raise VisionError(
            'radius {:.4g} m is outside [{:g}, {:g}] m, in which cylinders are sought'.format(
                radius_m, *RADIUS_LIMITS_M
            )
        )
    if len(points) < MIN_PART:
        raise VisionError(f'the cloud has {len(points)} points, at least {MIN_PART} are needed')
    low, middle, high = np.percentile(points, (25, 50, 75), axis=0)
    across_m = 2 * float(np.linalg.norm(high - low))  # of its denser half: strays may be anywhere
    if across_m > LARGEST_M:
        raise VisionError(
            f'the cloud is {across_m:.4g} m across, more than {LARGEST_M:g} m: scale it to '
            'metres (is it in millimetres?)'
        )
    points = points[np.linalg.norm(points - middle, axis=1) < LARGEST_M]
    rng = np.random.default_rng(seed)
    sigma_m = noise_m(voxel_filter(points, VOXELS_M[0]), rng) or 0.0
    threshold_m = float(np.clip(3 * sigma_m, *THRESHOLDS_M))
    thinned = voxel_filter(points, float(np.clip(1.5 * sigma_m, *VOXELS_M)))
    camera = np.zeros(3) if viewpoint is None else np.asarray(viewpoint, float)
    everything, found = cKDTree(points), []
    parts = connected_parts(
        without_planes(thinned, rng, threshold_m), max(PART_GAP_M, 3 * threshold_m)
    )
    for points_of_part in parts:
        # Each point has four around it.
        spacing_m = np.median(
            everything.query(points_of_part[rng.permutation(len(points_of_part))[:200]], k=5)[0][
                :, 4
            ]
        ) / np.sqrt(1.5)
        part = _Part(points_of_part, threshold_m, float(spacing_m), radius_m, camera)
        found += [(score, part, wall) for score, wall in _candidates(part, height_m, rng)]
    if not parts:
        raise VisionError(
            f'no cylinder in {len(points)} points: without planes no part of {MIN_PART} '
            'points is left; come nearer, or crop'
        )
    reason = f'none of their parts shows {360 // SECTORS * MIN_SECTORS} deg of a round wall'
    for _, part, wall in sorted(found, key=lambda f: -f[0]):
        other = _pipe(part, wall, len(thinned)) or rival(
            part.points, _on_wall(part, wall)[2], part.threshold_m
        )
        if other is None:
            described = _described(part, wall)
            uncertain = _uncertain(described)
            if uncertain is None:
                return described
            other = uncertain
        reason = other if reason.startswith('none') else reason
    raise VisionError(f'no cylinder in {len(points)} points: {reason}')


def _candidates(
    part: _Part, height_m: float | None, rng: np.random.Generator
) -> list[tuple[float, _Wall]]:
    found = []
    for _ in range(TRIES):
        start = ransac_cylinder(
            part.points,
            radius_m=part.radius_m,
            threshold_m=part.threshold_m,
            rng=rng,
            viewpoint=None,
            radius_limits_m=RADIUS_LIMITS_M,
        )
        if start is None:
            continue
        wall = _refined(part, start[0])
        score = _covered(part, wall)
        sound = RADIUS_LIMITS_M[0] <= wall.fit.radius[0] <= RADIUS_LIMITS_M[
            1
        ] and score >= MIN_INLIER_SHARE * len(part.points)
        if sound and (height_m is None or 0.3 * height_m < _extent(part, wall)[1] < 1.5 * height_m):
            found.append((score, wall))
    return found


def _pipe(part: _Part, wall: _Wall, points: int) -> str | None:
    on = _on_wall(part, wall)[3]
    if _inside(part, wall)[on].mean() < 1 - MIN_SIDE_SHARE or 2 * on.sum() > points:
        return None
    return (
        'the best wall is seen from its inside, as that of a pipe, and holds '
        f'{100 * on.sum() / points:.0f} % of the points only: its '
        'radius would be a guess; crop the cloud to the cylinder, and give the camera with '
        '--viewpoint-m if it is not at the origin'
    )


def _uncertain(found: SceneCylinder) -> str | None:
    axis_std_rad = float(np.sqrt(np.linalg.eigvalsh(found.covariance[3:, 3:])[1]))
    radius_std_m = found.radius_std_m or 0.0
    if axis_std_rad < MAX_AXIS_STD_RAD and radius_std_m < MAX_RADIUS_STD * found.radius_m:
        return None
    return (
        f'the best wall is too small for its noise, axis +- {np.degrees(axis_std_rad):.0f} '
        'deg and radius '
        f'{1e3 * found.radius_m:.0f} +- {1e3 * radius_std_m:.0f} mm: show more of it'
    )


def _refined(part: _Part, start: Cylinders) -> _Wall:
    fit, free = start, part.radius_m is None
    for cut in (2 * part.threshold_m, part.threshold_m):
        fit = optimise(part.points, fit, cut_m=cut, iterations=8, viewpoint=None, free_radius=free)
    one = _settled(part, _Wall(fit, None))
    two = _settled(part, _Wall(one.fit, 0.0)) if _both_sides(part, one) else one
    return two if two.thickness_m is not None and two.thickness_m > 0 else one


def _settled(part: _Part, wall: _Wall) -> _Wall:
    """Continue Gauss-Newton, with a cut that follows the noise, until the axis stands still."""
    fit, thickness_m = wall.fit, wall.thickness_m
    for _ in range(12):
        _, _, residual, on = _on_wall(part, _Wall(fit, thickness_m))
        if on.sum() < 10:
            break
        noise_m = 1.4826 * np.median(np.abs(residual[on]))
        cut_m = float(np.clip(TUKEY_SIGMAS * noise_m, MIN_CUT_M, part.threshold_m))
        point, axis, radius, thickness = gauss_newton(
            part.points, fit.point[0], fit.axis[0], fit.radius[0], thickness_m or 0.0,
            part.radius_m is None, thickness_m is not None, cut_m, 1, part.viewpoint, False,
        )  # fmt: skip
        offset = point - fit.point[0]
        moved_m = np.linalg.norm(offset - offset @ axis * axis)
        fit = Cylinders(point[None], axis[None], np.array([radius]))
        thickness_m = None if thickness_m is None else thickness
        if moved_m < 1e-6:
            break
    return _Wall(fit, thickness_m)


def _inside(part: _Part, wall: _Wall) -> np.ndarray:
    """Which points the camera sees through the mouth of a hollow body."""
    normal = surface_frame(part.points, wall.fit)[1][0]
    return np.einsum('ni,ni->n', normal, part.viewpoint - part.points) < 0


def _both_sides(part: _Part, wall: _Wall) -> bool:
    on = _on_wall(part, wall)[3]
    share = _inside(part, wall)[on].mean() if on.any() else 0.0
    return MIN_SIDE_SHARE < share < 1 - MIN_SIDE_SHARE


def _on_wall(part: _Part, wall: _Wall) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return axial coordinates, angles about the axis, residuals and inliers, (n,) each."""
    axial, normal, residual = (found[0] for found in surface_frame(part.points, wall.fit))
    e1, e2 = perpendiculars(wall.fit.axis[0])
    if wall.thickness_m is not None:
        residual = residual + np.where(_inside(part, wall), wall.thickness_m, 0.0)
    return (
        axial,
        np.arctan2(normal @ e2, normal @ e1),
        residual,
        np.abs(residual) < part.threshold_m,
    )


def _covered(part: _Part, wall: _Wall) -> float:
    """Return the number of points on the wall, 0 if too little of the circle is visible.

    No sector counts for more than twice the sixth fullest.
    """
    _, angle, _, on = _on_wall(part, wall)
    sector = np.bincount(
        ((angle[on] + np.pi) / (2 * np.pi) * SECTORS).astype(int) % SECTORS, minlength=SECTORS
    )
    least = np.sort(sector)[-MIN_SECTORS]  # of the fullest ones
    return float(np.minimum(sector, 2 * least).sum()) if least >= 5 else 0.0


def _extent(part: _Part, wall: _Wall) -> tuple[float, float, float]:
    """Return middle, height and standard deviation of the middle of the wall along its axis [m]."""
    axial, angle, _, on = _on_wall(part, wall)
    low, high = np.percentile(axial[on], (1.0, 99.0))
    sector = ((angle[on] + np.pi) / (2 * np.pi) * SECTORS).astype(int) % SECTORS
    middles = [
        0.5 * np.sum(np.percentile(axial[on][sector == k], (2.0, 98.0)))
        for k in range(SECTORS)
        if (sector == k).sum() >= 10
    ]
    spread = float(np.std(middles) / np.sqrt(len(middles))) if len(middles) > 2 else high - low
    return 0.5 * (low + high), float(high - low), max(spread, VOXELS_M[0] / np.sqrt(12))


def _described(part: _Part, wall: _Wall) -> SceneCylinder:
    axis, on = wall.fit.axis[0], _on_wall(part, wall)[3]
    middle, height_m, along_std_m = _extent(part, wall)
    centre = wall.fit.point[0] + middle * axis
    wall = replace(wall, fit=Cylinders(centre[None], axis[None], wall.fit.radius))
    unknowns = _unknowns(part, wall)
    unknowns += np.diag(np.square(_systematic(part, height_m, len(unknowns))))
    e1, e2 = perpendiculars(axis)
    spread = np.zeros((6, 4))
    spread[:3, 0], spread[:3, 1], spread[3:, 2], spread[3:, 3] = e1, e2, e2, -e1
    covariance = spread @ unknowns[:4, :4] @ spread.T
    covariance[:3, :3] += along_std_m**2 * np.outer(axis, axis)
    covariance[3:, 3:] += np.pi**2 / 3 * np.outer(axis, axis)
    radius_m, radius_std_m = float(wall.fit.radius[0]), None
    if part.radius_m is None:  # the radius of the middle of the wall
        radius_m -= 0.5 * (wall.thickness_m or 0.0)
        share = np.array([1.0, -0.5])[: len(unknowns) - 4]
        radius_std_m = float(np.sqrt(share @ unknowns[4:, 4:] @ share))
    return SceneCylinder(
        centre,
        axis,
        radius_m,
        height_m,
        int(on.sum()),
        float(on.mean()),
        covariance,
        radius_std_m,
        wall.thickness_m,
    )


def _systematic(part: _Part, height_m: float, count: int) -> np.ndarray:
    """Return the standard deviations that no number of points reduces.

    A camera displaces edges and slopes by a fraction of a pixel.
    """
    shift_m = SYSTEMATIC_SPACINGS * part.spacing_m
    return np.array([shift_m, shift_m, *2 * [2 * shift_m / height_m], shift_m, shift_m][:count])


def _unknowns(part: _Part, wall: _Wall) -> np.ndarray:
    """Return the covariance of shifts, tilts and, where free, outer radius and thickness."""
    fit, (e1, e2) = wall.fit, perpendiculars(wall.fit.axis[0])
    rows, residual, weight, *_ = normal_equations(
        part.points, fit.point[0], e1, e2, fit.axis[0], fit.radius[0], wall.thickness_m or 0.0,
        part.viewpoint, EVEN_NOISE, part.threshold_m, False, 0.0, np.inf,
    )  # fmt: skip
    free = [0, 1, 2, 3, *[4] * (part.radius_m is None), *[5] * (wall.thickness_m is not None)]
    axial, angle, _, on = _on_wall(part, wall)
    low, high = np.percentile(axial[on], (1.0, 99.0))
    group = _groups(angle, (axial - low) / max(high - low, 1e-6))
    return _jackknife(rows[:, free], weight, residual, group)


def _groups(angle: np.ndarray, along: np.ndarray) -> np.ndarray:
    row = np.clip((along * GROUPS[1]).astype(int), 0, GROUPS[1] - 1)
    return ((angle + np.pi) / (2 * np.pi) * GROUPS[0]).astype(int) % GROUPS[0] * GROUPS[1] + row


def _jackknife(
    jacobian: np.ndarray, weight: np.ndarray, residual: np.ndarray, group: np.ndarray
) -> np.ndarray:
    """Return the covariance of weighted least squares by the jackknife.

    One group of points after the other is left out, with one Gauss-Newton step each.
    """
    weighted = jacobian * weight[:, None]
    whole, moved = jacobian.T @ weighted, []
    for k in np.unique(group[weight > 0]):
        own = group == k
        rest = whole - jacobian[own].T @ weighted[own]
        rest += 1e-6 * np.diag(np.diag(whole))  # one group may be all that shows a direction
        moved.append(np.linalg.solve(rest, weighted[own].T @ residual[own]))
    moved = np.array(moved) - np.mean(moved, axis=0)
    return moved.T @ moved * (len(moved) - 1) / len(moved)
