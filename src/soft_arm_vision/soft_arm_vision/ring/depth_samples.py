"""Compare measured depth with a ring of known size: residual of a pose, and its refinement."""

# mypy: disable-error-code="no-untyped-def"
# Numba infers the types of the compiled functions.

from dataclasses import dataclass, replace

import cv2
import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_vision.clouds.cloud import noise_growth
from soft_arm_vision.clouds.cylinder import perpendiculars
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.ray_cylinder import (
    CERTAIN_MARGIN,
    certain_half_height,
    ray_depth,
    ring_depths,
)
from soft_arm_vision.segmentation.candidate import Candidate

INSIDE_RAYS, AROUND_RAYS = 300, 700  # number of rays inside the candidate and around it
BORDER_PX = 2  # border of a candidate, where its mask may be wrong and depths are mixed
MIN_INSIDE = 40  # rays that must remain when the border of a candidate is left out
# Difference within which a depth agrees, at the reference depth; it grows with the square of depth,
# as the noise of the sensor does.
TOLERANCE_M = 3e-3
# First steps of the search at the reference depth: three shifts [m] and two tilts [rad].
STEPS = (6e-3, 6e-3, 6e-3, 0.25, 0.25)
FLAT = 2e-3  # difference between the residuals of six poses at which the search ends
MAX_EVALUATIONS = 240
MUCH = 0.5  # residual below which another search hardly ever finds a better pose
MAX_OCCLUDED_FRACTION = 0.8  # share of a candidate that an object before the ring may hide
SHARP = 0.5  # share of the tolerance that tells a ring's wall from a plane
LEAST_LEFT = 0.01  # added to both residuals, so that their ratio stays finite
# Robust fit of a plane: number of steps; cut in standard deviations, which are shares of the depth.
PLANE_STEPS, PLANE_CUT, MIN_PLANE_SIGMA = 4, 4.0, 3e-4


