"""The ring's outline in the picture against the outline of a solid cylinder.

A ring is hollow but its outer outline is that of the solid cylinder, the convex hull of both projected rims. Depth locates the
wall; the outline locates the rims, from which the centre along the axis follows, and it does not suffer from flying pixels.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numba import njit

from soft_arm_vision.cylinder_fit import perpendiculars

RIM_POINTS = 72
BESIDE_PX = 4  # depth nearer to an edge than this is mixed
OCCLUDER_GAP_M = 0.015
BACKED_GAP_M = 0.1  # the arm begins less than this behind the edge
_ANGLES = 2 * np.pi * np.arange(RIM_POINTS) / RIM_POINTS
_RIM = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)]) / np.cos(np.pi / RIM_POINTS) ** 0.5  # polygon of the circle's mean radius


@dataclass(frozen=True)
class Outline:
    """Edge points of a mask.

    Attributes:
        rays: Normalised coordinates (x/z, y/z) of edge points, shape (n, 2).
        backed: Where the arm, not the background, is seen beside the edge, shape (n,), bool.
        pixel: Size of a pixel in the same coordinates.
    """

    rays: np.ndarray
    backed: np.ndarray
    pixel: float


@dataclass(frozen=True)
class OutlineResidual:
    """How far edge points lie from the model's edges.

    Attributes:
        distance: Signed, outside positive, in normalised coordinates, shape (n,).
        contact: The model's point that belongs to each [m], shape (n, 3).
        gradient: Derivative of the model edge's advance by that point [1/m], shape (n, 3).
    """

    distance: np.ndarray
    contact: np.ndarray
    gradient: np.ndarray


def mask_edges(mask: np.ndarray, depth_m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Outermost edges of a mask along every row and column, half-way between its last pixel and the next.

    Edges on the window's border, and edges where something nearer begins (an occluder), are not the ring's own and are left out.

    Args:
        mask: Shape (h, w), bool, in a window with some room around it.
        depth_m: Depth [m], 0 where there is none, shape (h, w).

    Returns:
        Pixels (u, v), shape (n, 2), float, and where something lies close behind the edge, shape (n,), bool.
    """
    pixels, backed = [], []
    for transposed in (False, True):
        m, z = (mask.T, depth_m.T) if transposed else (mask, depth_m)
        columns = np.flatnonzero(m.any(axis=0))
        for side in (-1, 1):
            rows = m[:, columns].argmax(axis=0) if side < 0 else len(m) - 1 - m[::-1, columns].argmax(axis=0)
            own = (rows > 0) & (rows < len(m) - 1)
            rows, cols = rows[own], columns[own]
            outside = z[np.clip(rows + BESIDE_PX * side, 0, len(m) - 1), cols]
            inside = z[np.clip(rows - BESIDE_PX * side, 0, len(m) - 1), cols]
            step = np.where((outside > 0) & (inside > 0), outside - inside, np.inf)
            own = step > -OCCLUDER_GAP_M
            edge = np.column_stack([cols[own], rows[own] + 0.5 * side])
            pixels.append(edge[:, ::-1] if transposed else edge)
            backed.append(step[own] < BACKED_GAP_M)
    return np.concatenate(pixels), np.concatenate(backed)


def rim_points(centre: np.ndarray, axis: np.ndarray, radius_m: float) -> np.ndarray:
    """Corners [m] of a polygon as good as the circle about an axis, shape (RIM_POINTS, 3)."""
    e1, e2 = perpendiculars(axis)
    return centre + radius_m * (_RIM[0][:, None] * e1 + _RIM[1][:, None] * e2)


def outline_residual(
    outline: Outline, centre: np.ndarray, axis: np.ndarray, radius_m: float, height_m: float, thickness_m: float
) -> OutlineResidual:
    """Distances of the edge points from the ring's edges in the picture.

    Where the arm leaves the ring towards the camera it hides the far rim; the mask then ends at the inner edge of the near one.
    Edge points with the arm beside them are therefore not compared with the far rim.

    Args:
        outline: Edge points.
        centre: Of the ring [m] in the optical frame, shape (3,).
        axis: Unit vector, shape (3,).
        radius_m: Outer radius.
        height_m: Height.
        thickness_m: Of the wall.
    """
    ends = centre + np.outer((0.5 * height_m, -0.5 * height_m), axis)
    rims = np.concatenate([rim_points(end, axis, radius_m) for end in ends])
    hull = cv2.convexHull(_project(rims).astype(np.float32), returnPoints=False)[:, 0]
    start, end = rims[hull], rims[np.roll(hull, -1)]
    for which, outwards in enumerate((axis, -axis)):
        if -ends[which] @ outwards > 0:  # the camera looks into this end
            far = (hull // RIM_POINTS == which) & (np.roll(hull, -1) // RIM_POINTS == which)
            inner = rim_points(ends[which], axis, radius_m - thickness_m)
            near = np.einsum('ni,ni->n', inner - ends[which], inner) < 0
            pair = near & np.roll(near, -1)
            start, end = np.concatenate([start, inner[pair]]), np.concatenate([end, np.roll(inner, -1, axis=0)[pair]])
            break
    else:
        far, pair = np.zeros(len(hull), bool), np.zeros(0, bool)
    only_backed = np.concatenate([np.zeros(len(hull), bool), np.ones(pair.sum(), bool)])
    never_backed = np.concatenate([far, np.zeros(pair.sum(), bool)])
    a, b = _project(start), _project(end)
    along = b - a
    length = np.maximum(np.linalg.norm(along, axis=1), 1e-12)
    along = along / length[:, None]
    normal = np.column_stack([along[:, 1], -along[:, 0]])
    normal *= np.sign(np.einsum('mi,mi->m', normal, a - _project(centre[None])))[:, None]
    nearest, t = _nearest(outline.rays, outline.backed, a, along, length, never_backed, only_backed)
    share = t / length[nearest]
    z0, z1 = start[nearest, 2], end[nearest, 2]
    share = share * z0 / (z1 * (1 - share) + share * z0)  # from the picture to the edge in space
    contact = start[nearest] + share[:, None] * (end[nearest] - start[nearest])
    normal = normal[nearest]
    distance = np.einsum('ni,ni->n', outline.rays - a[nearest], normal)
    z = contact[:, 2:]
    gradient = np.column_stack([normal, -(normal * contact[:, :2]).sum(axis=1, keepdims=True) / z]) / z
    return OutlineResidual(distance, contact, gradient)


@njit(cache=True, nogil=True)
def _nearest(points, backed, start, along, length, never_backed, only_backed):
    """For every point the segment nearest to it, of those that may be compared, and how far along it the foot lies."""
    nearest, foot = np.zeros(len(points), np.int64), np.zeros(len(points))
    for i in range(len(points)):
        least = np.inf
        for j in range(len(start)):
            if (backed[i] and never_backed[j]) or (not backed[i] and only_backed[j]):
                continue
            u, v = points[i, 0] - start[j, 0], points[i, 1] - start[j, 1]
            t = min(max(u * along[j, 0] + v * along[j, 1], 0.0), length[j])
            squared = (u - t * along[j, 0]) ** 2 + (v - t * along[j, 1]) ** 2
            if squared < least:
                least, nearest[i], foot[i] = squared, j, t
    return nearest, foot


def _project(points: np.ndarray) -> np.ndarray:
    return points[:, :2] / points[:, 2:]
