"""Fit the pose of a ring of known size to the depth of its wall and to its contour, together.

One robust least-squares problem (Gauss-Newton with Tukey's biweight) of eight unknowns: five of the
pose, the offset of depth, and two offsets of the contour, of edges before the background and of
those before the arm. The offsets have priors: what all points err alike is known no better, however
many they are, and the covariance says so.
"""

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from soft_arm_description.depth_sensor import DepthSensor
from soft_arm_description.robot import Ring
from soft_arm_vision.clouds.cloud import CELL_PX
from soft_arm_vision.clouds.cylinder import cross, normal_equations, perpendiculars, tukey
from soft_arm_vision.errors import FitRefused
from soft_arm_vision.ring.outline import EDGES_PER_PX, Outline, outline_residual
from soft_arm_vision.ring.tolerances import TOLERANCES

STEPS = 15
STILL_M, STILL_RAD = 2e-5, 5e-4  # last step of a fit
ROLL_VARIANCE_RAD2 = np.pi**2 / 3  # nothing is known of the rotation about the axis
MAX_SHIFT_M, MAX_TILT_RAD = 0.02, 0.3  # of one step
Axes = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class RingFit:
    """A ring's pose in the camera's optical frame.

    Attributes:
        centre: Centre of the ring [m], shape (3,).
        axis: Unit vector, shape (3,).
        covariance: Covariance of (x, y, z, rotation about x, y, z) [m, rad], shape (6, 6).
        inlier_share: Share of the points that lie on the wall.
        edge_share: Share of the contour's points that the ring's contour explains.
        shape_sd_m: Standard deviation of the centre in its worst direction, given the offset of
            depth: what the view of the ring leaves open.
        cost: Sum of squared normalised residuals, each beyond the cut counted as at it.
    """

    centre: np.ndarray
    axis: np.ndarray
    covariance: np.ndarray
    inlier_share: float
    edge_share: float
    shape_sd_m: float = 0.0
    cost: float = 0.0


