"""Pose of a ring of known radius and height: depth of its wall and outline in the picture, solved together."""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.cylinder_fit import Cylinders, cross, optimise, perpendiculars, surface_frame, tukey
from soft_arm_vision.outline import Outline, outline_residual

REFERENCE_DEPTH_M = 0.47
DEPTH_SIGMA_LIMITS_M = (0.4e-3, 3e-3)  # at the reference depth; it grows with the square of depth
CORRELATED_DEPTH_PX = 25.0  # pixels of depth that err as one: stereo matching smooths its error over 2 px each way; measured on fits
EDGE_LAGS = 10  # neighbouring edge points that may err together; how much they do is found in the residuals
EDGE_SIGMA_FLOOR_PX = 0.3
EDGE_BIAS_PX = 0.01  # what no averaging removes: threshold, blur, registration of depth to colour
IDEAL_MISFIT = 0.12  # [px^2] of the outline of an ideal mask, cut to whole pixels
BIAS_SHARE = 0.5  # what bends an outline out of shape also shifts it, by this share; measured on masks of blurred and lit pictures
EDGE_CUTS_PX = (None, None, 4.0, 3.0, 2.0) + 12 * (1.5,)  # Tukey's cut, step by step, depth alone at first; ends when converged
FINAL_STEPS = 4  # with the outline weighted by how well it was found to fit
CONVERGED_M, CONVERGED_RAD = 2e-5, 5e-4
EXTENT_SIGMA_M = 0.7e-3  # centre along the axis from the wall's extent, where the outline is of no use
EDGE_ON_SINE = np.sin(np.deg2rad(6.0))
EDGE_ON_TILTS = np.deg2rad((-3.0, 0.0, 3.0))
EDGE_ON_CUTS_PX = (4.0, 3.0, 2.0, 1.5, 1.5)
EDGE_ON_MISFIT = 0.12  # [px^2] an ideal mask's is below
MIN_POINTS = 60
MIN_INLIER_SHARE = 0.4
MIN_EDGE_SHARE = 0.8  # less, and part of the outline is not the ring's
USABLE_EDGE_SHARE = 0.3
MAX_SIGMA_M = 6e-3
ROLL_VARIANCE_RAD2 = np.pi**2 / 3  # nothing is known of the rotation about the axis


class FitRefused(ValueError):
    """No pose can be given; the message is the reason."""


@dataclass(frozen=True)
class RingFit:
    """A ring's pose in the camera's optical frame.

    Attributes:
        centre: [m], shape (3,).
        axis: Unit vector, shape (3,).
        covariance: Of (x, y, z, rotation about x, y, z) [m, rad], shape (6, 6).
        inlier_share: Of the cloud's points.
        edge_share: Of the outline's points that the ring's outline explains; 0 without an outline.
        depth_sigma_m: Noise of depth found in the residuals [m].
    """

    centre: np.ndarray
    axis: np.ndarray
    covariance: np.ndarray
    inlier_share: float
    edge_share: float
    depth_sigma_m: float


def fit_ring(points: np.ndarray, start: Cylinders, ring: Ring, pixel_count: int, outline: Outline | None = None) -> RingFit:
    """Refine a cylinder to the ring's pose.

    Args:
        points: Of the ring's mask [m] in the optical frame, shape (n, 3); outliers are tolerated.
        start: One cylinder near the ring, of the ring's radius.
        ring: Its radius, height and thickness.
        pixel_count: Depth pixels that the points stand for; with the noise's correlation they set how much is known.
        outline: Edge points of the mask.

    Raises:
        FitRefused: If the points do not hold a ring.
    """
    if len(points) < MIN_POINTS:
        raise FitRefused(f'too few depth points: {len(points)}, at least {MIN_POINTS} are needed')
    wall = _Wall(points, ring, min(1.0, pixel_count / CORRELATED_DEPTH_PX / len(points)))
    start = optimise(points, start, cut_m=6e-3, iterations=2, viewpoint=np.zeros(3))
    axis = start.axis[0]
    centre, seen_height_m = wall.middle(start.point[0], axis)
    if not 0.3 * ring.height_m < seen_height_m < 1.5 * ring.height_m:
        raise FitRefused(f'bad fit: the wall found is {1e3 * seen_height_m:.1f} mm high, the ring {1e3 * ring.height_m:.1f} mm')
    # A start some degrees off leaves most of the outline on one side. Weighing it by its own scatter would then settle there: the
    # outline is believed until all is still, and weighed afterwards.
    problem = _Problem(wall, outline, ring)
    state = problem.descend(centre, axis, EDGE_CUTS_PX, believed=True)
    if problem.misfit(state) > EDGE_ON_MISFIT and abs(state.axis @ state.centre) < EDGE_ON_SINE * np.linalg.norm(state.centre):
        state = problem.other_side(state)
    state = problem.descend(state.centre, state.axis, FINAL_STEPS * EDGE_CUTS_PX[-1:], believed=False)
    centre, axis, edge_share = state.centre, state.axis, state.edge_share
    if wall.inlier_share < MIN_INLIER_SHARE:
        share, least = 100 * wall.inlier_share, 100 * MIN_INLIER_SHARE
        raise FitRefused(f'bad fit: {share:.0f} % of the points lie on the ring, at least {least:.0f} % are needed')
    if outline is not None and edge_share < MIN_EDGE_SHARE:
        share, least = 100 * edge_share, 100 * MIN_EDGE_SHARE
        raise FitRefused(f"bad fit: {share:.0f} % of the mask's outline is the ring's, at least {least:.0f} % is needed")
    bias_px = EDGE_BIAS_PX + BIAS_SHARE * np.sqrt(max(problem.misfit(state) - IDEAL_MISFIT, 0.0))
    bias_m = 0.0 if outline is None else bias_px * outline.pixel * centre[2]
    covariance = _covariance(np.linalg.inv(state.hessian), state.axes, bias_m, bias_m / ring.radius_m)
    worst_m = float(np.sqrt(np.linalg.eigvalsh(covariance[:3, :3])[-1]))
    if not worst_m < MAX_SIGMA_M:
        raise FitRefused(f'bad fit: the centre is known to {1e3 * worst_m:.1f} mm only, {1e3 * MAX_SIGMA_M:.0f} mm is allowed')
    return RingFit(centre, axis, covariance, wall.inlier_share, edge_share, wall.sigma_m)


