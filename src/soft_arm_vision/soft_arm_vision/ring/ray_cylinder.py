"""Intersection of viewing rays with a ring: a hollow cylinder with flat ends.

A ray is given by its normalised coordinates (x/z, y/z), so a depth z is its parameter. A solid
cylinder is a ring as thick as its radius.
"""

# mypy: disable-error-code="no-untyped-def"
# Numba infers the types of the compiled functions.

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_vision.tolerances import TOLERANCES


def ring_depths(rays: np.ndarray, centre: np.ndarray, axis: np.ndarray, ring: Ring) -> np.ndarray:
    """Return the depths [m] at which rays meet a ring, infinite where they miss it.

    Args:
        rays: Normalised coordinates (x/z, y/z), shape (n, 2).
        centre: Centre of the ring in the optical frame [m], shape (3,).
        axis: Unit vector, shape (3,).
        ring: The ring.
    """
    return _ray_depths(rays, centre, axis, ring, ring.height_m / 2, 0.0)


def certain_ring_depths(
    rays: np.ndarray, centre: np.ndarray, axis: np.ndarray, ring: Ring
) -> np.ndarray:
    """As `ring_depths`, for rays that meet the ring even if its pose is slightly wrong."""
    share = TOLERANCES.certain_share
    half_m = (0.5 - share) * ring.height_m
    return _ray_depths(rays, centre, axis, ring, half_m, 1 - (1 - share) ** 2)


def _ray_depths(
    rays: np.ndarray,
    centre: np.ndarray,
    axis: np.ndarray,
    ring: Ring,
    half_m: float,
    margin: float,
) -> np.ndarray:
    rays, centre, axis = (np.ascontiguousarray(part, float) for part in (rays, centre, axis))
    return _depths(rays, centre, axis, ring.radius_m, ring.thickness_m, half_m, margin)


@njit(cache=True, nogil=True)
def _depths(rays, centre, axis, radius_m, thickness_m, half_m, margin):
    depths, ahead = np.empty(len(rays)), centre @ axis
    away = centre @ centre - ahead * ahead
    for i in range(len(rays)):
        depths[i] = ray_depth(
            rays[i], centre, axis, ahead, away, radius_m, thickness_m, half_m, margin
        )
    return depths


@njit(cache=True, nogil=True, forceinline=True)
def ray_depth(ray, centre, axis, ahead, away, radius_m, thickness_m, half_m, margin):
    """Return the depth at which a ray meets the ring, infinite if it misses.

    The ring's centre lies `ahead` along the axis and the square root of `away` from it. With a
    `margin` above 0 only rays count that pass the axis well inside the radius, and the flat end of
    the wall does not count.
    """
    x, y = ray[0], ray[1]
    slant = x * axis[0] + y * axis[1] + axis[2]
    # Solve |z (ray - slant axis) - (centre - ahead axis)| = radius for z.
    a = x * x + y * y + 1 - slant * slant
    b = x * centre[0] + y * centre[1] + centre[2] - slant * ahead
    least, depth_m = margin * a * radius_m**2, np.inf
    root = b * b - a * (away - (radius_m - thickness_m) ** 2)
    if root > least:  # the inside of the far wall
        wall_m = (b + np.sqrt(root)) / a
        if abs(wall_m * slant - ahead) < half_m:
            depth_m = wall_m
    root = b * b - a * (away - radius_m**2)
    if root > least:  # the outside of the near wall occludes it
        wall_m = (b - np.sqrt(root)) / a
        if abs(wall_m * slant - ahead) < half_m:
            depth_m = wall_m
    if margin == 0 and slant * ahead > 0:  # the flat end that faces the camera
        face_m = (ahead - np.sign(ahead) * half_m) / slant
        off_axis = face_m * (a * face_m - 2 * b) + away
        if 0 < face_m < depth_m and (radius_m - thickness_m) ** 2 < off_axis < radius_m**2:
            depth_m = face_m
    return depth_m
