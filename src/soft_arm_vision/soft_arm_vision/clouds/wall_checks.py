"""Reasons not to believe in a wall: what a cylinder would show and these points do not."""

import numpy as np

from soft_arm_vision.clouds.cylinder import perpendiculars
from soft_arm_vision.clouds.scene_parts import Part
from soft_arm_vision.clouds.scene_wall import OnWall, Wall, derivatives, on_wall, weights

SIGMAS = 3.5  # a point that is nearer than these is on the wall
MAX_NOISE = 0.06  # of the radius
MIN_SHARE = 0.4  # of its part of the cloud
MAX_GROWTH = 1.14  # of the points on the wall when the band is twice as wide
SECTORS = 36  # of the circle
MIN_SECTORS = {True: 12, False: 6}  # by whether the radius is free: less can be anything
MIN_IN_SECTOR = 5
MIN_FILLED = 0.1  # of the points in the fullest sector
MAX_MISFIT = 0.5  # of the scatter that bends, bulges and ovals of the wall may explain
MIN_MISFIT = 0.004  # of the radius: below it they are let pass
ALIGNED = 0.93  # cosine of the angle between normals of the points and of the wall: 21 deg
MIN_ALIGNED = 0.65  # of the normals
MIN_PIPE_SHARE = 0.5  # of the whole cloud, for a wall of which only the inside is visible


def sectors(angle_rad: np.ndarray) -> np.ndarray:
    """Return the number of points in each sector of the circle."""
    sector = ((angle_rad + np.pi) / (2 * np.pi) * SECTORS).astype(int) % SECTORS
    return np.bincount(sector, minlength=SECTORS)


def covered(at: OnWall, near: np.ndarray, free: bool) -> float:
    """Return the number of points on the wall, 0 if too little of the circle is visible.

    No sector counts for more than twice the least of those that are needed.
    """
    filled = sectors(at.angle_rad[near])
    least = np.sort(filled)[-MIN_SECTORS[free]]
    if least < max(MIN_IN_SECTOR, MIN_FILLED * filled.max()):
        return 0.0
    return float(np.minimum(filled, 2 * least).sum())


def shapes(at: OnWall, radius_m: float) -> np.ndarray:
    """Return radial displacements of bodies that are nearly cylinders, shape (n, 6).

    A cone, a barrel, an oval (two) and a bend (two), each by one radius at the ends of the wall or
    at the ends of the oval.
    """
    angle, low, high = at.angle_rad, at.axial_m.min(), at.axial_m.max()
    z = (2 * at.axial_m - low - high) / max(high - low, 1e-9)
    c, s = np.cos(angle), np.sin(angle)
    columns = [z, z * z, np.cos(2 * angle), np.sin(2 * angle), z * z * c, z * z * s]
    return radius_m * np.column_stack(columns)


def fault(part: Part, wall: Wall, sigma_m: float, viewpoint: np.ndarray, free: bool) -> str | None:
    """Say why the points of a part are not the wall of a cylinder, or return None.

    Args:
        part: The points.
        wall: The cylinder that fits them best.
        sigma_m: Scatter of the points on it [m].
        viewpoint: Camera position [m].
        free: Whether the radius was estimated.
    """
    at = on_wall(part.points, wall, viewpoint)
    residual, band = np.abs(at.residual_m), SIGMAS * sigma_m
    near, wide = residual < band, residual < 2 * band
    if sigma_m > MAX_NOISE * wall.radius_m:
        return 'the points do not gather on the best wall'
    if near.mean() < MIN_SHARE:
        return f'the best wall holds only {100 * near.mean():.0f} % of its part of the cloud'
    if covered(at, near, free) == 0:
        return f'none of their parts shows {360 // SECTORS * MIN_SECTORS[free]} deg of a round wall'
    if wide.sum() > MAX_GROWTH * near.sum():
        return 'the best wall only touches a surface of another shape'
    places = on_wall(part.places, wall, viewpoint)
    e1, e2 = perpendiculars(wall.axis)
    own = np.outer(np.cos(places.angle_rad), e1) + np.outer(np.sin(places.angle_rad), e2)
    aligned = np.abs(np.einsum('ni,ni->n', own, part.normals)) > ALIGNED
    if aligned[np.abs(places.residual_m) < band].mean() < MIN_ALIGNED:
        return 'the best wall cuts through surfaces instead of following them'
    if at.inside[near].mean() > 0.9 and near.mean() * part.share < MIN_PIPE_SHARE:
        return (
            'the best wall is seen from its inside, as that of a pipe, and holds '
            f'{100 * near.mean() * part.share:.0f} % of the points only: its radius would be a '
            'guess; crop the cloud to the cylinder, and give the camera with --viewpoint-m if it '
            'is not at the origin'
        )
    return _misshapen(at, wall, wide, band, free)


def _misshapen(at: OnWall, wall: Wall, some: np.ndarray, band_m: float, free: bool) -> str | None:
    at = OnWall(*(values[some] for values in vars(at).values()))
    own, other = derivatives(at, wall, free), shapes(at, wall.radius_m)
    weight = np.sqrt(weights(at, 2 * band_m))[:, None]
    target = weight[:, 0] * at.residual_m
    rest = target - weight * own @ np.linalg.lstsq(weight * own, target)[0]
    both = np.hstack([own, other])
    left = target - weight * both @ np.linalg.lstsq(weight * both, target)[0]
    explained = 1 - (left @ left) / max(rest @ rest, 1e-300)
    size_m = np.sqrt(max(rest @ rest - left @ left, 0.0) / np.square(weight).sum())
    if explained < MAX_MISFIT or size_m < MIN_MISFIT * wall.radius_m:
        return None
    return (
        'the best wall is rather conical, bent, oval or a ball, by '
        f'{1e3 * size_m:.1f} mm of {1e3 * wall.radius_m:.1f} mm'
    )
