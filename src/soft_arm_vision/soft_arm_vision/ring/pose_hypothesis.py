"""How far what a network found has the ring's shape, and which pixels are the ring's: depth and edges against a cylinder of known size.

Colour alone does not part a ring from an orange block in front of it, nor a ring from an orange
can; depth does.
"""

from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.clouds import cloud
from soft_arm_vision.clouds.cylinder_fit import Cylinders, ransac_cylinder, surface_frame
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.depth_samples import (
    AXIAL_ROOM_M,
    RingRays,
    ends_m,
    ring_rays,
    sure_ends_m,
)
from soft_arm_vision.ring.mask_refinement import refine
from soft_arm_vision.ring.outline import outline_of, outline_residual
from soft_arm_vision.segmentation.candidate import Instance

VOXEL_M = 0.002
MAX_POINTS = 2500  # of a find that are thinned and fitted
INLIER_M = 3e-3  # at the reference depth: three deviations of the sensor's noise, which grows with the square of depth
INLIER_LIMITS_M = (1.2e-3, 5e-3)
RADIAL_ROOM_M = (
    4e-3  # at the reference depth; grows with the square of depth, as the sensor's noise does
)
MIN_POINTS = 30
WELL_EXPLAINED, HARDLY_EXPLAINED = (
    0.2,
    0.3,
)  # share of faults below which no other pose is tried, above which RANSAC is tried again
SLIPPED = 0.03  # share of contradicted rays above which a pose is sought again
HOPELESS = 1.0  # share of faults above which it is not
DOUBTED = 0.1  # share of contradicted rays above which the place is not believed
MAX_DEPTH_M = 0.8  # further off, the noise of depth hides how a ring curves
MOSTLY_HIDDEN = 0.5  # share of a find: a pose with more before it is not its
SURE_SCORE = 0.9  # such finds are tried again
THIN_PX = 200  # of a find's inside
LOST_PX = 0.8  # of a mask along its edge, where depth is mixed or missing
STRIDE_PX = 3  # between the rays that are checked
TRUST_PER_PX = 2.0  # log odds by which a pixel belongs to the side of the edge that depth drew; a network's is further off
NEAR_PX = 3.0  # of an edge to the outline of a ring whose pose only depth has told


@dataclass(frozen=True)
class RingRegion:
    """The ring that a find's depth shows, if it is one, and what speaks against that and for it.

    Attributes:
        cylinder: Its wall, K = 1; the point lies half-way between its ends.
        unexplained: See `RingRays.unexplained`; of what nothing hides.
        contradicted: Share of the rays that should end on the ring and have nothing before it, but go through; 1 if none ends on it.
        shown: Share of the rays to a whole ring that do end on it; those that miss the picture count.
        flatness: See `RingRays.flatness`; of what nothing hides.
        hidden: See `RingRays.without_hidden`.
        goes_on: See `RingRays.goes_on`; of what nothing hides.
        outlined: Share of the mask's edge that lies near such a ring's outline; see `mask_edges`.
        mask: Pixels whose depth is that of such a ring, their edge drawn by the colours, shape (h, w), bool; may be empty.
        row, column: First pixel of it in the picture.
    """

    cylinder: Cylinders
    unexplained: float
    contradicted: float
    shown: float
    flatness: float
    hidden: float
    goes_on: float
    outlined: float
    mask: np.ndarray
    row: int
    column: int

    def instance(self, score: float, log_odds: float = np.inf) -> Instance:
        """The candidate with this mask; its place is left out where the ring may be a little elsewhere."""
        return Instance(
            self.mask,
            self.row,
            self.column,
            score,
            None if self.contradicted > DOUBTED else self.cylinder,
            log_odds,
        )


