"""Find one cylinder in any cloud.

A cylinder is sought in the whole cloud, then, without planes, in each of its connected parts. The
wall that holds the most points and looks like one is the answer; if none does, the reason is.
"""

from dataclasses import dataclass

import numpy as np

from soft_arm_vision.clouds.cylinder import perpendiculars
from soft_arm_vision.clouds.scene_parts import (
    GAP_M,
    GAP_SPACINGS,
    MIN_PART,
    Part,
    connected_parts,
    open3d_cloud,
    part_of,
    without_planes,
)
from soft_arm_vision.clouds.wall_shape import Shape, rejection_reason, shape_of
from soft_arm_vision.clouds.walls import (
    SIGMAS,
    OnWall,
    Wall,
    hypotheses,
    on_wall,
    settle,
    two_sided,
)
from soft_arm_vision.errors import VisionError

VOXELS_M = (3e-4, 2e-3)  # a share of the cloud's size, within these
VOXEL_SHARE = 1 / 80
THRESHOLDS_M = (0.003, 0.02)  # of a plane: three sigmas of the cloud's noise, within these
STARTS = (4, 12)  # first thresholds [standard deviations of patches]; noise may be larger
MIN_START = 0.03  # of the radius
QUICK_POINTS = 1000
SAME_COSINE = 0.995  # between the axes of duplicates
MIN_NOISE_M = 1e-4
MAX_EXTENT_M = 50.0  # a larger cloud is not in metres; points farther away are outliers
RADIUS_LIMITS_M = (0.005, 3.0)
GROUPS = 12  # sectors whose ends give the uncertainty of the height
SYSTEMATIC_SPACINGS = 0.1  # a camera displaces edges and slopes by this fraction of a pixel
MAX_POINTS = 200_000  # after thinning
NO_WALL = 'no two of its places make a round wall'


@dataclass(frozen=True)
class SceneCylinder:
    """A cylinder and its uncertainty.

    Attributes:
        centre: Middle of the wall that is seen [m], shape (3,).
        axis: Unit vector, shape (3,).
        radius_m, height_m: Size of the wall; a given radius is not changed. If outside and inside
            of a hollow body are visible, the radius of the middle of the wall.
        inliers: Points of the thinned cloud on the wall.
        inlier_share: Share of these in the part of the cloud that holds the cylinder.
        covariance: Covariance of (x, y, z, rotation about x, y, z) [m, rad], shape (6, 6); the
            rotation about the axis is unknown.
        radius_std_m: Standard deviation of the radius; None if the radius was given.
        thickness_m: Thickness of the wall of a hollow body whose outside and inside are visible;
            None for any other body.
        seen_from: 'outside', 'inside' (a pipe) or 'both'.
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
    seen_from: str


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
        radius_m: Known radius of the outermost surface, or None to estimate it.
        height_m: Known height: walls that are much higher or lower are rejected.
        viewpoint: Camera position [m], which separates outside and inside of a hollow body. None:
            the origin.
        seed: Of the random choices.

    Raises:
        VisionError: If there is none, if what there is does not determine it or contradicts the
            known radius, if that is outside `RADIUS_LIMITS_M`, or if the cloud is not in metres.
    """
    if radius_m is not None and not RADIUS_LIMITS_M[0] <= radius_m <= RADIUS_LIMITS_M[1]:
        raise VisionError(
            'radius {:.4g} m is outside [{:g}, {:g}] m, in which cylinders are sought'.format(
                radius_m, *RADIUS_LIMITS_M
            )
        )
    camera = np.zeros(3) if viewpoint is None else np.asarray(viewpoint, float)
    rng, (points, across_m) = np.random.default_rng(seed), _usable(points, camera)
    voxel_m = float(np.clip(VOXEL_SHARE * across_m, *VOXELS_M))
    thinned = np.asarray(open3d_cloud(points).voxel_down_sample(voxel_m).points)
    thinned = thinned[rng.permutation(len(thinned))[:MAX_POINTS]]
    whole = part_of(thinned, len(thinned), rng)
    threshold_m = float(np.clip(3 * whole.noise_m, *THRESHOLDS_M))
    rest = without_planes(thinned, rng, threshold_m)
    parts = connected_parts(rest, max(GAP_M, 3 * threshold_m, GAP_SPACINGS * whole.spacing_m))
    if len(rest) == len(thinned) and len(parts) == 1:
        parts = []  # the whole cloud
    found: list[tuple[float, Part, Wall, float]] = []
    for part in [whole, *(part_of(some, len(thinned), rng) for some in parts)]:
        found += [
            (score, part, wall, sigma_m)
            for score, wall, sigma_m in _walls(part, radius_m, camera, rng)
        ]
    rejected: list[tuple[int, str]] = []
    for _, part, wall, sigma_m in sorted(found, key=lambda f: -f[0]):
        shape = shape_of(
            on_wall(part.points, wall, camera), wall, sigma_m, max(part.noise_m, MIN_NOISE_M)
        )
        reason = rejection_reason(part, wall, shape, sigma_m, camera, radius_m is None)
        if reason is None:
            described = _described(part, wall, sigma_m, shape, camera, radius_m is None)
            reason = _oversized(described, height_m)
        if reason is None:
            return described
        rejected.append(reason)
    why = max(rejected, key=lambda r: r[0])[1] if rejected else NO_WALL
    raise VisionError(f'no cylinder in {len(points)} points: {why}')


