"""Find a rough pose of the ring in a candidate's depth, the evidence for it, and its pixels.

Colour alone separates a ring neither from an orange block in front of it nor from an orange can;
depth does.
"""

from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.clouds import cloud
from soft_arm_vision.clouds.cylinder import Cylinders, surface_frame
from soft_arm_vision.clouds.cylinder_fit import ransac_cylinder
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.depth_samples import DepthSamples, sample_depth
from soft_arm_vision.ring.mask_refinement import refine
from soft_arm_vision.ring.outline import outline_of, outline_residual
from soft_arm_vision.ring.ray_cylinder import AXIAL_MARGIN_M, certain_ring_depths, ring_depths
from soft_arm_vision.segmentation.candidate import Candidate

VOXEL_M = 0.002
MAX_POINTS = 2500  # of a find that are thinned and fitted
# Residual of an inlier at the reference depth: three standard deviations of the sensor's noise,
# which grows with the square of depth.
INLIER_M = 3e-3
INLIER_LIMITS_M = (1.2e-3, 5e-3)
RADIAL_TOLERANCE_M = (
    4e-3  # at the reference depth; grows with the square of depth, as the sensor's noise does
)
MIN_POINTS = 30
# Share of faults below which no other pose is tried, and above which RANSAC is tried again.
WELL_EXPLAINED = 0.2
HARDLY_EXPLAINED = 0.3
REFINED_VIOLATION = 0.03  # share of free_space_violation rays above which a pose is sought again
HOPELESS = 1.0  # share of faults above which it is not
UNCERTAIN_VIOLATION = (
    0.1  # share of free_space_violation rays above which the place is not believed
)
MAX_DEPTH_M = 0.8  # further off, the noise of depth hides how a ring curves
MOSTLY_OCCLUDED = 0.5  # share of a find: a pose with more before it is not its
SURE_SCORE = 0.9  # such finds are tried again
THIN_PX = 200  # of a find's inside
LOST_PX = 0.8  # of a mask along its edge, where depth is mixed or missing
STRIDE_PX = 3  # between the rays that are checked
# Log-odds per pixel of distance that a pixel belongs to its side of the edge that depth shows; the
# edge of a network's mask deserves less.
TRUST_PER_PX = 2.0
NEAR_PX = 3.0  # of an edge to the outline of a ring whose pose only depth has told


@dataclass(frozen=True)
class PoseHypothesis:
    """A rough pose of the ring in a candidate's depth, with the evidence for and against it.

    What an occluder hides is left out of `residual`, `flatness` and `longer_cylinder_gain`.

    Attributes:
        cylinder: The ring's wall (K = 1); its point lies half-way between the ring's ends.
        residual: See `DepthSamples.residual`.
        free_space_violation: Share of the rays to the ring, occluded ones left out, that pass
            through it; 1 if no ray ends on the ring.
        visible_fraction: Share of the rays to a whole ring that end on it; rays that miss the
            image count as rays to the ring.
        flatness: See `DepthSamples.flatness`.
        occluded_fraction: See `DepthSamples.without_occluded`.
        longer_cylinder_gain: See `DepthSamples.longer_cylinder_gain`.
        contour_support: Share of the mask's edge that lies near the contour of a ring in this
            pose; see `mask_edges`.
        mask: Pixels whose depth agrees with this pose, with the edge refined by colour, shape
            (h, w), bool; may be empty.
        row, column: First pixel of the mask in the image.
    """

    cylinder: Cylinders
    residual: float
    free_space_violation: float
    visible_fraction: float
    flatness: float
    occluded_fraction: float
    longer_cylinder_gain: float
    contour_support: float
    mask: np.ndarray
    row: int
    column: int

    def candidate(self, score: float, verification_score: float = np.inf) -> Candidate:
        """Return the candidate with this mask, without a cylinder if the pose is uncertain."""
        return Candidate(
            self.mask,
            self.row,
            self.column,
            score,
            None if self.free_space_violation > UNCERTAIN_VIOLATION else self.cylinder,
            verification_score,
        )