class _Pose(NamedTuple):
    """Centre [m], unit axis, what is left unexplained of the whole find, its rays that nothing hides, and the rest as in `RingRegion`."""

    centre: np.ndarray
    axis: np.ndarray
    unexplained: float
    free: RingRays
    hidden: float
    contradicted: float
    shown: float

    @property
    def faults(self) -> float:
        return self.unexplained + self.contradicted

    def good(self, enough: float) -> bool:
        """Whether what can be seen of it has fewer faults than this."""
        seen = (
            self.free.unexplained(self.centre, self.axis)
            if self.hidden < MOSTLY_HIDDEN
            else self.unexplained
        )
        return seen + self.contradicted < enough


def ring_region(
    instance: Instance,
    colour: np.ndarray,
    depth_m: np.ndarray,
    intrinsics: Intrinsics,
    ring: Ring,
    rng: np.random.Generator,
) -> RingRegion | None:
    """Ring in the depth of a find, or None where there is no wall of its radius near enough.

    Args:
        instance: The find.
        colour: The whole picture, RGB, shape (h, w, 3), uint8.
        depth_m: Its depth [m], 0 where there is none, shape (h, w).
        intrinsics: Of the picture.
        ring: Its size.
        rng: Random numbers.
    """
    rays = ring_rays(instance, depth_m, intrinsics, ring)
    if rays is None:
        return None
    best = _best_pose(
        None, WELL_EXPLAINED, _points(instance, depth_m, intrinsics), rays, depth_m, intrinsics, rng
    )
    if instance.score >= SURE_SCORE and (best is None or not best.good(HARDLY_EXPLAINED)):
        best = _best_pose(
            best,
            HARDLY_EXPLAINED,
            _every_point(instance, depth_m, intrinsics),
            rays,
            depth_m,
            intrinsics,
            rng,
        )
    if best is None:
        return None
    if best.contradicted > SLIPPED and best.good(HOPELESS):
        best = _settled_on_more(best, rays, depth_m, intrinsics)
    if best.centre[2] > MAX_DEPTH_M:
        return None
    drawn = _drawn(*_pixels(best, depth_m, intrinsics, ring), colour)
    cylinder = Cylinders(best.centre[None], best.axis[None], np.array([ring.radius_m]))
    free = best.free
    unexplained, flatness, goes_on = (
        measure(best.centre, best.axis)
        for measure in (free.unexplained, free.flatness, free.goes_on)
    )
    outlined = _outlined(best, Instance(*drawn, instance.score), depth_m, intrinsics, ring)
    return RingRegion(
        cylinder,
        unexplained,
        best.contradicted,
        best.shown,
        flatness,
        best.hidden,
        goes_on,
        outlined,
        *drawn,
    )


def _best_pose(
    best: _Pose | None,
    enough: float,
    points: np.ndarray,
    rays: RingRays,
    depth_m: np.ndarray,
    intrinsics: Intrinsics,
    rng: np.random.Generator,
) -> _Pose | None:
    """The best of this pose and those near the walls that RANSAC finds in the points; ends at a good one."""
    if len(points) < MIN_POINTS:
        return best
    for radius_m, viewpoint in _walls(points, rays.ring):
        start = _wall(points, radius_m, viewpoint, rays.ring, rng)
        pose = None if start is None else _judged(*rays.settle(*start), rays, depth_m, intrinsics)
        if pose is not None and (best is None or pose.faults < best.faults):
            best = pose
        if best is not None and best.good(enough):
            break
    return best


def _judged(
    centre: np.ndarray,
    axis: np.ndarray,
    rays: RingRays,
    depth_m: np.ndarray,
    intrinsics: Intrinsics,
) -> _Pose | None:
    """The pose, or None out of view."""
    if centre[2] <= 0 or depth_m[_window(centre, depth_m.shape, intrinsics, rays.ring)].size == 0:
        return None
    contradicted, shown = _rays_that_end_there(centre, axis, depth_m, intrinsics, rays.ring)
    return _Pose(
        centre,
        axis,
        rays.unexplained(centre, axis),
        *rays.without_hidden(centre, axis),
        contradicted,
        shown,
    )


