"""Input channels of the network: colour and, optionally, depth and its slopes.

Colour alone hardly separates a ring from an orange block before it; the slopes of depth separate a
curved wall from a flat one.
"""

# mypy: disable-error-code="no-untyped-def"
# Numba infers the types of the compiled functions.

import cv2
import numpy as np

from soft_arm_kinematics.backends.machine_code import njit

MEAN, DEVIATION = 118.0, 60.0  # of a grey value; pictures are brought to about -1..1
NEAR_M = 0.4  # nearness channel = NEAR_M / depth; missing depth reads as far
STEP_PX = 3  # between the depths that a slope is of
FOCAL_PX = 300.0  # approximate focal length at the network's size, which scales the slopes
MAX_SLOPE = 2.0

COLOUR_CHANNELS, DEPTH_CHANNELS = 3, 3


def reduced_depth(depth: np.ndarray, size_px: tuple[int, int]) -> np.ndarray:
    """Return a depth image, in any unit, at (width, height); pixels are left out, not averaged."""
    return cv2.resize(depth, size_px, interpolation=cv2.INTER_NEAREST)


def input_channels(picture: np.ndarray, depth_m: np.ndarray | None = None) -> np.ndarray:
    """Return the input of the network.

    Args:
        picture: RGB at its size, shape (h, w, 3), 0..255.
        depth_m: Aligned depth [m], 0 where there is none, shape (h, w), float32; None for a network
            for colour only.

    Returns:
        Shape (3, h, w), or (6, h, w) with depth; float32.
    """
    colour = cv2.dnn.blobFromImage(picture, 1 / DEVIATION, mean=(MEAN, MEAN, MEAN))[0]
    if depth_m is None:
        return colour
    return np.concatenate([colour, _depth_channels(_filled(depth_m))])


@njit(cache=True, nogil=True)
def _filled(depth_m):
    """Return depth with holes filled by the farther side in their row.

    Most holes are shadows of near objects; a ring without depth is found by its colour.
    """
    height, width = depth_m.shape
    filled = depth_m.copy()
    for v in range(height):
        last = np.float32(0)
        for u in range(width):
            last = depth_m[v, u] if depth_m[v, u] > 0 else last
            filled[v, u] = last
        last = np.float32(0)
        for u in range(width - 1, -1, -1):
            if depth_m[v, u] > 0:
                last = depth_m[v, u]
            else:
                filled[v, u] = max(filled[v, u], last)
    return filled


def _depth_channels(depth_m: np.ndarray) -> np.ndarray:
    known = (depth_m > 0).astype(np.float32)
    total, count = (
        cv2.boxFilter(part, -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)
        for part in (depth_m, known)
    )
    smooth_m = known * total / np.maximum(count, 1)
    found = np.empty((DEPTH_CHANNELS, *depth_m.shape), np.float32)
    found[0] = np.float32(NEAR_M) / np.where(depth_m > 0, depth_m, np.float32(np.inf))
    _slopes(smooth_m, found[1], found[2])
    return found


@njit(cache=True, nogil=True)
def _slopes(smooth_m, along_u, along_v):
    height, width = smooth_m.shape
    for v in range(height):
        for u in range(width):
            z = smooth_m[v, u]
            left = smooth_m[v, u - STEP_PX] if u >= STEP_PX else 0
            right = smooth_m[v, u + STEP_PX] if u + STEP_PX < width else 0
            up = smooth_m[v - STEP_PX, u] if v >= STEP_PX else 0
            down = smooth_m[v + STEP_PX, u] if v + STEP_PX < height else 0
            along_u[v, u] = _slope(left, z, right)
            along_v[v, u] = _slope(up, z, down)


@njit(cache=True, nogil=True)
def _slope(before_m, z_m, after_m):
    """Return the slope of the surface, 0 where it is unknown.

    The smaller slope of both sides is used: next to an edge it belongs to the surface.
    """
    far = np.float32(1e3)
    behind = z_m - before_m if before_m > 0 else far
    ahead = after_m - z_m if after_m > 0 else far
    rise = behind if abs(behind) < abs(ahead) else ahead
    if z_m == 0 or rise == far:
        return np.float32(0)
    slope = rise * np.float32(FOCAL_PX / STEP_PX) / z_m
    return min(max(slope, np.float32(-MAX_SLOPE)), np.float32(MAX_SLOPE))