@dataclass(frozen=True)
class _State:
    """Where a descent has come to, with the frame and the normal matrix of its last step."""

    centre: np.ndarray
    axis: np.ndarray
    axes: tuple[np.ndarray, np.ndarray, np.ndarray]
    hessian: np.ndarray
    edge_share: float


class _Problem:
    """Wall and outline as one least-squares problem."""

    def __init__(self, wall: '_Wall', outline: Outline | None, ring: Ring):
        self._wall, self._outline, self._ring = wall, outline, ring

    def descend(self, centre: np.ndarray, axis: np.ndarray, cuts_px: tuple[float | None, ...], believed: bool) -> _State:
        """Gauss-Newton, one step for each of the cuts or until it is still at the last one."""
        for cut_px in cuts_px:
            axes = *perpendiculars(axis), axis
            hessian, gradient = self._wall.terms(centre, axes)
            edge_share = 0.0
            if self._outline is not None and cut_px is not None:
                edge_share, edge_hessian, edge_gradient = _edge_terms(self._outline, centre, axes, self._ring, cut_px, believed)
                hessian, gradient = hessian + edge_hessian, gradient + edge_gradient
            if edge_share < USABLE_EDGE_SHARE:  # no rims to see: the wall's extent must do
                hessian[2, 2] += 1 / EXTENT_SIGMA_M**2
                gradient[2] += (self._wall.middle(centre, axis)[0] - centre) @ axis / EXTENT_SIGMA_M**2
            step = np.linalg.solve(hessian + 1e-9 * np.trace(hessian) * np.eye(5), gradient)
            centre = centre + step[:3] @ axes
            axis = axis + step[3:] @ axes[:2]
            axis = axis / np.linalg.norm(axis)
            if cut_px == cuts_px[-1] and np.abs(step[:3]).max() < CONVERGED_M and np.abs(step[3:]).max() < CONVERGED_RAD:
                break
        return _State(centre, axis, axes, hessian, edge_share)

    def misfit(self, state: _State) -> float:
        """Mean square of the outline's residual [px^2], cut off; 0 without an outline."""
        if self._outline is None:
            return 0.0
        ring = self._ring
        edge = outline_residual(self._outline, state.centre, state.axis, ring.radius_m, ring.height_m, ring.thickness_m)
        return float(np.minimum(np.square(edge.distance / self._outline.pixel), EDGE_CUTS_PX[-1] ** 2).mean())

    def other_side(self, state: _State) -> _State:
        """Best of descents from both sides of the view in which an end is a line: there the outline folds, and a descent can stay in it."""
        ray = state.centre / np.linalg.norm(state.centre)
        found = [state]
        for tilt in EDGE_ON_TILTS:
            flat = state.axis - (state.axis @ ray) * ray
            axis = np.cos(tilt) * flat / np.linalg.norm(flat) + np.sin(tilt) * ray
            with suppress(FitRefused):
                found.append(self.descend(state.centre, axis, EDGE_ON_CUTS_PX, believed=True))
        return min(found, key=self.misfit)


