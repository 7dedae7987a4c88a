"""Depth-camera views of a cylinder on a table, to develop and test the fit of real clouds on.

The camera errs as real ones do: disparities are averaged over a window, so that depth bleeds across
edges (fattening, flying pixels); they carry noise that hangs together over some pixels and are
rounded. In depth all of this grows with its square.
"""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter, maximum_filter, median_filter, uniform_filter

from soft_arm_vision.clouds.scene_cylinder import SceneCylinder

FOCAL_PX, WIDTH_PX, HEIGHT_PX = 525.0, 640, 480
FOCAL_BASELINE_PX_M = 39.4  # 75 mm, as structured light has it
FAR_M = 3.0
EDGE_PX = 1.0


@dataclass(frozen=True)
class Scene:
    """A cloud [m] (n, 3) in the optical frame and the cylinder in it, with its wall [m]."""

    points: np.ndarray
    centre: np.ndarray
    axis: np.ndarray
    radius_m: float
    wall_m: float

    def off_axis_m(self, found: SceneCylinder) -> float:
        offset = found.centre - self.centre
        return float(np.linalg.norm(offset - offset @ self.axis * self.axis))

    def tilt_rad(self, found: SceneCylinder) -> float:
        return float(np.arccos(min(1.0, abs(found.axis @ self.axis))))


def tabletop(
    seed: int,
    *,
    body: str = 'cylinder',
    clutter: bool = True,
    noise: float = 1.0,
    crop: str = 'whole',
) -> Scene:
    """One view of a table.

    Args:
        seed: Of all that is random.
        body: cylinder (solid or hollow, with or without a handle), sphere, box or none.
        clutter: Boxes and a ball beside and in front of it.
        noise: Factor on the disparity's noise.
        crop: whole, or object (without the table).
    """
    rng = np.random.default_rng(seed)
    tilt, distance_m = rng.uniform(np.radians(20), np.radians(50)), rng.uniform(0.5, 1.5)
    up = np.array([rng.normal(0, 0.05), -np.cos(tilt), -np.sin(tilt)])
    up /= np.linalg.norm(up)
    foot = distance_m * np.array([rng.uniform(-0.1, 0.1), rng.uniform(-0.05, 0.1), 1.0])
    radius_m, height_m = rng.uniform(0.02, 0.06), rng.uniform(0.07, 0.16)
    hollow = body == 'cylinder' and rng.random() < 0.5
    handle = body == 'cylinder' and rng.random() < 0.5
    wall_m = rng.uniform(0.002, 0.004) if hollow else 0.0
    side = np.cross(up, [0, 0, 1.0])
    side /= np.linalg.norm(side)
    front = np.cross(side, up)
    v, u = np.mgrid[:HEIGHT_PX, :WIDTH_PX]
    rays = np.stack(
        [(u - WIDTH_PX / 2) / FOCAL_PX, (v - HEIGHT_PX / 2) / FOCAL_PX, np.ones_like(u, float)],
        axis=-1,
    )
    depth = np.minimum(FAR_M, _plane(rays, foot, up, side, front))
    middle = foot + 0.5 * height_m * up
    if body == 'cylinder':
        depth = np.minimum(depth, _cylinder(rays, foot, up, radius_m, height_m, wall_m))
    elif body == 'sphere':
        depth = np.minimum(depth, _sphere(rays, foot + radius_m * up, radius_m))
    elif body == 'box':
        corner = _turned(rng.uniform(0, np.pi / 2), side, front, up)
        half = np.array([radius_m, radius_m * rng.uniform(0.6, 1.4), 0.5 * height_m])
        depth = np.minimum(depth, _box(rays, middle, corner, half))
    if handle:
        turn = rng.uniform(0, 2 * np.pi)
        outward = np.cos(turn) * side + np.sin(turn) * front
        for angle in np.linspace(-np.pi / 2, np.pi / 2, 15):
            joint = (
                middle + (radius_m + 0.025 * np.cos(angle)) * outward + 0.03 * np.sin(angle) * up
            )
            depth = np.minimum(depth, _sphere(rays, joint, 0.006))
    for _ in range(3 * clutter):
        beside = rng.choice([-1, 1]) * rng.uniform(0.11, 0.25) * side
        place = foot + beside + rng.uniform(-0.15, 0.2) * front
        corner = _turned(rng.uniform(0, np.pi / 2), side, front, up)
        size = rng.uniform(0.015, 0.05, 3)
        depth = np.minimum(depth, _box(rays, place + size[2] * up, corner, size))
    if clutter:
        ball_m = rng.uniform(0.02, 0.04)
        beside = rng.choice([-1, 1]) * rng.uniform(0.1, 0.2) * side
        depth = np.minimum(depth, _sphere(rays, foot + beside + ball_m * up, ball_m))
    points = _seen(rays, depth, rng, noise)
    if crop == 'object':
        offset = points - middle
        near = np.linalg.norm(offset, axis=1) < 1.2 * np.hypot(radius_m, 0.5 * height_m)
        points = points[near & (offset @ up + 0.5 * height_m > 0.006 + 0.003 * middle[2] ** 2)]
    return Scene(points, middle, up, radius_m, wall_m)