def _usable(points: np.ndarray, camera: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the points that a camera can have seen, without strays, and their extent [m]."""
    points = np.asarray(points, float)
    points = points[np.isfinite(points).all(axis=1)]
    points = points[(points != camera).any(axis=1) & points.any(axis=1)]  # pixels without depth
    if len(points) < MIN_PART:
        raise VisionError(f'the cloud has {len(points)} points, at least {MIN_PART} are needed')
    low, middle, high = np.percentile(points, (25, 50, 75), axis=0)
    across_m = 2 * float(np.linalg.norm(high - low))  # of its denser half: strays may be anywhere
    if across_m > MAX_EXTENT_M:
        raise VisionError(
            f'the cloud is {across_m:.4g} m across, more than {MAX_EXTENT_M:g} m: give '
            '--unit mm if it is in millimetres, or crop it'
        )
    return points[np.linalg.norm(points - middle, axis=1) < MAX_EXTENT_M], across_m


def _walls(
    part: Part, radius_m: float | None, camera: np.ndarray, rng: np.random.Generator
) -> list[tuple[float, Wall, float]]:
    """Return score, wall and scatter of the best walls of a part."""
    found, free = [], radius_m is None
    some, floor_m = part.points[:QUICK_POINTS], max(part.noise_m, MIN_NOISE_M)
    for sigmas in STARTS:
        kept: list[Wall] = []
        for wall in hypotheses(
            part.points, camera, sigmas * floor_m, radius_m, RADIUS_LIMITS_M, rng
        ):
            begin_m = max(sigmas * floor_m, MIN_START * wall.radius_m)
            wall, sigma_m = settle(some, wall, camera, begin_m, floor_m, [free, False])
            if any(_same(wall, other) for other in kept):
                continue
            kept.append(wall)
            begin_m = max(STARTS[0] * sigma_m, MIN_START * wall.radius_m)
            wall, sigma_m = two_sided(part.points, wall, camera, begin_m, floor_m, free)
            at = on_wall(part.points, wall, camera)
            count = (np.abs(at.residual_m) < SIGMAS * sigma_m).sum()
            sound = RADIUS_LIMITS_M[0] <= wall.radius_m <= RADIUS_LIMITS_M[1]
            if sound and count >= MIN_PART // 2:
                found.append((count * part.share / len(part.points), wall, sigma_m))
    return found


def _same(one: Wall, other: Wall) -> bool:
    offset = np.cross(other.point - one.point, one.axis)
    near_m = 0.05 * one.radius_m
    return (
        abs(one.radius_m - other.radius_m) < near_m
        and abs(one.axis @ other.axis) > SAME_COSINE
        and float(np.linalg.norm(offset)) < near_m
    )


def _oversized(found: SceneCylinder, height_m: float | None) -> tuple[int, str] | None:
    if height_m is None or 0.3 * height_m < found.height_m < 1.5 * height_m:
        return None
    return 9, (
        f'the best wall is {1e3 * found.height_m:.1f} mm high, not {1e3 * height_m:.1f} mm as '
        '--height-m says, with 30 to 150 % of it allowed: crop the cloud to the cylinder'
    )


def _extent(at: OnWall) -> tuple[float, float, float]:
    """Return middle, height and standard deviation of the middle of the wall along its axis [m]."""
    low, high = np.percentile(at.axial_m, (1.0, 99.0))
    turn = np.round((at.angle_rad + np.pi) / (2 * np.pi) * GROUPS).astype(int) % GROUPS
    middles = [
        0.5 * np.sum(np.percentile(at.axial_m[turn == k], (2.0, 98.0)))
        for k in range(GROUPS)
        if (turn == k).sum() >= 10
    ]
    spread = float(np.std(middles) / np.sqrt(len(middles))) if len(middles) > 2 else high - low
    return 0.5 * (low + high), float(high - low), max(spread, VOXELS_M[1] / np.sqrt(12))


def _described(
    part: Part, wall: Wall, sigma_m: float, shape: Shape, camera: np.ndarray, free: bool
) -> SceneCylinder:
    at = on_wall(part.points, wall, camera)
    near = np.abs(at.residual_m) < SIGMAS * sigma_m
    at = OnWall(*(values[near] for values in vars(at).values()))
    middle, height_m, along_std_m = _extent(at)
    unknowns, to_middle = shape.covariance, np.eye(len(shape.covariance))
    to_middle[[0, 1], [2, 3]] = middle
    unknowns = to_middle @ unknowns @ to_middle.T
    shift_m = SYSTEMATIC_SPACINGS * part.spacing_m
    tilt_rad = 2 * shift_m / height_m
    unknowns += np.diag(
        np.square([shift_m, shift_m, tilt_rad, tilt_rad, shift_m, shift_m][: len(unknowns)])
    )
    if not free:  # remaining parameters
        unknowns -= np.outer(unknowns[4], unknowns[4]) / unknowns[4, 4]
    e1, e2 = perpendiculars(wall.axis)
    spread = np.zeros((6, 4))
    spread[:3, 0], spread[:3, 1], spread[3:, 2], spread[3:, 3] = e1, e2, e2, -e1
    covariance = spread @ unknowns[:4, :4] @ spread.T
    covariance[:3, :3] += along_std_m**2 * np.outer(wall.axis, wall.axis)
    covariance[3:, 3:] += np.pi**2 / 3 * np.outer(wall.axis, wall.axis)
    radius_m, radius_std_m = wall.radius_m, None
    if free:  # the radius of the middle of the wall
        radius_m -= 0.5 * (wall.thickness_m or 0.0)
        share = np.array([1.0, -0.5])[: len(unknowns) - 4]
        radius_std_m = float(
            np.hypot(np.sqrt(share @ unknowns[4:, 4:] @ share), shape.out_of_round * radius_m)
        )
    inside = at.inside.mean()
    return SceneCylinder(
        wall.point + middle * wall.axis,
        wall.axis,
        radius_m,
        height_m,
        int(near.sum()),
        float(near.mean()),
        covariance,
        radius_std_m,
        wall.thickness_m,
        'inside' if inside > 0.9 else 'outside' if inside < 0.1 else 'both',
    )
