"""Compare the ring's outline in the image with the outline of a solid cylinder.

The outline of a hollow ring equals the outline of a solid cylinder: the convex hull of both
projected rims. Depth locates the wall; the outline, which is free of flying pixels, locates the
rims and thereby the centre along the axis.
"""

# mypy: disable-error-code="no-untyped-def"
# Numba infers the types of the compiled functions.

from dataclasses import dataclass

import cv2
import numpy as np

from soft_arm_description.depth_sensor import DepthSensor
from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_vision.clouds.cylinder import perpendiculars_of_one
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.segmentation.candidate import Candidate
from soft_arm_vision.tolerances import TOLERANCES

RIM_POINTS = 72
EDGES_PER_PX = 4 / np.pi  # edge points of rows and columns per pixel of contour, on average
_ACROSS = np.linspace(-TOLERANCES.edge_reach_px, TOLERANCES.edge_reach_px, 15)  # of an edge [px]
# Pieces of the contour: the rim nearer to the camera, on its far side, where the inside of the ring
# is seen, and along its inner edge on the near side; the other rim; the two sides of the wall. Edge
# points next to the arm are not compared with the first, all others not with the second.
FAR_SIDE, INNER_EDGE, OTHER_RIM, LEFT, RIGHT = range(5)
PIECES = 5
_ANGLES = 2 * np.pi * np.arange(RIM_POINTS) / RIM_POINTS
# Polygon with the mean radius of the circle.
_RIM = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)]) / np.cos(np.pi / RIM_POINTS) ** 0.5


@dataclass(frozen=True)
class Outline:
    """Edge points of a mask.

    Attributes:
        rays: Normalised coordinates (x/z, y/z) of edge points, shape (n, 2).
        arm_adjacent: Where the arm, not the background, is seen next to the edge, shape (n,), bool.
        pixel: Size of a pixel in the same coordinates.
        seen_share: Share of the mask's edge points at which the colour changes; these are kept.
        cut_share: Share of them at which neither colour nor depth changes: the object goes on.
    """

    rays: np.ndarray
    arm_adjacent: np.ndarray
    pixel: float
    seen_share: float = 1.0
    cut_share: float = 0.0


@dataclass(frozen=True)
class OutlineResidual:
    """Distances of edge points from the model's edges.

    Attributes:
        distance: Signed distances, positive outside, in normalised coordinates, shape (n,).
        contact: Point of the model that belongs to each edge point [m], shape (n, 3).
        gradient: Derivative of the model edge's advance by that point [1/m], shape (n, 3).
        piece: Piece of the contour that it lies on, shape (n,), int.
    """

    distance: np.ndarray
    contact: np.ndarray
    gradient: np.ndarray
    piece: np.ndarray


