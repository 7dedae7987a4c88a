"""Pose of a ring of known radius and height: depth of its wall and outline in the picture, solved together."""

from dataclasses import dataclass

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.cylinder_fit import Cylinders, optimise, perpendiculars, surface_frame, tukey
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
MIN_INLIER_SHARE = 0.45
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
        edge_share: Of the outline's points that the outline model explains; 0 where the outline was not used.
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
    camera = np.zeros(3)
    start = optimise(points, start, cut_m=6e-3, iterations=2, viewpoint=camera)
    height_m = ring.height_m
    axis = start.axis[0]
    centre, extent = _centre_from_extent(points, start)
    if not 0.3 * height_m < extent < 1.5 * height_m:
        raise FitRefused(f'bad fit: the wall found is {1e3 * extent:.1f} mm high, the ring {1e3 * height_m:.1f} mm')
    rays = points / np.linalg.norm(points, axis=1, keepdims=True)
    spread = np.square(points[:, 2] / REFERENCE_DEPTH_M)
    independent = min(1.0, pixel_count / (4 * np.pi * DEPTH_CORRELATION_PX**2) / len(points))
    sigma_m = 1.5e-3
    for edge_cut_px in EDGE_CUTS_PX:
        e1, e2 = perpendiculars(axis)
        axial, normal, residual = (part[0] for part in surface_frame(points, Cylinders(centre[None], axis[None], start.radius)))
        incidence = np.einsum('ni,ni->n', normal, rays)
        scale = spread * np.maximum(-incidence, 0.2)  # noise lies along the ray
        seen = (incidence < 0) & (np.abs(axial) < 0.75 * height_m)
        weight = tukey(residual / scale, 4 * sigma_m) * seen
        if weight.sum() < MIN_INLIER_SHARE * MIN_POINTS:
            raise FitRefused(f'bad fit: {weight.sum():.0f} points lie on the wall')
        sigma_m = float(np.clip(1.4826 * np.median(np.abs(residual / scale)[weight > 0]) / 0.93, *DEPTH_SIGMA_LIMITS_M))
        information = independent * weight / np.square(sigma_m * scale)
        across1, across2 = normal @ e1, normal @ e2
        jacobian = np.column_stack([across1, across2, np.zeros(len(points)), axial * across1, axial * across2])
        hessian = jacobian.T @ (jacobian * information[:, None])
        gradient = jacobian.T @ (information * residual)
        edge_share = 0.0
        if outline is not None and edge_cut_px is not None:
            edge_share, edge_hessian, edge_gradient = _edge_terms(outline, centre, (e1, e2, axis), ring, edge_cut_px)
            hessian, gradient = hessian + edge_hessian, gradient + edge_gradient
        if edge_share < 0.3:  # no rims to see: the wall's extent must do
            middle, _ = _centre_from_extent(points, Cylinders(centre[None], axis[None], start.radius))
            hessian[2, 2] += 1 / EXTENT_SIGMA_M**2
            gradient[2] += (middle - centre) @ axis / EXTENT_SIGMA_M**2
        step = np.linalg.solve(hessian + 1e-9 * np.trace(hessian) * np.eye(5), gradient)
        centre = centre + step[0] * e1 + step[1] * e2 + step[2] * axis
        axis = axis + step[3] * e1 + step[4] * e2
        axis = axis / np.linalg.norm(axis)
        if edge_cut_px == EDGE_CUTS_PX[-1] and np.abs(step[:3]).max() < CONVERGED_M and np.abs(step[3:]).max() < CONVERGED_RAD:
            break
    inlier_share = float((weight > 0).mean())
    if inlier_share < MIN_INLIER_SHARE:
        raise FitRefused(
            f'bad fit: {100 * inlier_share:.0f} % of the points lie on the ring, at least {100 * MIN_INLIER_SHARE:.0f} % are needed'
        )
    covariance = _covariance(np.linalg.inv(hessian), (e1, e2, axis), centre, 0.0 if outline is None else EDGE_BIAS_PX * outline.pixel)
    worst_m = float(np.sqrt(np.linalg.eigvalsh(covariance[:3, :3])[-1]))
    if not worst_m < MAX_SIGMA_M:
        raise FitRefused(f'bad fit: the centre is known to {1e3 * worst_m:.1f} mm only, {1e3 * MAX_SIGMA_M:.0f} mm is allowed')
    return RingFit(centre, axis, covariance, inlier_share, edge_share, sigma_m)


def _centre_from_extent(points: np.ndarray, cylinder: Cylinders) -> tuple[np.ndarray, float]:
    """Point of the axis half-way between the wall's ends [m], and the wall's height as seen [m]."""
    axial, normal, residual = (part[0] for part in surface_frame(points, cylinder))
    on_wall = (np.abs(residual) < 3e-3) & (np.einsum('ni,ni->n', normal, points) < 0)
    if on_wall.sum() < MIN_INLIER_SHARE * MIN_POINTS:
        raise FitRefused(f'bad fit: {on_wall.sum()} points lie on the wall')
    low, high = np.percentile(axial[on_wall], (2.0, 98.0))
    return cylinder.point[0] + 0.5 * (low + high) * cylinder.axis[0], float(high - low)


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
    lever = edge.contact - centre
    jacobian = np.column_stack(
        [
            edge.gradient @ e1,
            edge.gradient @ e2,
            edge.gradient @ axis,
            np.einsum('ni,ni->n', edge.gradient, np.cross(e2, lever)),
            -np.einsum('ni,ni->n', edge.gradient, np.cross(e1, lever)),
        ]
    )
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
