"""From a mask and aligned depth to a thinned point cloud in the camera's optical frame."""

import cv2
import numpy as np

from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.tolerances import TOLERANCES


def check_images(colour: np.ndarray, depth: np.ndarray, intrinsics: Intrinsics) -> None:
    """Raise VisionError unless two images can be used.

    Colour must be RGB (h, w, 3) uint8, depth (h, w) uint16 or float, and both of the size that the
    camera info states.
    """
    shape = (intrinsics.height, intrinsics.width)
    if colour.shape != (*shape, 3) or depth.shape != shape:
        raise VisionError(
            f'colour {colour.shape}, depth {depth.shape} and camera info {shape} differ in '
            'size: align depth to colour'
        )
    if colour.dtype != np.uint8:
        raise VisionError(
            f'colour is of {colour.dtype}, but 8-bit RGB is needed: set the camera to rgb8'
        )
    if depth.dtype != np.uint16 and depth.dtype.kind != 'f':
        raise VisionError(
            f'depth is of {depth.dtype}, but 16-bit millimetres or metres are needed: set '
            'the camera to 16UC1 or 32FC1'
        )


def depth_in_metres(depth: np.ndarray) -> np.ndarray:
    """Return a depth image as float32 metres; 16-bit images are in millimetres.

    NaN, infinite and non-positive values become 0 ("no data").
    """
    if depth.dtype.kind in 'ui':
        return depth.astype(np.float32) * np.float32(1e-3)
    return np.where(np.isfinite(depth) & (depth > 0), depth, 0).astype(np.float32)


def depth_in_millimetres(depth: np.ndarray) -> np.ndarray:
    """Return a depth image as uint16 millimetres, the format of files: 0 where depth is missing.

    Args:
        depth: uint16 millimetres, or float metres, shape (h, w).
    """
    if depth.dtype == np.uint16:
        return depth
    return np.rint(1e3 * np.minimum(depth_in_metres(depth), 65.0)).astype(np.uint16)


def solid_pixels(mask: np.ndarray, depth_m: np.ndarray, radius_m: float) -> np.ndarray:
    """Return the pixels of the mask whose depth can be trusted.

    The mask's border is dropped (stereo mixes fore- and background there), and so are pixels whose
    neighbourhood spans a jump of depth (flying pixels). Pixels without depth are ignored and do not
    affect their neighbours.

    Args:
        mask: Candidate mask, shape (h, w), bool.
        depth_m: Depth [m], 0 where there is none, shape (h, w).
        radius_m: Radius of the ring.

    Returns:
        Mask of the same shape.
    """
    kernel = np.ones((3, 3), np.uint8)
    inside = cv2.erode(
        mask.astype(np.uint8),
        kernel,
        iterations=TOLERANCES.border_px,
        borderType=cv2.BORDER_CONSTANT,
        borderValue=1,
    )
    known = inside.astype(bool) & (depth_m > 0)
    far = np.float32(1e3)
    nearest = cv2.erode(np.where(known, depth_m, far), kernel)
    farthest = cv2.dilate(np.where(known, depth_m, -far), kernel)
    return known & (farthest - nearest < TOLERANCES.jump * radius_m)


def back_project_cells(
    pixels: np.ndarray,
    depth_m: np.ndarray,
    intrinsics: Intrinsics,
    offset: tuple[int, int] = (0, 0),
) -> np.ndarray:
    """Return the points of square cells of pixels, each the mean of its selected pixels.

    The errors of stereo depth are correlated over some pixels, so that little is lost; its rounding
    to millimetres is averaged. Voxels would give a stray pixel next to the surface the same weight
    as the many pixels on it.

    Args:
        pixels: Selected pixels, shape (h, w), bool: at least half of a cell's must be.
        depth_m: Depth [m] along the optical axis, shape (h, w).
        intrinsics: Intrinsics of the whole image.
        offset: Row and column of the arrays' first pixel in the whole image.

    Returns:
        Points [m] in the optical frame, shape (n, 3).
    """
    v, u = np.nonzero(pixels)
    side = TOLERANCES.cell_px
    columns = pixels.shape[1] // side + 1
    cell = (v // side) * columns + u // side
    count = np.bincount(cell)
    used = np.flatnonzero(2 * count >= side**2)
    v_mean, u_mean, z = (
        np.bincount(cell, values)[used] / count[used]
        for values in (v, u, depth_m[v, u].astype(float))
    )
    rays = intrinsics.rays(np.column_stack([u_mean + offset[1], v_mean + offset[0]]))
    return np.column_stack([rays * z[:, None], z])
