"""Fit the pose of a ring of known size to the depth of its wall and to its contour, together."""

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.clouds.cylinder import Cylinders, cross, optimise, perpendiculars, tukey
from soft_arm_vision.errors import FitRefused, Underconstrained
from soft_arm_vision.ring.edge_error import CUT_LIMITS_PX, ROUNDING_PX2, TAIL_CUT, edge_posterior
from soft_arm_vision.ring.outline import Outline, OutlineResidual, outline_residual
from soft_arm_vision.ring.wall import MIN_INLIER_SHARE, MIN_POINTS, RingWall

START_POINTS, START_EDGES = 500, 150  # are enough to follow
# Tukey's cut at each step; the first steps use depth alone. The fit ends when it has converged.
EDGE_CUTS_PX = (None, None, 4.0, 3.0, 2.0) + 12 * (1.5,)
BELIEVED_SIGMA_PX = 0.3  # of an edge point while the outline is followed
MASK_BIAS_SIGMA_PX, MAX_MASK_BIAS_PX = 1.0, 2.0  # of all of them together meanwhile
ARM_ADJACENT_WEIGHT = 0.1  # of one beside the arm meanwhile
FINAL_STEPS = 4  # with the outline's errors related
TWO_FOLD_STEPS = 2  # of them to tell which side of a fold is the right one
FIRST_CUT_PX = 3.0
CONVERGED_M, CONVERGED_RAD = 1e-4, 3e-3
STILL_SIGMAS = 0.1
EXTENT_SIGMA_M = (
    0.7e-3  # centre along the axis from the wall's extent, where the outline is of no use
)
MAX_BEYOND_M = 3e-3  # of the wall seen, past an end of the ring found
EDGE_ON_SINE = np.sin(np.deg2rad(12.0))
TWO_FOLD_TILTS = np.deg2rad((-3.0, 3.0))
EDGE_ON_CUTS_PX = (4.0, 3.0, 2.0, 1.5, 1.5)
# Nats of evidence that count as one between the two poses of a two-fold ambiguity, since the error
# model of the contour is only approximate.
TEMPER = 5.0
MIN_EDGE_SHARE = 0.8  # less, and part of the outline is not the ring's
USABLE_EDGE_SHARE = 0.3
MAX_SIGMA_M = (
    1.0e-3  # a pose known worse is of no use to a controller that is to be right to a millimetre
)
ROLL_VARIANCE_RAD2 = np.pi**2 / 3  # nothing is known of the rotation about the axis


Axes = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class RingFit:
    """A ring's pose in the camera's optical frame.

    Attributes:
        centre: Centre of the ring [m], shape (3,).
        axis: Unit vector, shape (3,).
        covariance: Covariance of (x, y, z, rotation about x, y, z) [m, rad], shape (6, 6).
        inlier_share: Share of the cloud's points that lie on the wall.
        edge_share: Share of the outline's points that the ring's outline explains; 0 without an
            outline.
    """

    centre: np.ndarray
    axis: np.ndarray
    covariance: np.ndarray
    inlier_share: float
    edge_share: float