class RingProblem:
    """Points of the wall and edge points of the contour, in which a ring is fitted.

    Args:
        points: Points of the ring's mask [m] in the optical frame, shape (n, 3), one for each cell
            of `cloud.CELL_PX`; outliers are tolerated.
        outline: Edge points of the mask.
        ring: Radius, height and thickness of the ring.
        sensor: Errors of the camera.
    """

    def __init__(self, points: np.ndarray, outline: Outline, ring: Ring, sensor: DepthSensor):
        self._points, self._outline, self._ring = points, outline, ring
        depth_m = points[:, 2]
        self._directions = points / depth_m[:, None]
        self._spread = sensor.sigma_m(depth_m) * np.linalg.norm(self._directions, axis=1)
        # Number of cells, and of edge points, that are worth one whose error is independent.
        self._alike = max(1.0, sensor.independent_px2 / CELL_PX**2)
        self._edge_alike = max(1.0, 2 * TOLERANCES.edge_correlation_px * EDGES_PER_PX)
        self._edge_px = float(np.hypot(sensor.edge_sd_px, TOLERANCES.edge_rounding_px))
        offset_sd_m = max(float(sensor.common_sd_m(np.median(depth_m))), 1e-6)
        self._prior_sd = np.array([offset_sd_m, TOLERANCES.edge_offset_px, TOLERANCES.arm_edge_px])
        self._prior_mean = np.array([sensor.bias_m, 0.0, 0.0])

    def solve(
        self, centre: np.ndarray, axis: np.ndarray, cuts_px: tuple[float, ...] | None = None
    ) -> RingFit:
        """Descend from a start to the pose of least cost.

        Raises:
            FitRefused: If too few points lie on the wall or too few edges on the contour.
        """
        cuts_px = TOLERANCES.edge_cuts_px if cuts_px is None else cuts_px
        offsets = self._prior_mean.copy()
        wall_scale = edge_scale = 1.0
        for number in range(STEPS):
            cut_px = cuts_px[min(number, len(cuts_px) - 1)]
            axes = *perpendiculars(axis), axis
            wall, r, w, sigma = self._wall(centre, axes, offsets[0], wall_scale)
            edge, s, v, edge_sigma = self._edges(centre, axes, offsets, cut_px, edge_scale)
            if np.count_nonzero(w) < TOLERANCES.min_points:
                raise FitRefused(f'bad fit: {np.count_nonzero(w)} points lie on the wall')
            if np.count_nonzero(v) < TOLERANCES.min_edges:
                raise FitRefused("bad fit: the mask's outline is not the ring's")
            wall_scale = max(1.0, 1.4826 * float(np.median(np.abs(r / sigma)[w > 0])) * wall_scale)
            free = (v > 0) & ~self._outline.arm_adjacent
            if free.sum() >= TOLERANCES.min_edges and number >= len(cuts_px) - 1:
                edge_scale = max(
                    1.0, float(np.sqrt(np.average(s[free] ** 2, weights=v[free]))) / self._edge_px
                )
            known = wall.T * (w / sigma**2 / self._alike)
            edge_known = edge.T * (v / edge_sigma**2 / self._edge_alike)
            hessian = known @ wall + edge_known @ edge
            gradient = known @ r + edge_known @ s
            hessian[[5, 6, 7], [5, 6, 7]] += 1 / self._prior_sd**2
            gradient[5:] += (self._prior_mean - offsets) / self._prior_sd**2
            hessian[np.arange(5), np.arange(5)] += 1e-9 * np.trace(hessian[:5, :5])
            covariance = np.linalg.inv(hessian)
            step = covariance @ gradient
            step[:3] = np.clip(step[:3], -MAX_SHIFT_M, MAX_SHIFT_M)
            step[3:5] = np.clip(step[3:5], -MAX_TILT_RAD, MAX_TILT_RAD)
            offsets = offsets + step[5:]
            centre = centre + step[:3] @ np.array(axes)
            axis = axis + step[3:5] @ np.array(axes[:2])
            axis = axis / np.linalg.norm(axis)
            still = np.abs(step[:3]).max() < STILL_M and np.abs(step[3:5]).max() < STILL_RAD
            if still and number >= len(cuts_px):
                break
        cost = _cost(r / sigma, w) / self._alike + _cost(s / edge_sigma, v) / self._edge_alike
        cost += float(np.square((offsets - self._prior_mean) / self._prior_sd).sum())
        known = np.delete(np.delete(hessian, 5, axis=0), 5, axis=1)
        return RingFit(
            centre,
            axis,
            _six(covariance[:5, :5], axes),
            np.count_nonzero(w) / len(w),
            np.count_nonzero(v) / len(v),
            float(np.sqrt(np.linalg.eigvalsh(np.linalg.inv(known)[:3, :3])[-1])),
            cost,
        )

    def resolve_two_fold_ambiguity(self, found: RingFit) -> RingFit:
        """Return the better of a pose and its mirror image, and let the covariance hold both.

        Where an end of the ring is seen nearly edge-on, one turned a little towards the camera
        looks like one turned away as much, and a descent stays at one of the two.
        """
        ray = found.centre / np.linalg.norm(found.centre)
        sine = float(found.axis @ ray)
        if abs(sine) > np.sin(TOLERANCES.edge_on_rad):
            return found
        flat = found.axis - sine * ray
        least = TOLERANCES.mirror_rad
        tilts = (-least, least) if abs(sine) < least else (-np.arcsin(sine),)
        fits = [found]
        for tilt in tilts:
            axis = np.cos(tilt) * flat / np.linalg.norm(flat) + np.sin(tilt) * ray
            with suppress(FitRefused, np.linalg.LinAlgError):
                fits.append(self.solve(found.centre, axis, TOLERANCES.edge_cuts_px[-2:]))
        best = min(fits, key=lambda f: f.cost)
        share = np.array([np.exp(0.5 * (best.cost - f.cost) / TOLERANCES.temper) for f in fits])
        share /= share.sum()
        covariance = best.covariance.copy()
        for other, weight in zip(fits, share, strict=True):
            apart = np.concatenate([other.centre - best.centre, np.cross(best.axis, other.axis)])
            covariance += weight * np.outer(apart, apart)
        return replace(best, covariance=covariance)

    def _wall(
        self, centre: np.ndarray, axes: Axes, offset_m: float, scale: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return rows (n, 8), residuals [m], weights and noise [m] of the points, (n,) each."""
        points = self._points - offset_m * self._directions
        rows, residual, weight, noise, *_ = normal_equations(
            points, np.asarray(centre, float), *np.array(axes), self._ring.radius_m,
            self._ring.thickness_m, np.zeros(3), scale * self._spread, TOLERANCES.cut_sigmas,
            False, TOLERANCES.min_incidence, 0.75 * self._ring.height_m,
        )  # fmt: skip
        full = np.zeros((len(rows), 8))
        full[:, [0, 1, 3, 4]] = rows[:, :4]
        full[:, 5] = rows[:, 0] * (self._directions @ axes[0]) + rows[:, 1] * (
            self._directions @ axes[1]
        )
        return full, residual, weight, noise

    def _edges(
        self, centre: np.ndarray, axes: Axes, offsets: np.ndarray, cut_px: float, scale: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return rows (n, 8), residuals, weights and noise [px] of the edge points, (n,) each."""
        outline, ring, (e1, e2, axis) = self._outline, self._ring, axes
        edge = outline_residual(
            outline, centre, axis, ring.radius_m, ring.height_m, ring.thickness_m
        )
        turned, g = cross(edge.contact - centre, edge.gradient), edge.gradient
        beside_arm = outline.arm_adjacent
        full = np.zeros((len(g), 8))
        full[:, :5] = np.column_stack([g @ e1, g @ e2, g @ axis, turned @ e2, -(turned @ e1)])
        full[:, :5] /= outline.pixel
        full[:, 6], full[:, 7] = ~beside_arm, beside_arm
        residual = edge.distance / outline.pixel - full[:, 6:] @ offsets[1:]
        sigma = np.where(beside_arm, TOLERANCES.arm_edge_px, scale * self._edge_px)
        cut = np.where(beside_arm, np.maximum(cut_px, 3 * TOLERANCES.arm_edge_px), cut_px)
        return full, residual, tukey(residual, cut), sigma


def _cost(normalised: np.ndarray, weight: np.ndarray) -> float:
    """Return the sum of squares; a point without weight counts as one at Tukey's cut."""
    cut = TOLERANCES.cut_sigmas
    return float(np.minimum(np.where(weight > 0, np.square(normalised), cut**2), cut**2).sum())


def _six(unknowns: np.ndarray, axes: Axes) -> np.ndarray:
    """Return the covariance (6, 6) of position and rotation from that of the five unknowns."""
    e1, e2, axis = axes
    spread = np.zeros((6, 5))
    spread[:3, 0], spread[:3, 1], spread[:3, 2] = e1, e2, axis
    spread[3:, 3], spread[3:, 4] = e2, -e1  # the axis moves along e1 when it turns about e2
    covariance = spread @ unknowns @ spread.T
    covariance[3:, 3:] += ROLL_VARIANCE_RAD2 * np.outer(axis, axis)
    return covariance