def _settled_on_more(
    pose: _Pose, rays: RingRays, depth_m: np.ndarray, intrinsics: Intrinsics
) -> _Pose:
    """The better of this pose and of the one near it that all pixels with the ring's depth make, in the find or not."""
    row, column, mask = _pixels(pose, depth_m, intrinsics, rays.ring)
    more = ring_rays(Instance(mask, row, column, 1.0), depth_m, intrinsics, rays.ring)
    again = (
        None
        if more is None
        else _judged(*more.settle(pose.centre, pose.axis), rays, depth_m, intrinsics)
    )
    return again if again is not None and again.faults < pose.faults else pose


def _points(instance: Instance, depth_m: np.ndarray, intrinsics: Intrinsics) -> np.ndarray:
    """Points of the find, thinned; of a find too thin for its border to be left out, all but its outermost."""
    rows, columns = instance.window
    patch_m = depth_m[rows, columns]
    solid = cloud.solid_pixels(instance.mask, patch_m)
    if solid.sum() < THIN_PX:
        solid = (cv2.erode(instance.mask.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0) & (
            patch_m > 0
        )
    points = cloud.back_project(solid, patch_m, intrinsics, (instance.row, instance.column))
    if len(points) < THIN_PX:
        return points
    return cloud.voxel_filter(points[:: max(1, len(points) // MAX_POINTS)], VOXEL_M)


def _every_point(instance: Instance, depth_m: np.ndarray, intrinsics: Intrinsics) -> np.ndarray:
    """Points of the find to its very border, close enough together for the normals of a crescent."""
    patch_m = depth_m[instance.window]
    points = cloud.back_project(
        instance.mask & (patch_m > 0), patch_m, intrinsics, (instance.row, instance.column)
    )
    return points[:: max(1, len(points) // MAX_POINTS)]


def _walls(points: np.ndarray, ring: Ring) -> list[tuple[float, np.ndarray]]:
    """Radius, and the point from which a wall of it is seen from outside.

    Of a ring seen from near its axis there is little but the far wall's inside: a near wall seen
    from behind.
    """
    return [
        (ring.radius_m, np.zeros(3)),
        (ring.radius_m - ring.thickness_m, 2 * np.median(points, axis=0)),
    ]


def _wall(
    points: np.ndarray, radius_m: float, viewpoint: np.ndarray, ring: Ring, rng: np.random.Generator
):
    """Centre and axis of the piece of wall of the ring's height that holds most points, seen from the viewpoint; or None."""
    threshold_m = float(
        np.clip(
            INLIER_M * (np.median(points[:, 2]) / cloud.REFERENCE_DEPTH_M) ** 2, *INLIER_LIMITS_M
        )
    )
    found = ransac_cylinder(
        points, radius_m=radius_m, threshold_m=threshold_m, rng=rng, viewpoint=tuple(viewpoint)
    )
    if found is None:
        return None
    cylinder, _ = found
    axial, normal, residual = (part[0] for part in surface_frame(points, cylinder))
    seen = np.einsum('ni,ni->n', normal, viewpoint - points) > 0
    along = np.sort(axial[seen & (np.abs(residual) < threshold_m)])
    if len(along) < MIN_POINTS / 2:
        return None
    reach = np.searchsorted(along, along + ring.height_m + AXIAL_ROOM_M) - np.arange(len(along))
    densest = int(reach.argmax())
    inside = along[densest : densest + reach[densest]]
    middle = 0.5 * sum(np.percentile(inside, (2, 98)))
    return cylinder.point[0] + middle * cylinder.axis[0], cylinder.axis[0]


def _bounds(centre: np.ndarray, intrinsics: Intrinsics, ring: Ring) -> tuple[int, int, int, int]:
    """First and last row and column that a ring there may reach, in the picture or not."""
    reach = 1.1 * np.hypot(ring.radius_m, ring.height_m / 2) / centre[2]
    around = np.array([(x, y) for x in (-reach, 0, reach) for y in (-reach, 0, reach)])
    pixels = intrinsics.pixels(centre[:2] / centre[2] + around)
    (left, top), (right, bottom) = pixels.min(axis=0).astype(int), pixels.max(axis=0).astype(int)
    return int(top), int(bottom), int(left), int(right)


def _window(
    centre: np.ndarray, shape: tuple[int, int], intrinsics: Intrinsics, ring: Ring
) -> tuple[slice, slice]:
    """Rows and columns of the picture that a ring there may reach."""
    top, bottom, left, right = _bounds(centre, intrinsics, ring)
    (top, bottom), (left, right) = (
        np.clip((top, bottom), 0, shape[0]),
        np.clip((left, right), 0, shape[1]),
    )
    return slice(int(top), int(bottom)), slice(int(left), int(right))


def _room_m(depth_m: float) -> np.float32:
    return np.float32(RADIAL_ROOM_M * cloud.noise_growth(depth_m))


def _pixels(
    pose: _Pose, depth_m: np.ndarray, intrinsics: Intrinsics, ring: Ring
) -> tuple[int, int, np.ndarray]:
    """First row and column of the window that a ring may reach, and its pixels in which the ring is seen."""
    window = _window(pose.centre, depth_m.shape, intrinsics, ring)
    measured, rays = depth_m[window], intrinsics.ray_grid()[window]
    expected = ends_m(rays.reshape(-1, 2), pose.centre, pose.axis, ring).reshape(measured.shape)
    return (
        window[0].start,
        window[1].start,
        (np.abs(measured - expected) < _room_m(pose.centre[2])) & (measured > 0),
    )


def _drawn(
    row: int, column: int, mask: np.ndarray, colour: np.ndarray
) -> tuple[np.ndarray, int, int]:
    """The mask without empty rows and columns, its edge drawn by the colours, and its first row and column."""
    x, y, width, height = cv2.boundingRect(mask.astype(np.uint8))
    if width == 0:
        return np.zeros((0, 0), bool), 0, 0
    return refine(
        mask[y : y + height, x : x + width], row + y, column + x, colour, TRUST_PER_PX, LOST_PX
    )


def _outlined(
    pose: _Pose, drawn: Instance, depth_m: np.ndarray, intrinsics: Intrinsics, ring: Ring
) -> float:
    """`RingRegion.outlined`."""
    outline = outline_of(drawn, depth_m, intrinsics)
    if len(outline.rays) == 0:
        return 0.0
    off = outline_residual(
        outline, pose.centre, pose.axis, ring.radius_m, ring.height_m, ring.thickness_m
    ).distance
    return float((np.abs(off) < NEAR_PX * outline.pixel).mean())


def _rays_that_end_there(
    centre: np.ndarray, axis: np.ndarray, depth_m: np.ndarray, intrinsics: Intrinsics, ring: Ring
) -> tuple[float, float]:
    """`_Pose.contradicted` and `_Pose.shown`."""
    top, bottom, left, right = _bounds(centre, intrinsics, ring)
    v, u = (grid.ravel() for grid in np.mgrid[top:bottom:STRIDE_PX, left:right:STRIDE_PX])
    inside = (v >= 0) & (v < depth_m.shape[0]) & (u >= 0) & (u < depth_m.shape[1])
    measured = np.zeros(len(u), np.float32)  # 0 is not known
    measured[inside] = depth_m[v[inside], u[inside]]
    expected = sure_ends_m(intrinsics.rays(np.column_stack([u, v])), centre, axis, ring)
    room_m, hit, known = _room_m(centre[2]), np.isfinite(expected), measured > 0
    through = int(((measured > expected + 2 * room_m) & hit).sum())
    reached = int(
        ((np.abs(measured - np.where(hit, expected, 0)) < 2 * room_m) & hit & known).sum()
    )
    return through / (through + reached) if reached else 1.0, reached / max(int(hit.sum()), 1)