class _Wall:
    """The points against the ring's wall, outside on the near side and inside on the far one.

    Args:
        points: Shape (n, 3) [m].
        ring: The ring.
        independent: Share of the points whose errors are independent of each other.
    """

    def __init__(self, points: np.ndarray, ring: Ring, independent: float):
        self._points, self._ring, self._independent = points, ring, independent
        self._rays = points / np.linalg.norm(points, axis=1, keepdims=True)
        self._spread = np.square(points[:, 2] / REFERENCE_DEPTH_M)
        self.sigma_m, self.inlier_share = 1.5e-3, 0.0

    def terms(self, centre: np.ndarray, axes) -> tuple[np.ndarray, np.ndarray]:
        """Part of the normal equations (5, 5), (5,) of the unknowns (across, across, along, tilt, tilt); estimates the noise anew."""
        e1, e2, axis = axes
        axial, normal, residual = self._frame(centre, axis)
        incidence = np.einsum('ni,ni->n', normal, self._rays)
        inside = incidence > 0  # the far side shows its inner wall
        residual = residual + inside * self._ring.thickness_m
        scale = self._spread * np.maximum(np.abs(incidence), 0.2)  # noise lies along the ray
        seen = np.abs(axial) < 0.75 * self._ring.height_m
        weight = tukey(residual / scale, 4 * self.sigma_m) * seen
        if weight.sum() < MIN_INLIER_SHARE * MIN_POINTS:
            raise FitRefused(f'bad fit: {weight.sum():.0f} points lie on the wall')
        self.inlier_share = float((weight > 0).mean())
        deviation_m = 1.4826 * np.median(np.abs(residual / scale)[weight > 0]) / 0.93  # the cut makes it 7 % too small
        self.sigma_m = float(np.clip(deviation_m, *DEPTH_SIGMA_LIMITS_M))
        information = self._independent * weight / np.square(self.sigma_m * scale)
        across1, across2 = normal @ e1, normal @ e2
        jacobian = np.column_stack([across1, across2, np.zeros(len(axial)), axial * across1, axial * across2])
        return jacobian.T @ (jacobian * information[:, None]), jacobian.T @ (information * residual)

    def middle(self, point: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, float]:
        """Point of the axis half-way between the wall's ends [m], and the wall's height as seen [m]."""
        axial, normal, residual = self._frame(point, axis)
        on_wall = (np.abs(residual) < 3e-3) & (np.einsum('ni,ni->n', normal, self._rays) < 0)
        if on_wall.sum() < MIN_INLIER_SHARE * MIN_POINTS:
            raise FitRefused(f'bad fit: {on_wall.sum()} points lie on the wall')
        low, high = np.percentile(axial[on_wall], (2.0, 98.0))
        return point + 0.5 * (low + high) * axis, float(high - low)

    def _frame(self, point, axis):
        cylinder = Cylinders(point[None], axis[None], np.array([self._ring.radius_m]))
        return (part[0] for part in surface_frame(self._points, cylinder))


def _edge_terms(outline: Outline, centre: np.ndarray, axes, ring: Ring, cut_px: float, believed: bool):
    """Share of explained edge points, and their part of the normal equations of the five unknowns.

    `believed` gives each point the scatter of an ideal mask; otherwise scatter and correlation are those of the residuals.
    """
    e1, e2, axis = axes
    edge = outline_residual(outline, centre, axis, ring.radius_m, ring.height_m, ring.thickness_m)
    pixels = edge.distance / outline.pixel
    weight = tukey(pixels, cut_px)
    close = weight > 0
    share = float(close.mean()) if len(close) else 0.0
    if close.sum() < 12:
        return 0.0, np.zeros((5, 5)), np.zeros(5)
    sigma, correlation = outline.pixel * EDGE_SIGMA_FLOOR_PX, 1.0
    if not believed:
        sigma = max(sigma, outline.pixel * 1.4826 * float(np.median(np.abs(pixels[close]))))
        correlation = _correlation(np.where(close, pixels, 0.0))
    turned = cross(edge.contact - centre, edge.gradient)
    g = edge.gradient
    jacobian = np.column_stack([g @ e1, g @ e2, g @ axis, turned @ e2, -(turned @ e1)])
    information = weight / (correlation * sigma**2)
    return share, jacobian.T @ (jacobian * information[:, None]), jacobian.T @ (information * edge.distance)


def _correlation(residual: np.ndarray) -> float:
    """How many neighbouring residuals say the same: 1 if they are independent of each other."""
    power = residual @ residual
    together = sum(residual[lag:] @ residual[:-lag] for lag in range(1, EDGE_LAGS + 1))
    return max(1.0, 1.0 + 2.0 * together / power) if power > 0 else 1.0


def _covariance(unknowns: np.ndarray, axes, bias_m: float, bias_rad: float) -> np.ndarray:
    """Covariance (6, 6) of position and rotation from that of (across, across, along, tilt, tilt)."""
    e1, e2, axis = axes
    spread = np.zeros((6, 5))
    spread[:3, 0], spread[:3, 1], spread[:3, 2] = e1, e2, axis
    spread[3:, 3], spread[3:, 4] = e2, -e1  # the axis moves along e1 when it turns about e2
    covariance = spread @ unknowns @ spread.T
    covariance[:3, :3] += np.square(bias_m) * np.eye(3)
    covariance[3:, 3:] += np.square(bias_rad) * (np.eye(3) - np.outer(axis, axis)) + ROLL_VARIANCE_RAD2 * np.outer(axis, axis)
    return covariance