class _Pose(NamedTuple):
    """A pose with its residual over the whole candidate, its visible samples and its evidence."""

    centre: np.ndarray
    axis: np.ndarray
    residual: float
    free: DepthSamples
    occluded_fraction: float
    free_space_violation: float
    visible_fraction: float

    @property
    def faults(self) -> float:
        return self.residual + self.free_space_violation

    def good(self, enough: float) -> bool:
        """Return whether the visible part has a smaller share of faults than this."""
        seen = (
            self.free.residual(self.centre, self.axis)
            if self.occluded_fraction < MOSTLY_OCCLUDED
            else self.residual
        )
        return seen + self.free_space_violation < enough


def find_pose_hypothesis(
    candidate: Candidate,
    colour: np.ndarray,
    depth_m: np.ndarray,
    intrinsics: Intrinsics,
    ring: Ring,
    rng: np.random.Generator,
    start: Cylinders | None = None,
) -> PoseHypothesis | None:
    """Find the ring in the depth of a candidate; None without a near wall of its radius.

    Args:
        candidate: The candidate.
        colour: The whole image, RGB, shape (h, w, 3), uint8.
        depth_m: Depth of the image [m], 0 where there is none, shape (h, w).
        intrinsics: Intrinsics of the image.
        ring: Size of the ring.
        rng: Random number generator.
        start: A pose that is tried first: the ring's wall (K = 1) in the frame before.
    """
    rays = sample_depth(candidate, depth_m, intrinsics, ring)
    if rays is None:
        return None
    best = None
    if start is not None:
        tried = rays.refine(start.point[0], start.axis[0])
        best = _judged(*tried, rays, depth_m, intrinsics)
    if best is None or not best.good(WELL_EXPLAINED):
        best = _best_pose(
            best,
            WELL_EXPLAINED,
            _points(candidate, depth_m, intrinsics),
            rays,
            depth_m,
            intrinsics,
            rng,
        )
    if candidate.score >= SURE_SCORE and (best is None or not best.good(HARDLY_EXPLAINED)):
        best = _best_pose(
            best,
            HARDLY_EXPLAINED,
            _every_point(candidate, depth_m, intrinsics),
            rays,
            depth_m,
            intrinsics,
            rng,
        )
    if best is None:
        return None
    if best.free_space_violation > REFINED_VIOLATION and best.good(HOPELESS):
        best = _refined_on_more_samples(best, rays, depth_m, intrinsics)
    if best.centre[2] > MAX_DEPTH_M:
        return None
    drawn = _refined_mask(*_pixels(best, depth_m, intrinsics, ring), colour)
    cylinder = Cylinders(best.centre[None], best.axis[None], np.array([ring.radius_m]))
    free = best.free
    residual, flatness, longer_cylinder_gain = (
        measure(best.centre, best.axis)
        for measure in (free.residual, free.flatness, free.longer_cylinder_gain)
    )
    contour_support = _contour_support(
        best, Candidate(*drawn, candidate.score), depth_m, intrinsics, ring
    )
    return PoseHypothesis(
        cylinder,
        residual,
        best.free_space_violation,
        best.visible_fraction,
        flatness,
        best.occluded_fraction,
        longer_cylinder_gain,
        contour_support,
        *drawn,
    )


def _best_pose(
    best: _Pose | None,
    enough: float,
    points: np.ndarray,
    rays: DepthSamples,
    depth_m: np.ndarray,
    intrinsics: Intrinsics,
    rng: np.random.Generator,
) -> _Pose | None:
    """Return the best of this pose and of those that start at walls found by RANSAC.

    The search ends at the first good pose.
    """
    if len(points) < MIN_POINTS:
        return best
    for radius_m, viewpoint in _walls(points, rays.ring):
        start = _wall(points, radius_m, viewpoint, rays.ring, rng)
        pose = None if start is None else _judged(*rays.refine(*start), rays, depth_m, intrinsics)
        if pose is not None and (best is None or pose.faults < best.faults):
            best = pose
        if best is not None and best.good(enough):
            break
    return best


