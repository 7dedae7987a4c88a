"""Subsampled point cloud of a depth image."""

import numpy as np

MAX_POINTS = 8000
NEAR_M, FAR_M = 0.05, 5.0
NEAR_RGB, FAR_RGB = np.array([250.0, 200.0, 90.0]), np.array([60.0, 80.0, 120.0])


def depth_points(depth_mm: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the points (n, 3) [m] of a depth image in the camera's optical frame.

    Args:
        depth_mm: (height, width) [mm]; 0 where unknown.
        k: Camera matrix (3, 3) of that size.
    """
    step = max(1, int(np.ceil(np.sqrt(depth_mm.size / MAX_POINTS))))
    z_m = depth_mm[::step, ::step] * 1e-3
    v, u = np.mgrid[: depth_mm.shape[0] : step, : depth_mm.shape[1] : step]
    seen = (z_m > NEAR_M) & (z_m < FAR_M)
    x, y = (u - k[0, 2]) / k[0, 0], (v - k[1, 2]) / k[1, 1]
    return np.stack([x * z_m, y * z_m, z_m], axis=-1)[seen]


def colours_by_depth(z_m: np.ndarray) -> np.ndarray:
    """Return colours (n, 3), uint8, by depth [m]."""
    low, high = z_m.min(initial=FAR_M), z_m.max(initial=NEAR_M)
    fraction = (z_m - low)[:, None] / max(high - low, 1e-6)
    return (NEAR_RGB + fraction * (FAR_RGB - NEAR_RGB)).astype(np.uint8)