def fit_ring(
    points: np.ndarray, start: Cylinders, ring: Ring, pixel: float, outline: Outline | None = None
) -> RingFit:
    """Refine a cylinder to the ring's pose.

    Args:
        points: Points of the ring's mask [m] in the optical frame, shape (n, 3), about one for
            each cell of `cloud.CELL_PX`; outliers are tolerated.
        start: One cylinder near the ring, of the ring's radius.
        ring: Radius, height and thickness of the ring.
        pixel: Size of a pixel in normalised coordinates; with the correlation of the noise it
            determines the information in the points.
        outline: Edge points of the mask.

    Raises:
        FitRefused: If the points do not hold a ring.
        Underconstrained: If they are too few, or the pose would be known too badly.
    """
    if len(points) < MIN_POINTS:
        raise Underconstrained(
            f'too few depth points: {len(points)}, at least {MIN_POINTS} are needed'
        )
    wall = RingWall(points, ring, pixel)
    start = optimise(
        points[:: max(1, len(points) // START_POINTS)],
        start,
        cut_m=6e-3,
        iterations=2,
        viewpoint=np.zeros(3),
    )
    centre, seen_height_m = wall.middle(start.point[0], start.axis[0])
    if not 0.3 * ring.height_m < seen_height_m < 1.5 * ring.height_m:
        raise FitRefused(
            f"bad fit: wall {1e3 * seen_height_m:.1f} mm high, the ring's is "
            f'{1e3 * ring.height_m:.1f} mm. '
            "Check the ring's colour in the robot file and the scene behind it"
        )
    # A start some degrees off leaves most of the outline on one side. Weighing it by its own
    # scatter would then settle there: the outline is believed until all is still, and weighed
    # afterwards.
    problem = _Problem(wall, outline, ring)
    state = problem.descend(centre, start.axis[0], EDGE_CUTS_PX)
    if outline is not None and state.edge_share >= USABLE_EDGE_SHARE:
        state = problem.weigh(outline, state)
        if abs(state.axis @ state.centre) < EDGE_ON_SINE * np.linalg.norm(state.centre):
            state = problem.resolve_two_fold_ambiguity(outline, state)
    if wall.inlier_share < MIN_INLIER_SHARE:
        share, least = 100 * wall.inlier_share, 100 * MIN_INLIER_SHARE
        raise FitRefused(
            f'bad fit: {share:.0f} % of the points lie on the ring, at least {least:.0f} % '
            'are needed'
        )
    if outline is not None and state.edge_share < MIN_EDGE_SHARE:
        share, least = 100 * state.edge_share, 100 * MIN_EDGE_SHARE
        raise FitRefused(
            f"bad fit: {share:.0f} % of the mask's outline is the ring's, at least "
            f'{least:.0f} % is needed'
        )
    beyond_m = abs(wall.beyond(state.centre, state.axis))
    if beyond_m > MAX_BEYOND_M:
        raise FitRefused(
            f'bad fit: the wall seen ends {1e3 * beyond_m:.1f} mm past the ring found, '
            f'{1e3 * MAX_BEYOND_M:.1f} mm is allowed'
        )
    covariance = _covariance(state.covariance, state.axes)
    worst_m = float(np.sqrt(np.linalg.eigvalsh(covariance[:3, :3])[-1]))
    if not worst_m < MAX_SIGMA_M:
        raise Underconstrained(
            f'bad fit: the centre is known to {1e3 * worst_m:.1f} mm only, '
            f'{1e3 * MAX_SIGMA_M:.1f} mm is allowed'
        )
    return RingFit(state.centre, state.axis, covariance, wall.inlier_share, state.edge_share)


@dataclass(frozen=True)
class _State:
    """State of a descent, with the frame and the covariance (5, 5) of its last step."""

    centre: np.ndarray
    axis: np.ndarray
    axes: Axes
    covariance: np.ndarray
    edge_share: float
    log_evidence: float = -np.inf


class _Problem:
    """Wall and outline as one least-squares problem."""

    def __init__(self, wall: RingWall, outline: Outline | None, ring: Ring):
        self._wall, self._outline, self._ring = wall, outline, ring
        self._thinned = None if outline is None else outline.thinned(START_EDGES)

    def descend(
        self, centre: np.ndarray, axis: np.ndarray, cuts_px: tuple[float | None, ...]
    ) -> _State:
        """Descend by Gauss-Newton steps, one for each cut, until convergence at the last cut."""
        for cut_px in cuts_px:
            axes = *perpendiculars(axis), axis
            hessian, gradient = self._wall.terms(centre, axes, roughly=self._thinned is not None)
            edge_share = 0.0
            if self._outline is not None and self._thinned is not None and cut_px is not None:
                _, residual_px, jacobian = self._edges(self._thinned, centre, axes)
                mask_bias_px = np.clip(np.median(residual_px), -MAX_MASK_BIAS_PX, MAX_MASK_BIAS_PX)
                weight = tukey(residual_px - mask_bias_px, cut_px)
                edge_share = float((weight > 0).mean()) if (weight > 0).sum() >= 12 else 0.0
                if edge_share > 0:
                    weight = np.where(self._thinned.arm_adjacent, ARM_ADJACENT_WEIGHT, 1.0) * weight
                    information = weight * (
                        len(self._outline.rays) / len(weight) / BELIEVED_SIGMA_PX**2
                    )
                    known = jacobian.T * information
                    alike = 1 / (information.sum() + 1 / MASK_BIAS_SIGMA_PX**2)
                    # What all edges say alike may be an error of the mask: too wide or too narrow.
                    every = known.sum(axis=1)
                    hessian = hessian + known @ jacobian - alike * np.outer(every, every)
                    gradient = (
                        gradient + known @ residual_px - alike * (information @ residual_px) * every
                    )
            if edge_share < USABLE_EDGE_SHARE:  # no rims to see: the wall's extent must do
                hessian[2, 2] += 1 / EXTENT_SIGMA_M**2
                gradient[2] += (
                    (self._wall.middle(centre, axis)[0] - centre) @ axis / EXTENT_SIGMA_M**2
                )
            covariance = np.linalg.inv(hessian + 1e-9 * np.trace(hessian) * np.eye(5))
            centre, axis, still = _moved(centre, axes, covariance @ gradient)
            if cut_px == cuts_px[-1] and still:
                break
        return _State(centre, axis, axes, covariance, edge_share)

    def weigh(self, outline: Outline, state: _State, steps: int = FINAL_STEPS) -> _State:
        """Descend with correlated errors of the outline, whose size is estimated."""
        centre, axis, cut_px = state.centre, state.axis, FIRST_CUT_PX
        for _ in range(steps):
            axes = *perpendiculars(axis), axis
            hessian, gradient = self._wall.terms(centre, axes)
            edge, residual_px, jacobian = self._edges(outline, centre, axes)
            weight = tukey(residual_px, np.where(outline.arm_adjacent, CUT_LIMITS_PX[1], cut_px))
            if (weight > 0).mean() < USABLE_EDGE_SHARE:
                raise FitRefused("bad fit: the mask's outline is not the ring's")
            normals = edge.gradient[:, :2] / np.linalg.norm(
                edge.gradient[:, :2], axis=1, keepdims=True
            )
            pixels = outline.rays / outline.pixel
            arm_adjacent = outline.arm_adjacent
            found = edge_posterior(
                hessian, gradient, pixels, normals, arm_adjacent, residual_px, jacobian, weight
            )
            centre, axis, _ = _moved(centre, axes, found.step)
            cut_px = float(
                np.clip(TAIL_CUT * np.sqrt(found.size_px**2 + ROUNDING_PX2), *CUT_LIMITS_PX)
            )
            if (np.abs(found.step) < STILL_SIGMAS * np.sqrt(np.diag(found.covariance))).all():
                break
        return _State(
            centre, axis, axes, found.covariance, float((weight > 0).mean()), found.log_evidence
        )

    def resolve_two_fold_ambiguity(self, outline: Outline, state: _State) -> _State:
        """Compare this pose with those that look alike when an end of the ring is seen edge-on.

        There the outline is ambiguous: an end turned a little towards the camera looks like one
        turned away as much, and a descent stays at one of the two.
        """
        ray, found = state.centre / np.linalg.norm(state.centre), [state]
        sine = state.axis @ ray
        flat = state.axis - sine * ray
        for tilt in TWO_FOLD_TILTS if abs(sine) < TWO_FOLD_TILTS[1] else (-np.arcsin(sine),):
            axis = np.cos(tilt) * flat / np.linalg.norm(flat) + np.sin(tilt) * ray
            with suppress(FitRefused):
                found.append(
                    self.weigh(
                        outline, self.descend(state.centre, axis, EDGE_ON_CUTS_PX), TWO_FOLD_STEPS
                    )
                )
        best = max(found, key=lambda f: f.log_evidence)
        share = np.array([np.exp((f.log_evidence - best.log_evidence) / TEMPER) for f in found])
        covariance = best.covariance.copy()
        for other, weight in zip(found, share / share.sum(), strict=True):
            apart = np.concatenate(
                [best.axes @ (other.centre - best.centre), best.axes[:2] @ (other.axis - best.axis)]
            )
            covariance += weight * np.outer(apart, apart)
        if best is not state:
            final = self.weigh(outline, best, FINAL_STEPS - TWO_FOLD_STEPS)
            best, covariance = final, covariance + final.covariance - best.covariance
        return replace(best, covariance=covariance)

    def _edges(
        self, outline: Outline, centre: np.ndarray, axes: Axes
    ) -> tuple[OutlineResidual, np.ndarray, np.ndarray]:
        """Return the contour residual, its distances (n,) [px] and their Jacobian (n, 5) [px]."""
        ring, (e1, e2, axis) = self._ring, axes
        edge = outline_residual(
            outline, centre, axis, ring.radius_m, ring.height_m, ring.thickness_m
        )
        turned, g = cross(edge.contact - centre, edge.gradient), edge.gradient
        jacobian = np.column_stack([g @ e1, g @ e2, g @ axis, turned @ e2, -(turned @ e1)])
        return edge, edge.distance / outline.pixel, jacobian / outline.pixel


def _moved(centre: np.ndarray, axes: Axes, step: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return centre and axis after a step of the five unknowns, and whether it has converged."""
    axis = axes[2] + step[3:] @ np.array(axes[:2])
    still = np.abs(step[:3]).max() < CONVERGED_M and np.abs(step[3:]).max() < CONVERGED_RAD
    return centre + step[:3] @ np.array(axes), axis / np.linalg.norm(axis), bool(still)


def _covariance(unknowns: np.ndarray, axes: Axes) -> np.ndarray:
    """Return the covariance (6, 6) of position and rotation from that of the five unknowns."""
    e1, e2, axis = axes
    spread = np.zeros((6, 5))
    spread[:3, 0], spread[:3, 1], spread[:3, 2] = e1, e2, axis
    spread[3:, 3], spread[3:, 4] = e2, -e1  # the axis moves along e1 when it turns about e2
    covariance = spread @ unknowns @ spread.T
    covariance[3:, 3:] += ROLL_VARIANCE_RAD2 * np.outer(axis, axis)
    return covariance
