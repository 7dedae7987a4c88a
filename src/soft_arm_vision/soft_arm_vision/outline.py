"""The ring's outline in the picture against the outline of a solid cylinder.

A ring is hollow but its outer outline is that of the solid cylinder, the convex hull of both projected rims. Depth locates the
wall; the outline locates the rims, from which the centre along the axis follows, and it does not suffer from flying pixels.
"""

from dataclasses import dataclass

import cv2
import numpy as np

from soft_arm_vision.cylinder_fit import perpendiculars

RIM_POINTS = 72
_ANGLES = 2 * np.pi * np.arange(RIM_POINTS) / RIM_POINTS
_RIM = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)]) / np.cos(np.pi / RIM_POINTS) ** 0.5   # polygon of the circle's mean radius


@dataclass(frozen=True)
class Outline:
    """Edge points of a mask.

    Attributes:
        rays: Normalised coordinates (x/z, y/z) of edge points, shape (n, 2).
        pixel: Size of a pixel in the same coordinates.
    """

    rays: np.ndarray
    pixel: float


@dataclass(frozen=True)
class OutlineResidual:
    """Signed distance of edge points from the model's outline (outside positive), shape (n,), in normalised coordinates; for
    each, the point of the model [m] it belongs to (n, 3) and the derivative of the outline's advance by that point (n, 3) [1/m]."""

    distance: np.ndarray
    contact: np.ndarray
    gradient: np.ndarray


def mask_edges(mask: np.ndarray, depth_m: np.ndarray, occluder_gap_m: float = 0.012) -> np.ndarray:
    """Outermost edges of a mask along every row and column, half-way between its last pixel and the next.

    Edges on the image border, and edges where something nearer begins (an occluder), are not the ring's own and are left out.

    Args:
        mask: Shape (h, w), bool, with a rim of at least one pixel that is the rest of the image.
        depth_m: Depth [m], 0 where there is none, shape (h, w).
        occluder_gap_m: How much nearer an occluder is [m].

    Returns:
        Pixels (u, v), shape (n, 2), float.
    """
    pixels = []
    for transposed in (False, True):
        m, z = (mask.T, depth_m.T) if transposed else (mask, depth_m)
        columns = np.flatnonzero(m.any(axis=0))
        for side in (-1, 1):
            rows = m[:, columns].argmax(axis=0) if side < 0 else len(m) - 1 - m[::-1, columns].argmax(axis=0)
            own = (rows > 0) & (rows < len(m) - 1)
            rows, cols = rows[own], columns[own]
            outside, inside = z[rows + side, cols], z[rows, cols]
            own = (outside <= 0) | (inside <= 0) | (outside > inside - occluder_gap_m)
            edge = np.column_stack([cols[own], rows[own] + 0.5 * side])
            pixels.append(edge[:, ::-1] if transposed else edge)
    return np.concatenate(pixels)


def rim_points(centre: np.ndarray, axis: np.ndarray, radius_m: float) -> np.ndarray:
    """Corners [m] of a polygon as good as the circle about an axis, shape (RIM_POINTS, 3)."""
    e1, e2 = perpendiculars(axis)
    return centre + radius_m * (_RIM[0][:, None] * e1 + _RIM[1][:, None] * e2)


def outline_residual(outline: Outline, centre: np.ndarray, axis: np.ndarray, radius_m: float, height_m: float) -> OutlineResidual:
    """Distances of the edge points from the outline of the cylinder.

    Args:
        outline: Edge points.
        centre: Of the cylinder [m] in the optical frame, shape (3,).
        axis: Unit vector, shape (3,).
        radius_m: Outer radius.
        height_m: Height.
    """
    end = 0.5 * height_m * axis
    rims = np.concatenate([rim_points(centre + end, axis, radius_m), rim_points(centre - end, axis, radius_m)])
    projected = rims[:, :2] / rims[:, 2:]
    hull = cv2.convexHull(projected.astype(np.float32), returnPoints=False)[:, 0]
    start, end = hull, np.roll(hull, -1)
    a, b = projected[start], projected[end]
    along = b - a
    length = np.maximum(np.linalg.norm(along, axis=1), 1e-12)
    along = along / length[:, None]
    outward = np.column_stack([along[:, 1], -along[:, 0]])
    outward *= np.sign(np.einsum('mi,mi->m', outward, a - projected.mean(axis=0)))[:, None]
    offset_u = outline.rays[:, :1] - a[:, 0]
    offset_v = outline.rays[:, 1:] - a[:, 1]
    t = np.clip(offset_u * along[:, 0] + offset_v * along[:, 1], 0, length)
    squared = np.square(offset_u - t * along[:, 0]) + np.square(offset_v - t * along[:, 1])
    nearest = np.argmin(squared, axis=1)
    rows = np.arange(len(nearest))
    share = t[rows, nearest] / length[nearest]
    z0, z1 = rims[start[nearest], 2], rims[end[nearest], 2]
    share = share * z0 / (z1 * (1 - share) + share * z0)        # from the picture to the edge in space
    contact = rims[start[nearest]] + share[:, None] * (rims[end[nearest]] - rims[start[nearest]])
    normal = outward[nearest]
    distance = offset_u[rows, nearest] * normal[:, 0] + offset_v[rows, nearest] * normal[:, 1]
    z = contact[:, 2:]
    gradient = np.column_stack([normal, -(normal * contact[:, :2]).sum(axis=1, keepdims=True) / z]) / z
    return OutlineResidual(distance, contact, gradient)