def _judged(
    centre: np.ndarray,
    axis: np.ndarray,
    rays: DepthSamples,
    depth_m: np.ndarray,
    intrinsics: Intrinsics,
) -> _Pose | None:
    """Return the pose with its evidence; None if it is out of view."""
    if centre[2] <= 0 or depth_m[_window(centre, depth_m.shape, intrinsics, rays.ring)].size == 0:
        return None
    free_space_violation, visible_fraction = _rays_that_end_there(
        centre, axis, depth_m, intrinsics, rays.ring
    )
    return _Pose(
        centre,
        axis,
        rays.residual(centre, axis),
        *rays.without_occluded(centre, axis),
        free_space_violation,
        visible_fraction,
    )


def _refined_on_more_samples(
    pose: _Pose, rays: DepthSamples, depth_m: np.ndarray, intrinsics: Intrinsics
) -> _Pose:
    """Return the better of this pose and its refinement on all pixels with the ring's depth."""
    row, column, mask = _pixels(pose, depth_m, intrinsics, rays.ring)
    more = sample_depth(Candidate(mask, row, column, 1.0), depth_m, intrinsics, rays.ring)
    again = (
        None
        if more is None
        else _judged(*more.refine(pose.centre, pose.axis), rays, depth_m, intrinsics)
    )
    return again if again is not None and again.faults < pose.faults else pose


