"""Fit the pose of a ring of known size to the depth of its wall and to its contour, together.

One robust least-squares problem (Gauss-Newton with Tukey's biweight). Unknown are the pose (five),
the offset of depth, and an offset of each piece of the contour. The priors of the offsets bound the
accuracy, however many points there are: errors common to many points do not average out. Shading
and background displace each piece differently, and more where its edge points scatter more.
"""

# mypy: disable-error-code="no-untyped-def"
# Numba infers the types of the compiled functions.

from dataclasses import dataclass, replace

import numpy as np

from soft_arm_description.depth_sensor import DepthSensor
from soft_arm_description.robot import Ring
from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_vision.clouds.cylinder import normal_equations, perpendiculars_of_one
from soft_arm_vision.errors import FitRefused
from soft_arm_vision.ring.outline import (
    EDGES_PER_PX,
    FAR_SIDE,
    INNER_EDGE,
    OTHER_RIM,
    PIECES,
    Outline,
    edge_distances,
)
from soft_arm_vision.tolerances import TOLERANCES

ROLL_VARIANCE_RAD2 = np.pi**2 / 3  # the rotation about the axis is unknown
STEPS, STILL = TOLERANCES.max_steps, TOLERANCES.still
FIRST_CUT_PX, CUT_PX = TOLERANCES.edge_cuts_px
CUT_SIGMAS, MIN_INCIDENCE = TOLERANCES.outlier_sigmas, TOLERANCES.min_incidence
MIN_POINTS, MIN_EDGES = TOLERANCES.min_points, TOLERANCES.min_edges
OFFSET_SHARE = TOLERANCES.edge_offset_share
DEPTH, CONTOUR = 5, 6  # unknowns after the pose: the offset of depth, and of the pieces
UNKNOWNS = CONTOUR + PIECES


@dataclass(frozen=True)
class RingFit:
    """A ring's pose in the camera's optical frame.

    Attributes:
        centre: Centre of the ring [m], shape (3,).
        axis: Unit vector, shape (3,).
        covariance: Covariance of (x, y, z, rotation about x, y, z) [m, rad], shape (6, 6).
        edge_share: Share of the mask's edge points at which the colour changes and that lie on the
            ring's contour.
        shape_sd_m: Standard deviation of the centre in its worst direction, given the offset of
            depth: not determined by the view of the ring.
        cost: -2 log likelihood up to a constant; the squared residual of an outlier is the cut's.
    """

    centre: np.ndarray
    axis: np.ndarray
    covariance: np.ndarray
    edge_share: float
    shape_sd_m: float = 0.0
    cost: float = 0.0


