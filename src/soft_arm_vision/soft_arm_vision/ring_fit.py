"""Pose of a ring of known radius and height: depth of its wall and outline in the picture, solved together."""

from dataclasses import dataclass

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.cylinder_fit import Cylinders, cross, optimise, perpendiculars, surface_frame, tukey
from soft_arm_vision.outline import Outline, outline_residual

REFERENCE_DEPTH_M = 0.47
DEPTH_SIGMA_LIMITS_M = (0.4e-3, 3e-3)  # at the reference depth; it grows with the square of depth
DEPTH_CORRELATION_PX = 2.0  # stereo matching smooths its error over this many pixels
EDGE_CORRELATION = 2.0  # neighbouring edge points that err together
EDGE_SIGMA_FLOOR_PX = 0.3
EDGE_BIAS_PX = 0.05  # what no averaging removes: threshold, blur, registration of depth to colour
EDGE_CUTS_PX = (None, None, 4.0, 3.0, 2.0) + 12 * (1.5,)  # Tukey's cut, step by step, depth alone at first; ends when converged
CONVERGED_M, CONVERGED_RAD = 2e-5, 5e-4
EXTENT_SIGMA_M = 0.7e-3  # centre along the axis from the wall's extent, where the outline is of no use
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
    wall = _Wall(points, ring, min(1.0, pixel_count / (4 * np.pi * DEPTH_CORRELATION_PX**2) / len(points)))
    start = optimise(points, start, cut_m=6e-3, iterations=2, viewpoint=np.zeros(3))
    axis = start.axis[0]
    centre, seen_height_m = wall.middle(start.point[0], axis)
    if not 0.3 * ring.height_m < seen_height_m < 1.5 * ring.height_m:
        raise FitRefused(f'bad fit: the wall found is {1e3 * seen_height_m:.1f} mm high, the ring {1e3 * ring.height_m:.1f} mm')
    for edge_cut_px in EDGE_CUTS_PX:
        axes = *perpendiculars(axis), axis
        hessian, gradient = wall.terms(centre, axes)
        edge_share = 0.0
        if outline is not None and edge_cut_px is not None:
            edge_share, edge_hessian, edge_gradient = _edge_terms(outline, centre, axes, ring, edge_cut_px)
            hessian, gradient = hessian + edge_hessian, gradient + edge_gradient
        if edge_share < USABLE_EDGE_SHARE:  # no rims to see: the wall's extent must do
            hessian[2, 2] += 1 / EXTENT_SIGMA_M**2
            gradient[2] += (wall.middle(centre, axis)[0] - centre) @ axis / EXTENT_SIGMA_M**2
        step = np.linalg.solve(hessian + 1e-9 * np.trace(hessian) * np.eye(5), gradient)
        centre = centre + step[:3] @ axes
        axis = axis + step[3:] @ axes[:2]
        axis = axis / np.linalg.norm(axis)
        if edge_cut_px == EDGE_CUTS_PX[-1] and np.abs(step[:3]).max() < CONVERGED_M and np.abs(step[3:]).max() < CONVERGED_RAD:
            break
    if wall.inlier_share < MIN_INLIER_SHARE:
        share, least = 100 * wall.inlier_share, 100 * MIN_INLIER_SHARE
        raise FitRefused(f'bad fit: {share:.0f} % of the points lie on the ring, at least {least:.0f} % are needed')
    if outline is not None and edge_share < MIN_EDGE_SHARE:
        share, least = 100 * edge_share, 100 * MIN_EDGE_SHARE
        raise FitRefused(f"bad fit: {share:.0f} % of the mask's outline is the ring's, at least {least:.0f} % is needed")
    covariance = _covariance(np.linalg.inv(hessian), axes, centre, 0.0 if outline is None else EDGE_BIAS_PX * outline.pixel)
    worst_m = float(np.sqrt(np.linalg.eigvalsh(covariance[:3, :3])[-1]))
    if not worst_m < MAX_SIGMA_M:
        raise FitRefused(f'bad fit: the centre is known to {1e3 * worst_m:.1f} mm only, {1e3 * MAX_SIGMA_M:.0f} mm is allowed')
    return RingFit(centre, axis, covariance, wall.inlier_share, edge_share, wall.sigma_m)


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


def _edge_terms(outline: Outline, centre: np.ndarray, axes, ring: Ring, cut_px: float):
    """Share of explained edge points, and their part of the normal equations of the five unknowns."""
    e1, e2, axis = axes
    edge = outline_residual(outline, centre, axis, ring.radius_m, ring.height_m, ring.thickness_m)
    pixels = edge.distance / outline.pixel
    weight = tukey(pixels, cut_px)
    close = weight > 0
    share = float(close.mean()) if len(close) else 0.0
    if close.sum() < 12:
        return 0.0, np.zeros((5, 5)), np.zeros(5)
    sigma = outline.pixel * max(EDGE_SIGMA_FLOOR_PX, 1.4826 * np.median(np.abs(pixels[close])))
    turned = cross(edge.contact - centre, edge.gradient)
    g = edge.gradient
    jacobian = np.column_stack([g @ e1, g @ e2, g @ axis, turned @ e2, -(turned @ e1)])
    information = weight / (EDGE_CORRELATION * sigma**2)
    return share, jacobian.T @ (jacobian * information[:, None]), jacobian.T @ (information * edge.distance)


def _covariance(unknowns: np.ndarray, axes, centre: np.ndarray, bias: float) -> np.ndarray:
    """Covariance (6, 6) of position and rotation from that of (across, across, along, tilt, tilt)."""
    e1, e2, axis = axes
    spread = np.zeros((6, 5))
    spread[:3, 0], spread[:3, 1], spread[:3, 2] = e1, e2, axis
    spread[3:, 3], spread[3:, 4] = e2, -e1  # the axis moves along e1 when it turns about e2
    covariance = spread @ unknowns @ spread.T
    covariance[:3, :3] += np.square(bias * centre[2]) * np.eye(3)
    covariance[3:, 3:] += ROLL_VARIANCE_RAD2 * np.outer(axis, axis)
    return covariance