def _points(candidate: Candidate, depth_m: np.ndarray, intrinsics: Intrinsics) -> np.ndarray:
    """Return the thinned points of a candidate; a thin one loses only its outermost pixels."""
    rows, columns = candidate.window
    patch_m = depth_m[rows, columns]
    solid = cloud.solid_pixels(candidate.mask, patch_m)
    if solid.sum() < THIN_PX:
        solid = (cv2.erode(candidate.mask.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0) & (
            patch_m > 0
        )
    points = cloud.back_project(solid, patch_m, intrinsics, (candidate.row, candidate.column))
    if len(points) < THIN_PX:
        return points
    return cloud.voxel_filter(points[:: max(1, len(points) // MAX_POINTS)], VOXEL_M)


def _every_point(candidate: Candidate, depth_m: np.ndarray, intrinsics: Intrinsics) -> np.ndarray:
    """Return the points of a candidate up to its border, dense enough for a crescent's normals."""
    patch_m = depth_m[candidate.window]
    points = cloud.back_project(
        candidate.mask & (patch_m > 0), patch_m, intrinsics, (candidate.row, candidate.column)
    )
    return points[:: max(1, len(points) // MAX_POINTS)]


def _walls(points: np.ndarray, ring: Ring) -> list[tuple[float, np.ndarray]]:
    """Yield radii of walls, each with the point from which such a wall is seen from outside.

    Of a ring seen from near its axis there is little but the far wall's inside: a near wall seen
    from behind.
    """
    return [
        (ring.radius_m, np.zeros(3)),
        (ring.radius_m - ring.thickness_m, 2 * np.median(points, axis=0)),
    ]


def _wall(
    points: np.ndarray, radius_m: float, viewpoint: np.ndarray, ring: Ring, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return centre and axis of the piece of wall, as high as the ring, that holds most points.

    Only points whose normals face the viewpoint count. None if there is no such piece.
    """
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
    reach = np.searchsorted(along, along + ring.height_m + AXIAL_MARGIN_M) - np.arange(len(along))
    densest = int(reach.argmax())
    inside = along[densest : densest + reach[densest]]
    middle = 0.5 * sum(np.percentile(inside, (2, 98)))
    return cylinder.point[0] + middle * cylinder.axis[0], cylinder.axis[0]


def _bounds(centre: np.ndarray, intrinsics: Intrinsics, ring: Ring) -> tuple[int, int, int, int]:
    """Return the first and last row and column that a ring may reach, even outside the image."""
    reach = 1.1 * np.hypot(ring.radius_m, ring.height_m / 2) / centre[2]
    around = np.array([(x, y) for x in (-reach, 0, reach) for y in (-reach, 0, reach)])
    pixels = intrinsics.pixels(centre[:2] / centre[2] + around)
    (left, top), (right, bottom) = pixels.min(axis=0).astype(int), pixels.max(axis=0).astype(int)
    return int(top), int(bottom), int(left), int(right)


def _window(
    centre: np.ndarray, shape: tuple[int, int], intrinsics: Intrinsics, ring: Ring
) -> tuple[slice, slice]:
    """Return the rows and columns of the image that a ring in this pose may reach."""
    top, bottom, left, right = _bounds(centre, intrinsics, ring)
    top, bottom = np.clip((top, bottom), 0, shape[0])
    left, right = np.clip((left, right), 0, shape[1])
    return slice(int(top), int(bottom)), slice(int(left), int(right))


def _tolerance_m(depth_m: float) -> np.float32:
    return np.float32(RADIAL_TOLERANCE_M * cloud.noise_growth(depth_m))


def _pixels(
    pose: _Pose, depth_m: np.ndarray, intrinsics: Intrinsics, ring: Ring
) -> tuple[int, int, np.ndarray]:
    """Return the first row and column of the ring's window, and the pixels that agree with it."""
    window = _window(pose.centre, depth_m.shape, intrinsics, ring)
    measured, rays = depth_m[window], intrinsics.ray_grid()[window]
    expected = ring_depths(rays.reshape(-1, 2), pose.centre, pose.axis, ring).reshape(
        measured.shape
    )
    return (
        window[0].start,
        window[1].start,
        (np.abs(measured - expected) < _tolerance_m(pose.centre[2])) & (measured > 0),
    )


def _refined_mask(
    row: int, column: int, mask: np.ndarray, colour: np.ndarray
) -> tuple[np.ndarray, int, int]:
    """Return the cropped mask with its edge refined by colour, and its first row and column."""
    x, y, width, height = cv2.boundingRect(mask.astype(np.uint8))
    if width == 0:
        return np.zeros((0, 0), bool), 0, 0
    return refine(
        mask[y : y + height, x : x + width], row + y, column + x, colour, TRUST_PER_PX, LOST_PX
    )


def _contour_support(
    pose: _Pose, drawn: Candidate, depth_m: np.ndarray, intrinsics: Intrinsics, ring: Ring
) -> float:
    """`PoseHypothesis.contour_support`."""
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
    """`_Pose.free_space_violation` and `_Pose.visible_fraction`."""
    top, bottom, left, right = _bounds(centre, intrinsics, ring)
    v, u = (grid.ravel() for grid in np.mgrid[top:bottom:STRIDE_PX, left:right:STRIDE_PX])
    inside = (v >= 0) & (v < depth_m.shape[0]) & (u >= 0) & (u < depth_m.shape[1])
    measured = np.zeros(len(u), np.float32)  # 0 is not known
    measured[inside] = depth_m[v[inside], u[inside]]
    expected = certain_ring_depths(intrinsics.rays(np.column_stack([u, v])), centre, axis, ring)
    tolerance_m, hit, known = _tolerance_m(centre[2]), np.isfinite(expected), measured > 0
    through = int(((measured > expected + 2 * tolerance_m) & hit).sum())
    reached = int(
        ((np.abs(measured - np.where(hit, expected, 0)) < 2 * tolerance_m) & hit & known).sum()
    )
    return through / (through + reached) if reached else 1.0, reached / max(int(hit.sum()), 1)