class RingProblem:
    """Points of the wall and edge points of the contour, in which a ring is fitted.

    Args:
        points: Points of the ring's mask [m] in the optical frame, shape (n, 3), one for each cell
            of `Tolerances.cell_px`; outliers are tolerated.
        outline: Edge points of the mask.
        ring: Radius, height and thickness of the ring.
        sensor: Errors of the camera.
    """

    def __init__(self, points: np.ndarray, outline: Outline, ring: Ring, sensor: DepthSensor):
        points = np.ascontiguousarray(points)
        depth_m = points[:, 2]
        directions = points / depth_m[:, None]
        spread = sensor.sigma_m(depth_m) * np.linalg.norm(directions, axis=1)
        cells_per_independent = max(1.0, sensor.independent_px2 / TOLERANCES.cell_px**2)
        correlation_px = TOLERANCES.edge_correlation_rad / outline.pixel
        edges_per_independent = max(1.0, 2 * correlation_px * EDGES_PER_PX)
        other_rad, inside_rad, side_rad = TOLERANCES.edge_rad
        usual_rad = np.full(PIECES, side_rad)
        usual_rad[OTHER_RIM], usual_rad[[FAR_SIDE, INNER_EDGE]] = other_rad, inside_rad
        beyond_px = np.zeros(PIECES)
        beyond_px[[FAR_SIDE, INNER_EDGE]] = TOLERANCES.inside_offset_rad / outline.pixel
        self._wall = points, directions, spread, cells_per_independent
        self._edges = (
            np.ascontiguousarray(outline.rays),
            np.ascontiguousarray(outline.arm_adjacent),
            outline.pixel,
            np.hypot(sensor.edge_sd_px, usual_rad / outline.pixel),
            beyond_px,
            edges_per_independent,
        )
        offset_sd_m = max(float(sensor.common_sd_m(np.median(depth_m))), 1e-6)
        self._depth_offset = sensor.bias_m, offset_sd_m
        self._seen_share = outline.seen_share
        self._size = ring.radius_m, ring.height_m, ring.thickness_m

    def solve(self, centre: np.ndarray, axis: np.ndarray) -> RingFit:
        """Return the pose of least cost near a start, centre [m] (3,) and unit axis (3,).

        Raises:
            FitRefused: If too few points lie on the wall or too few edges on the contour.
        """
        centre, axis, axes, hessian, edge_share, cost = _descend(
            self._wall, self._edges, self._size, self._depth_offset,
            np.array(centre, float), np.array(axis, float),
        )  # fmt: skip
        known = np.delete(np.arange(UNKNOWNS), DEPTH)
        shape = np.linalg.inv(hessian[np.ix_(known, known)])
        return RingFit(
            centre,
            axis,
            _six(np.linalg.inv(hessian)[:5, :5], axes),
            edge_share * self._seen_share,
            float(np.sqrt(np.linalg.eigvalsh(shape[:3, :3])[-1])),
            cost,
        )

    def resolve_two_fold_ambiguity(self, found: RingFit) -> RingFit:
        """Return the better of a pose and its mirror image, with a covariance of both.

        A ring seen nearly edge-on looks the same if it is tilted towards the camera or away from it
        by the same angle; a descent ends at one of the two.
        """
        ray = found.centre / np.linalg.norm(found.centre)
        sine = float(found.axis @ ray)
        if abs(sine) > np.sin(TOLERANCES.edge_on_rad):
            return found
        across = found.axis - sine * ray
        axis = across - sine * ray
        try:
            mirrored = self.solve(found.centre, axis)
        except (FitRefused, np.linalg.LinAlgError):
            return found
        best, other = sorted((found, mirrored), key=lambda fit: fit.cost)
        ratio = np.exp(0.5 * (best.cost - other.cost))
        apart = np.concatenate([other.centre - best.centre, np.cross(best.axis, other.axis)])
        mixed = best.covariance + ratio / (1 + ratio) * np.outer(apart, apart)
        return replace(best, covariance=mixed)


