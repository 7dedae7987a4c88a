"""Align a depth image to the colour camera next to it, for cameras whose driver does not."""

# mypy: disable-error-code="no-untyped-def"
# Numba infers the types of the compiled functions.

from functools import lru_cache

import numpy as np

from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics


def align_depth(
    depth_m: np.ndarray,
    depth_camera: Intrinsics,
    colour_camera: Intrinsics,
    T_colour_depth: np.ndarray,  # noqa: N803
) -> np.ndarray:
    """Return the depth that the colour camera would see.

    Each depth pixel is a small square at its depth. It is given to the colour pixels whose centres
    it covers; of several squares at one pixel the nearest is kept.

    Args:
        depth_m: Depth along the depth camera's axis [m], 0 where there is none, shape (h, w).
        depth_camera: Intrinsics of the depth image.
        colour_camera: Intrinsics of the colour image.
        T_colour_depth: Pose of the depth camera in the colour camera's optical frame, (4, 4).

    Returns:
        Depth along the colour camera's axis [m], 0 where there is none, float32, of the colour
        image's shape.

    Raises:
        VisionError: If the depth image has not the size that its intrinsics state.
    """
    if depth_m.shape != (depth_camera.height, depth_camera.width):
        raise VisionError(
            f'depth {depth_m.shape} and its camera info '
            f'{(depth_camera.height, depth_camera.width)} differ in size: give the camera info '
            'of the depth image'
        )
    aligned = np.full((colour_camera.height, colour_camera.width), np.inf, np.float32)
    _align(
        np.ascontiguousarray(depth_m, np.float32),
        _corner_rays(depth_camera),
        np.ascontiguousarray(T_colour_depth, float),
        np.array([colour_camera.fx, colour_camera.fy, colour_camera.cx, colour_camera.cy]),
        *_lens_shift(colour_camera),
        aligned,
    )
    aligned[np.isinf(aligned)] = 0
    return aligned


@lru_cache(maxsize=4)
def _corner_rays(camera: Intrinsics) -> np.ndarray:
    """Return the rays of the corners of all pixels, shape (height + 1, width + 1, 2)."""
    v, u = np.mgrid[0 : camera.height + 1, 0 : camera.width + 1] - 0.5
    return camera.rays(np.column_stack([u.ravel(), v.ravel()])).reshape(*u.shape, 2)


@lru_cache(maxsize=4)
def _lens_shift(camera: Intrinsics) -> tuple[np.ndarray, np.ndarray]:
    """Return by how much the lens moves each pixel of an ideal image, and that image's first pixel.

    The ideal image (without distortion) is just large enough to hold all that the camera sees.

    Returns:
        Shifts (u, v) [px], shape (h, w, 2), and the column and row of the first, shape (2,).
    """
    focal, middle = (camera.fx, camera.fy), (camera.cx, camera.cy)
    ideal = camera.ray_grid().reshape(-1, 2) * focal + middle
    first = np.floor(ideal.min(axis=0)).astype(int) - 1
    last = np.ceil(ideal.max(axis=0)).astype(int) + 1
    v, u = np.mgrid[first[1] : last[1] + 1, first[0] : last[0] + 1]
    pixels = np.column_stack([u.ravel(), v.ravel()])
    shift = camera.pixels((pixels - middle) / np.array(focal)) - pixels
    return shift.reshape(*u.shape, 2), first


@njit(cache=True, nogil=True)
def _align(depth_m, rays, T, camera, shift, first, aligned):
    """Fill `aligned` [m], infinite before; see `align_depth`."""
    height, width = depth_m.shape
    u, v = np.empty(2), np.empty(2)
    for row in range(height):
        for column in range(width):
            depth = depth_m[row, column]
            if not 0 < depth < np.inf:
                continue
            nearest, seen = 0.0, True
            for k in range(2):
                x = depth * rays[row + k, column + k, 0]
                y = depth * rays[row + k, column + k, 1]
                z = T[2, 0] * x + T[2, 1] * y + T[2, 2] * depth + T[2, 3]
                if z <= 0:
                    seen = False
                    break
                ahead = T[0, 0] * x + T[0, 1] * y + T[0, 2] * depth + T[0, 3]
                u[k] = camera[0] * ahead / z + camera[2]
                ahead = T[1, 0] * x + T[1, 1] * y + T[1, 2] * depth + T[1, 3]
                v[k] = camera[1] * ahead / z + camera[3]
                i, j = int(np.rint(v[k])) - first[1], int(np.rint(u[k])) - first[0]
                if not (0 <= i < shift.shape[0] and 0 <= j < shift.shape[1]):
                    seen = False
                    break
                u[k] += shift[i, j, 0]
                v[k] += shift[i, j, 1]
                nearest += 0.5 * z
            if not seen:
                continue
            rows = int(np.ceil(max(v.min(), 0.0))), int(np.ceil(min(v.max(), aligned.shape[0])))
            columns = int(np.ceil(max(u.min(), 0.0))), int(np.ceil(min(u.max(), aligned.shape[1])))
            for i in range(rows[0], rows[1]):
                for j in range(columns[0], columns[1]):
                    aligned[i, j] = min(aligned[i, j], nearest)