def mask_edges(
    mask: np.ndarray, depth_m: np.ndarray, radius_m: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the outermost edges of a mask along every row and column.

    An edge lies half-way between the last pixel of the mask and the next one.

    Edges on the window's border, and edges of nearer objects (occluders), do not belong to the ring
    and are left out.

    Args:
        mask: Shape (h, w), bool, in a window with some room around it.
        depth_m: Depth [m], 0 where there is none, shape (h, w).
        radius_m: Radius of the ring.

    Returns:
        Pixels (u, v), shape (n, 2), float, and how much farther [m] the surface next to each is,
        shape (n,); infinite where it is not known.
    """
    pixels, steps = [], []
    for transposed in (False, True):
        m, z = (mask.T, depth_m.T) if transposed else (mask, depth_m)
        columns = np.flatnonzero(m.any(axis=0))
        for side in (-1, 1):
            rows = (
                m[:, columns].argmax(axis=0)
                if side < 0
                else len(m) - 1 - m[::-1, columns].argmax(axis=0)
            )
            own = (rows > 0) & (rows < len(m) - 1)
            rows, cols = rows[own], columns[own]
            across = 2 * TOLERANCES.border_px * side
            outside = z[np.clip(rows + across, 0, len(m) - 1), cols]
            inside = z[np.clip(rows - across, 0, len(m) - 1), cols]
            step = np.where((outside > 0) & (inside > 0), outside - inside, np.inf)
            own = step > -TOLERANCES.jump * radius_m
            edge = np.column_stack([cols[own], rows[own] + 0.5 * side])
            pixels.append(edge[:, ::-1] if transposed else edge)
            steps.append(step[own])
    return np.concatenate(pixels), np.concatenate(steps)


def outline_of(
    candidate: Candidate,
    colour: np.ndarray,
    depth_m: np.ndarray,
    intrinsics: Intrinsics,
    radius_m: float,
    sensor: DepthSensor,
) -> Outline:
    """Return the outline of a candidate's mask, see `mask_edges`, where the colour changes there.

    Args:
        candidate: The candidate.
        colour: RGB of the whole image, shape (h, w, 3), uint8.
        depth_m: Depth of the whole image [m], 0 where there is none, shape (h, w).
        intrinsics: Intrinsics of the image.
        radius_m: Radius of the ring.
        sensor: Camera with the response of its pixels to light.
    """
    rows, columns = candidate.widened(TOLERANCES.margin_px, depth_m.shape)
    mask = candidate.mask_in(rows, columns)
    edges, step_m = mask_edges(mask, depth_m[rows, columns], radius_m)
    edges, seen = colour_edges(edges, mask, colour[rows, columns], sensor)
    return Outline(
        intrinsics.rays(edges[seen] + (columns.start, rows.start)),
        step_m[seen] < TOLERANCES.arm_gap * radius_m,
        2 / (intrinsics.fx + intrinsics.fy),
        float(seen.mean()) if len(seen) else 0.0,
        float((~seen & (step_m < TOLERANCES.jump * radius_m)).mean()) if len(seen) else 0.0,
    )


def colour_edges(
    edges: np.ndarray, mask: np.ndarray, colour: np.ndarray, sensor: DepthSensor
) -> tuple[np.ndarray, np.ndarray]:
    """Move edge points of a mask to the middle of the light on both sides of the edge.

    Args:
        edges: Pixels (u, v), shape (n, 2).
        mask: The mask, right to some pixels, shape (h, w), bool.
        colour: RGB, shape (h, w, 3), uint8.
        sensor: The camera's.

    Returns:
        The points, to a fraction of a pixel, (n, 2), and where the colour changes at all, (n,).
    """
    soft = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), TOLERANCES.edge_reach_px / 2)
    slopes = cv2.merge([cv2.Sobel(soft, -1, 1, 0), cv2.Sobel(soft, -1, 0, 1)])
    outwards = -_at(slopes, edges[:, None])
    outwards /= np.maximum(np.linalg.norm(outwards, axis=2, keepdims=True), 1e-9)
    place = edges[:, None] + TOLERANCES.edge_inside_px * outwards
    each, light = np.arange(len(edges)), sensor.light(colour)
    for _ in range(TOLERANCES.refinements):
        profile = _at(light, place + _ACROSS[:, None] * outwards)
        ours, theirs = profile[:, :3].mean(axis=1), profile[:, -3:].mean(axis=1)
        share = np.einsum('nac,nc->na', profile - theirs[:, None], ours - theirs)
        share /= np.maximum(np.square(ours - theirs).sum(axis=1, keepdims=True), 1e-9)
        before, after = share[:, :-1], share[:, 1:]
        crosses = (before >= 0.5) & (after < 0.5)
        at = _ACROSS[:-1] + (_ACROSS[1] - _ACROSS[0]) * (before - 0.5) / np.where(
            crosses, before - after, 1
        )
        nearest = np.where(crosses, np.abs(at), np.inf).argmin(axis=1)
        place += at[each, nearest, None, None] * outwards
    change = np.linalg.norm(sensor.pixels(ours) - sensor.pixels(theirs), axis=1)
    return place[:, 0], crosses[each, nearest] & (change > TOLERANCES.edge_change)


def _at(picture: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the values of a picture (h, w, c) at pixels (u, v), shape (n, m, 2), as (n, m, c)."""
    u, v = (np.ascontiguousarray(places[..., k], np.float32) for k in (0, 1))
    values = cv2.remap(picture, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return values.reshape(*u.shape, -1).astype(float)


def outline_residual(
    outline: Outline,
    centre: np.ndarray,
    axis: np.ndarray,
    radius_m: float,
    height_m: float,
    thickness_m: float,
) -> OutlineResidual:
    """Return the distances of the edge points from the ring's edges in the image.

    Where the arm leaves the ring towards the camera it hides the far rim; the mask then ends at the
    inner edge of the near one. Edge points next to the arm are therefore not compared with
    the far rim.

    Args:
        outline: Edge points.
        centre: Centre of the ring [m] in the optical frame, shape (3,).
        axis: Unit vector, shape (3,).
        radius_m: Outer radius.
        height_m: Height.
        thickness_m: Thickness of the wall.
    """
    centre, axis = np.ascontiguousarray(centre, float), np.ascontiguousarray(axis, float)
    return OutlineResidual(
        *edge_distances(
            outline.rays, outline.arm_adjacent, centre, axis, radius_m, height_m, thickness_m
        )
    )


@njit(cache=True, nogil=True)
def edge_distances(rays, arm_adjacent, centre, axis, radius_m, height_m, thickness_m):
    """Return the parts of an `OutlineResidual`; see `outline_residual`."""
    e1, e2 = perpendiculars_of_one(axis)
    out = radius_m * (_RIM[0].reshape(-1, 1) * e1 + _RIM[1].reshape(-1, 1) * e2)
    start, end = np.empty((4 * RIM_POINTS, 3)), np.empty((4 * RIM_POINTS, 3))
    kind, count = np.empty(4 * RIM_POINTS, np.int64), 0
    for side in (-1, 1):
        middle = centre + 0.5 * side * height_m * axis
        looks_in = side * (middle @ axis) < 0
        seen = _faces_camera(centre, out[-1], out[0])
        for i in range(RIM_POINTS):
            before, after = out[i], out[(i + 1) % RIM_POINTS]
            was_seen, seen = seen, _faces_camera(centre, before, after)
            if looks_in != seen:  # the wall and the flat end meet at the silhouette
                start[count], end[count] = middle + before, middle + after
                kind[count], count = FAR_SIDE if looks_in else OTHER_RIM, count + 1
            if side > 0 and was_seen != seen:
                start[count], end[count] = middle + before, middle + before - height_m * axis
                kind[count], count = LEFT if seen else RIGHT, count + 1
            if looks_in and seen:
                inner = 1 - thickness_m / radius_m
                start[count], end[count] = middle + inner * before, middle + inner * after
                kind[count], count = INNER_EDGE, count + 1
    inside = centre[:2] / centre[2]
    return _distances(rays, arm_adjacent, inside, start[:count], end[:count], kind[:count])


@njit(cache=True, nogil=True, forceinline=True)
def _faces_camera(centre, before, after):
    """Whether the wall between two corners of a rim, relative to its centre, is seen outside."""
    outwards = before + after
    return outwards @ (centre + 0.5 * outwards) < 0


@njit(cache=True, nogil=True)
def _distances(rays, arm_adjacent, inside, start, end, kind):
    """Compare every point with the nearest admissible piece; see `OutlineResidual`."""
    pieces = len(start)
    u0, v0 = start[:, 0] / start[:, 2], start[:, 1] / start[:, 2]
    along_u, along_v = end[:, 0] / end[:, 2] - u0, end[:, 1] / end[:, 2] - v0
    length = np.maximum(np.sqrt(along_u**2 + along_v**2), 1e-12)
    along_u, along_v = along_u / length, along_v / length
    distance = np.empty(len(rays))
    contact = np.empty((len(rays), 3))
    gradient = np.empty((len(rays), 3))
    piece = np.zeros(len(rays), np.int64)
    for i in range(len(rays)):
        least, j, foot = np.inf, -1, 0.0
        for k in range(pieces):
            if kind[k] == (FAR_SIDE if arm_adjacent[i] else INNER_EDGE):
                continue
            u, v = rays[i, 0] - u0[k], rays[i, 1] - v0[k]
            t = min(max(u * along_u[k] + v * along_v[k], 0.0), length[k])
            squared = (u - t * along_u[k]) ** 2 + (v - t * along_v[k]) ** 2
            if squared < least:
                least, j, foot = squared, k, t
        if j < 0:  # no edge of a ring around the camera
            distance[i], contact[i], gradient[i] = np.inf, 0.0, 0.0
            continue
        piece[i] = kind[j]
        outwards = (
            1.0 if along_v[j] * (u0[j] - inside[0]) - along_u[j] * (v0[j] - inside[1]) > 0 else -1.0
        )
        normal_u, normal_v = outwards * along_v[j], -outwards * along_u[j]
        distance[i] = normal_u * (rays[i, 0] - u0[j]) + normal_v * (rays[i, 1] - v0[j])
        share = foot / length[j]
        # From the share along the edge in the image to the share along the edge in space.
        share = share * start[j, 2] / (end[j, 2] * (1 - share) + share * start[j, 2])
        for k in range(3):
            contact[i, k] = start[j, k] + share * (end[j, k] - start[j, k])
        z = contact[i, 2]
        gradient[i, 0], gradient[i, 1] = normal_u / z, normal_v / z
        gradient[i, 2] = -(normal_u * contact[i, 0] + normal_v * contact[i, 1]) / (z * z)
    return distance, contact, gradient, piece