def _turned(angle, side, front, up):
    """Rows: the axes of a box on the table."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * side + s * front, c * front - s * side, up])


def _seen(rays, depth, rng, noise) -> np.ndarray:
    disparity = FOCAL_BASELINE_PX_M / depth
    window, fattened_px = int(rng.integers(1, 4)) * 2 + 1, int(rng.integers(0, 3))
    nearest = maximum_filter(disparity, 2 * fattened_px + 1)
    # The nearer one's texture wins at an edge.
    disparity = np.where(nearest - disparity > EDGE_PX, nearest, disparity)
    disparity = (
        median_filter(disparity, window)
        if rng.random() < 0.5
        else uniform_filter(disparity, window)
    )
    grain = gaussian_filter(rng.normal(size=disparity.shape), rng.uniform(1, 2.5))
    disparity += noise * rng.uniform(0.03, 0.08) * grain / grain.std()
    step = rng.choice([1 / 8, 1 / 16, 1 / 32])
    disparity = np.round(disparity / step) * step
    seen = (depth < FAR_M) & (rng.random(depth.shape) > 0.02)
    return (rays * (FOCAL_BASELINE_PX_M / disparity)[..., None])[seen]


def _plane(rays, point, normal, side, front):
    depth = (point @ normal) / np.minimum(rays @ normal, -1e-9)
    hit = rays * depth[..., None] - point
    return np.where(
        (np.abs(hit @ side) < 0.6) & (np.abs(hit @ front) < 0.4) & (depth > 0), depth, FAR_M
    )


def _sphere(rays, centre, radius_m):
    a, b = (rays**2).sum(-1), rays @ centre
    inside = b**2 - a * (centre @ centre - radius_m**2)
    return np.where(inside > 0, (b - np.sqrt(np.maximum(inside, 0))) / a, FAR_M)


def _cylinder(rays, foot, axis, radius_m, height_m, wall_m):
    """Outer wall from outside; a hollow one's inner wall and bottom, a solid one's lid."""
    across, start = rays - (rays @ axis)[..., None] * axis, -(foot - (foot @ axis) * axis)
    a, b = (across**2).sum(-1), across @ start
    depth = np.full(a.shape, FAR_M)
    for radius, sign in ((radius_m, -1), (radius_m - wall_m, 1)):
        inside = b**2 - a * (start @ start - radius**2)
        t = (-b + sign * np.sqrt(np.maximum(inside, 0))) / a
        along = (rays * t[..., None] - foot) @ axis
        hit = (inside > 0) & (along > 0) & (along < height_m)
        if sign < 0:
            depth = np.where(hit, t, depth)
        elif wall_m > 0:
            depth = np.where(hit & (depth == FAR_M), t, depth)
    level = 0.003 if wall_m > 0 else height_m
    t = ((foot + level * axis) @ axis) / (rays @ axis)
    over = rays * t[..., None] - foot
    disc = np.linalg.norm(over - (over @ axis)[..., None] * axis, axis=-1) < radius_m - wall_m
    return np.where(disc & (depth == FAR_M), t, depth)


def _box(rays, centre, corner, half):
    direction, start = rays @ corner.T, -corner @ centre
    with np.errstate(divide='ignore'):
        t1, t2 = (-half - start) / direction, (half - start) / direction
    near, far = np.minimum(t1, t2).max(-1), np.maximum(t1, t2).min(-1)
    return np.where(near < far, near, FAR_M)