@njit(cache=True, nogil=True)
def _descend(wall, edges, size, depth_offset, centre, axis):
    """Return the pose of least cost and what is known there.

    Returns:
        Centre and axis, axes of the last step, matrix (u, u) of the normal equations of the u
        unknowns, share of edge points on the contour, cost.
    """
    points, directions, spread, cells_per_independent = wall
    rays, beside_arm, pixel, usual_px, beyond_px, edges_per_independent = edges
    radius_m, height_m, thickness_m = size
    bias_m, bias_sd_m = depth_offset
    expected, wall_scale, row = np.zeros(UNKNOWNS), 1.0, np.zeros(UNKNOWNS)
    expected[DEPTH] = bias_m
    offsets = expected.copy()
    noise_px, information = usual_px.copy(), np.zeros(UNKNOWNS)
    scale = np.array([radius_m, radius_m, radius_m, 1.0, 1.0])
    for number in range(STEPS):
        cut_px = FIRST_CUT_PX if number == 0 else CUT_PX
        e1, e2 = perpendiculars_of_one(axis)
        axes = np.stack((e1, e2, axis))
        hessian, gradient = np.zeros((UNKNOWNS, UNKNOWNS)), np.zeros(UNKNOWNS)
        on_wall, r, w, sigma, _, _, _ = normal_equations(
            points - offsets[DEPTH] * directions, centre, e1, e2, axis, radius_m, thickness_m,
            np.zeros(3), wall_scale * spread, CUT_SIGMAS, MIN_INCIDENCE, 0.75 * height_m,
        )  # fmt: skip
        row[:] = 0.0
        for i in np.flatnonzero(w):
            row[:2], row[3:5] = on_wall[i, :2], on_wall[i, 2:4]
            row[DEPTH] = row[0] * (directions[i] @ e1) + row[1] * (directions[i] @ e2)
            _add(hessian, gradient, row, r[i], w[i] / sigma[i] ** 2 / cells_per_independent)
        distance, contact, slope, piece = edge_distances(
            rays, beside_arm, centre, axis, radius_m, height_m, thickness_m
        )
        s = distance / pixel - offsets[CONTOUR + piece]
        edge_sigma = noise_px[piece]
        v = np.square(np.maximum(1 - np.square(s / cut_px), 0.0))
        for i in np.flatnonzero(v):
            turned, g = np.cross(contact[i] - centre, slope[i]), slope[i]
            row[:] = 0.0
            row[:3], row[3], row[4] = axes @ g, turned @ e2, -(turned @ e1)
            row[:5] /= pixel
            row[CONTOUR + piece[i]] = 1.0
            _add(hessian, gradient, row, s[i], v[i] / edge_sigma[i] ** 2 / edges_per_independent)
        if np.count_nonzero(w) < MIN_POINTS or np.count_nonzero(v) < MIN_EDGES:
            raise FitRefused("bad fit: too few points lie on the wall or edges on the ring's")
        wall_cost = (_cost(r / sigma, w) + 2 * len(w) * np.log(wall_scale)) / cells_per_independent
        edge_cost = _cost(s / edge_sigma, v) + 2 * np.log(edge_sigma).sum()
        # Residuals larger than the calibrated noise of depth enlarge it.
        wall_scale = max(1.0, 1.4826 * np.median(np.abs(r / sigma)[w > 0]) * wall_scale)
        if number > 0:
            for k in range(PIECES):
                weight = v * (piece == k) / edges_per_independent
                squares_px2 = usual_px[k] ** 2 + (weight * s * s).sum()
                noise_px[k] = np.sqrt(squares_px2 / (1 + weight.sum()))
        information[DEPTH] = 1 / bias_sd_m**2
        information[CONTOUR:] = 1 / (np.square(OFFSET_SHARE * noise_px) + np.square(beyond_px))
        hessian += np.diag(information)
        gradient += information * (expected - offsets)
        step = np.linalg.solve(hessian, gradient)
        offsets[DEPTH:] += step[DEPTH:]
        centre = centre + step[:3] @ axes
        axis = axis + step[3:5] @ axes[:2]
        axis = axis / np.sqrt(axis @ axis)
        if np.abs(step[:5] / scale).max() < STILL and number > 0:
            break
    prior_cost = (information * np.square(offsets - expected)).sum()
    cost = wall_cost + edge_cost / edges_per_independent + prior_cost
    return centre, axis, axes, hessian, np.count_nonzero(v) / len(v), cost


@njit(cache=True, nogil=True, forceinline=True)
def _add(hessian, gradient, row, residual, information):
    for a in range(len(row)):
        if row[a] != 0:
            gradient[a] += information * row[a] * residual
            for b in range(len(row)):
                hessian[a, b] += information * row[a] * row[b]


@njit(cache=True, nogil=True)
def _cost(normalised, weight):
    """Return the sum of squares, with outliers at the cut."""
    cost = 0.0
    for i in range(len(weight)):
        cost += min(normalised[i] ** 2, CUT_SIGMAS**2) if weight[i] > 0 else CUT_SIGMAS**2
    return cost


def _six(unknowns: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Return the covariance (6, 6) of position and rotation, given the five unknowns'."""
    e1, e2, axis = axes
    spread = np.zeros((6, 5))
    spread[:3, 0], spread[:3, 1], spread[:3, 2] = e1, e2, axis
    spread[3:, 3], spread[3:, 4] = e2, -e1  # the axis moves along e1 when it turns about e2
    covariance = spread @ unknowns @ spread.T
    covariance[3:, 3:] += ROLL_VARIANCE_RAD2 * np.outer(axis, axis)
    return covariance