@dataclass(frozen=True)
class DepthSamples:
    """Rays through a candidate and around it, with the depths that were measured along them.

    Attributes:
        ring: Size of the ring.
        rays: Normalised coordinates (x/z, y/z), shape (n, 2).
        depth_m: Measured depths, shape (n,).
        inside: Whether each ray passes through the candidate, shape (n,), bool.
        weight: Number of pixels that each ray stands for, shape (n,).
        tolerance_m: Difference within which a measured depth agrees with the ring's.
    """

    ring: Ring
    rays: np.ndarray
    depth_m: np.ndarray
    inside: np.ndarray
    weight: np.ndarray
    tolerance_m: float

    def residual(self, centre: np.ndarray, axis: np.ndarray) -> float:
        """Return the pixels that a ring in this pose does not explain, over those of the candidate.

        Inside the candidate these are the rays that do not end on the ring; around it, those that
        pass through the ring. An object before the ring may hide it.

        Args:
            centre, axis: Centre [m] and unit axis of the ring, shape (3,) each.
        """
        return _residual(centre, axis, self._scene())

    def refine(self, centre: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the pose of least residual near a first guess: centre [m] and unit axis.

        This is a simplex search (Nelder & Mead 1965) over three shifts and two tilts, because the
        residual has no slope where a ray leaves the ring. Where much residual is left, the search
        may have ended early: it begins again where it ended, in the opposite directions.
        """
        for direction in (1, -1):
            axes = np.stack([*perpendiculars(axis), axis])
            steps = direction * self.tolerance_m / TOLERANCE_M * np.array(STEPS)
            step, residual = _simplex_search(centre, axes, steps, self._scene())
            centre, axis = _moved(step, centre, axes)
            if residual < MUCH:
                break
        return centre, axis

    def without_occluded(
        self, centre: np.ndarray, axis: np.ndarray
    ) -> tuple['DepthSamples', float]:
        """Return the samples without the occluded ones of the candidate, and their share.

        A candidate often includes an object of the ring's colour that hides a part of the ring.
        Where too few samples would be left, all of them are returned.
        """
        expected_m = ring_depths(self.rays, centre, axis, self.ring)
        hidden = (
            self.inside & np.isfinite(expected_m) & (self.depth_m < expected_m - self.tolerance_m)
        )
        share = hidden.sum() / max(self.inside.sum(), 1)
        if share > MAX_OCCLUDED_FRACTION:
            return self, float(share)
        kept = DepthSamples(
            self.ring,
            self.rays[~hidden],
            self.depth_m[~hidden],
            self.inside[~hidden],
            self.weight[~hidden],
            self.tolerance_m,
        )
        return kept, float(share)

    def flatness(self, centre: np.ndarray, axis: np.ndarray) -> float:
        """Return the log ratio of the residuals of a ring in this pose and of a plane.

        It is positive where a plane explains the candidate better.
        """
        rays, measured_m = self.rays[self.inside], self.depth_m[self.inside]
        ring = self._sharply_left(measured_m - ring_depths(rays, centre, axis, self.ring))
        plane = self._sharply_left(measured_m - _plane_m(rays, measured_m))
        return float(np.log((ring + LEAST_LEFT) / (plane + LEAST_LEFT)))

    def longer_cylinder_gain(self, centre: np.ndarray, axis: np.ndarray) -> float:
        """Return by how much a longer cylinder of the same radius reduces the residual."""
        least = np.inf
        for further_m in (self.ring.height_m, 2 * self.ring.height_m):
            ring = self.ring.model_copy(update={'height_m': self.ring.height_m + further_m})
            taller = replace(self, ring=ring)
            for side in (-1, 0, 1):
                shifted = centre + side * further_m / 2 * axis
                least = min(least, taller.residual(shifted, axis))
        return self.residual(centre, axis) - least

    def _sharply_left(self, residual_m: np.ndarray) -> float:
        return float(np.minimum(np.square(residual_m / (SHARP * self.tolerance_m)), 1.0).mean())

    def _scene(self):
        ring = self.ring
        return (
            self.rays,
            self.depth_m,
            self.inside,
            self.weight,
            ring.radius_m,
            ring.thickness_m,
            ring.height_m / 2,
            self.tolerance_m,
        )


def sample_depth(
    candidate: Candidate, depth_m: np.ndarray, intrinsics: Intrinsics, ring: Ring
) -> DepthSamples | None:
    """Sample the rays of a candidate; return None where it has no depth.

    Args:
        candidate: Where the segmenter sees a ring.
        depth_m: Depth of the whole image [m], 0 where there is none, shape (h, w).
        intrinsics: Intrinsics of the image.
        ring: Size of the ring.
    """
    of_find = depth_m[candidate.window][candidate.mask]
    of_find = of_find[of_find > 0]
    if len(of_find) == 0:
        return None
    distance_m = float(np.median(of_find))
    rows, columns = candidate.widened(BORDER_PX + 1, depth_m.shape)
    find = candidate.mask_in(rows, columns).astype(np.uint8)
    square, known = np.ones((2 * BORDER_PX + 1,) * 2, np.uint8), depth_m[rows, columns] > 0
    # The ring may go on beyond the edge of the image.
    held = (cv2.erode(find, square, borderValue=1) > 0) & known
    if held.sum() < MIN_INSIDE:
        held = (find > 0) & known
    v, u = np.nonzero(held)
    every = max(1, len(v) // INSIDE_RAYS)
    inside = v[::every] + rows.start, u[::every] + columns.start
    reach = int(
        2
        * np.hypot(ring.radius_m, ring.height_m / 2)
        / distance_m
        * max(intrinsics.fx, intrinsics.fy)
    )
    free = depth_m > 0
    free[rows, columns] &= ~held
    rows, columns = candidate.widened(reach, depth_m.shape)
    stride = max(
        1, int(np.sqrt((rows.stop - rows.start) * (columns.stop - columns.start) / AROUND_RAYS))
    )
    v, u = np.nonzero(free[rows, columns][::stride, ::stride])
    around = v * stride + rows.start, u * stride + columns.start
    chosen = tuple(np.concatenate(both) for both in zip(inside, around, strict=True))
    weight = np.repeat([every, float(stride**2)], [len(inside[0]), len(around[0])])
    rays, measured_m = intrinsics.ray_grid()[chosen].astype(float), depth_m[chosen].astype(float)
    return DepthSamples(
        ring,
        rays,
        measured_m,
        np.arange(len(weight)) < len(inside[0]),
        weight,
        TOLERANCE_M * noise_growth(distance_m),
    )


def _plane_m(rays: np.ndarray, depth_m: np.ndarray) -> np.ndarray:
    """Return the depths [m] of the robust plane along rays (n, 2), shape (n,).

    The inverse depth of a plane is linear in the rays.
    """
    rows = np.column_stack([np.ones(len(rays)), rays]) * depth_m[:, None]
    weight = np.ones(len(rays))
    for _ in range(PLANE_STEPS):
        # Measured depth over the plane's.
        share = rows @ np.linalg.lstsq(rows * weight[:, None], weight, rcond=None)[0]
        cut = PLANE_CUT * max(1.4826 * float(np.median(np.abs(share - 1))), MIN_PLANE_SIGMA)
        weight = np.maximum(1 - np.square((share - 1) / cut), 0)
    return depth_m / np.where(np.abs(share) > 1e-3, share, 1e-3)


@njit(cache=True, nogil=True)
def _residual(centre, axis, scene):
    """`DepthSamples.residual`; the scene is `DepthSamples._scene`."""
    rays, depth_m, inside, weight, radius_m, thickness_m, half_m, tolerance_m = scene
    missing, total, ahead = 0.0, 0.0, centre @ axis
    away = centre @ centre - ahead * ahead
    for i in range(len(rays)):
        if inside[i]:
            off = (
                depth_m[i]
                - ray_depth(rays[i], centre, axis, ahead, away, radius_m, thickness_m, half_m, 0.0)
            ) / tolerance_m
            missing += weight[i] * min(off * off, 1.0)
            total += weight[i]
        else:
            end_m = ray_depth(
                rays[i],
                centre,
                axis,
                ahead,
                away,
                radius_m,
                thickness_m,
                certain_half_height(half_m),
                CERTAIN_MARGIN,
            )
            missing += weight[i] * min(max((depth_m[i] - end_m) / tolerance_m, 0.0) ** 2, 1.0)
    return missing / max(total, 1.0)


@njit(cache=True, nogil=True)
def _moved(step, centre, axes):
    """Return centre and unit axis after three shifts along `axes` [m] and two tilts."""
    axis = axes[2] + step[3] * axes[0] + step[4] * axes[1]
    return centre + step[0] * axes[0] + step[1] * axes[1] + step[2] * axes[2], axis / np.sqrt(
        axis @ axis
    )


@njit(cache=True, nogil=True)
def _cost(step, centre, axes, scene):
    place, axis = _moved(step, centre, axes)
    return _residual(place, axis, scene)


@njit(cache=True, nogil=True)
def _simplex_search(centre, axes, steps, scene):
    """Return the five shifts and tilts of the least residual, and that residual."""
    corners, costs = np.zeros((6, 5)), np.zeros(6)
    for i in range(6):
        if i:
            corners[i, i - 1] = steps[i - 1]
        costs[i] = _cost(corners[i], centre, axes, scene)
    evaluations = 6
    while evaluations < MAX_EVALUATIONS:
        order = np.argsort(costs)
        corners, costs = corners[order], costs[order]
        if costs[5] - costs[0] < FLAT:
            break
        middle = corners[:5].sum(axis=0) / 5
        tried = middle + (middle - corners[5])
        cost = _cost(tried, centre, axes, scene)
        evaluations += 1
        if cost < costs[0] or cost >= costs[4]:  # further out, or back in on the better side
            factor = 2.0 if cost < costs[0] else (0.5 if cost < costs[5] else -0.5)
            other = middle + factor * (middle - corners[5])
            other_cost = _cost(other, centre, axes, scene)
            evaluations += 1
            if other_cost < cost:
                tried, cost = other, other_cost
        if cost < costs[5]:
            corners[5], costs[5] = tried, cost
            continue
        for i in range(1, 6):  # shrink towards the best
            corners[i] = 0.5 * (corners[0] + corners[i])
            costs[i] = _cost(corners[i], centre, axes, scene)
        evaluations += 5
    best = np.argmin(costs)
    return corners[best], costs[best]
