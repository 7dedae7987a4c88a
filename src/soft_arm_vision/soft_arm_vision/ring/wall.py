"""Fit the points of depth to the wall of a ring, with noise that is correlated over some pixels."""

# mypy: disable-error-code="no-untyped-def"
# Numba infers the types of the compiled functions.

import cv2
import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_vision.clouds.cloud import REFERENCE_DEPTH_M
from soft_arm_vision.clouds.cylinder import Cylinders, normal_equations, surface_frame
from soft_arm_vision.errors import FitRefused

SIGMA_LIMITS_M = (0.4e-3, 3e-3)  # at the reference depth; it grows with the square of depth
# Correlation length of stereo matching: the errors of pixels d apart correlate by exp(-d^2 / (4 *
# 2^2)), as for the D435i.
CORRELATION_PX = 2.0
GRID_PX = 2.0
MIN_INCIDENCE = 0.2  # cosine; at a more grazing view the depth beside the ring comes in
MAX_FITTED = 0.6
CUT_SIGMAS = 4.0  # Tukey's
MIN_POINTS = 60
MIN_INLIER_SHARE = 0.4
# Sum of a cell's correlations with all cells around it.
RELATED_CELLS = 4 * np.pi * (CORRELATION_PX / GRID_PX) ** 2
_KNOWN = np.ix_((0, 1, 3, 4), (0, 1, 3, 4))


class RingWall:
    """Points on the ring's wall: its outside on the near side, and its inside on the far side.

    Args:
        points: Points of depth, shape (n, 3) [m].
        ring: The ring.
        pixel: Size of a pixel in normalised coordinates (x/z).
    """

    def __init__(self, points: np.ndarray, ring: Ring, pixel: float):
        self._points, self._ring = points, ring
        self._rays = points / np.linalg.norm(points, axis=1, keepdims=True)
        # An error of depth by sigma moves a point along its ray.
        self._spread = np.square(points[:, 2] / REFERENCE_DEPTH_M) / self._rays[:, 2]
        cell = np.rint(points[:, :2] / points[:, 2:] / (GRID_PX * pixel)).astype(int)
        cell -= cell.min(axis=0)
        margin = int(4 * CORRELATION_PX / GRID_PX) + 1
        self._shape = tuple(cell.max(axis=0) + 2 * margin + 1)
        self._cell = np.ravel_multi_index(tuple((cell + margin).T), self._shape)
        self.sigma_m, self.inlier_share = 1.5e-3, 0.0

    def terms(
        self, centre: np.ndarray, axes, roughly: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the wall's part of the normal equations, (5, 5) and (5,); update the noise.

        The unknowns are two shifts across the axis, one along it and two tilts.

        Points are weighed as if they were independent; the normal matrix is the inverse of the
        covariance of the solution, H^-1 M H^-1 with M = sum over pairs of J_i J_j /
        (sigma_i sigma_j) times their correlation. A Gaussian correlation is a Gaussian kernel
        folded with itself, so that M is the square of the smoothed picture of J / sigma.

        Args:
            centre, axes: Centre [m] (3,) and three orthogonal unit vectors, the last of which is
                the axis.
            roughly: Use M of a large even surface, which is good enough for a step.
        """
        rows, residual, weight, noise, matrix, gradient, _ = normal_equations(
            self._points, np.asarray(centre, float), *np.array(axes), self._ring.radius_m,
            self._ring.thickness_m, np.zeros(3), self._spread, CUT_SIGMAS * self.sigma_m, False,
            MIN_INCIDENCE, 0.75 * self._ring.height_m,
        )  # fmt: skip
        if weight.sum() < MIN_INLIER_SHARE * MIN_POINTS:
            raise FitRefused(f'bad fit: {weight.sum():.0f} points lie on the wall')
        deviation = np.abs(residual / noise)[weight > 0]
        self.sigma_m = float(np.clip(1.4826 * np.median(deviation), *SIGMA_LIMITS_M))
        self.inlier_share = np.count_nonzero(weight) / len(weight)
        rows, sigma = rows[:, :4], self.sigma_m * noise
        independent, pull = matrix[:4, :4] / self.sigma_m**2, gradient[:4] / self.sigma_m**2
        hessian, gradient = np.zeros((5, 5)), np.zeros(5)
        if roughly:
            hessian[_KNOWN] = independent / RELATED_CELLS
            gradient[[0, 1, 3, 4]] = pull / RELATED_CELLS
            return hessian, gradient
        weighted = rows * (weight / np.square(sigma))[:, None]
        steepness, spread = _influence(residual / sigma, weight, CUT_SIGMAS)
        picture = _summed(self._cell, weighted, sigma, self._shape[0] * self._shape[1]).reshape(
            *self._shape, 4
        )
        smooth = cv2.GaussianBlur(
            picture, (0, 0), CORRELATION_PX / GRID_PX, borderType=cv2.BORDER_CONSTANT
        ).reshape(-1, 4)
        related = RELATED_CELLS * spread * smooth.T @ smooth
        related += 1e-9 * np.diag(np.diag(related))
        independent += 1e-9 * np.diag(np.diag(independent))
        # Share of the noise that the fitted pose hides.
        fitted = min(np.trace(np.linalg.solve(independent, related)) / weight.sum(), MAX_FITTED)
        turn = (1 - fitted) * np.linalg.solve(related, steepness * independent)
        hessian[_KNOWN], gradient[[0, 1, 3, 4]] = steepness * independent @ turn, turn.T @ pull
        return hessian, gradient

    def middle(self, point: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the middle of the visible wall on the axis [m], and its visible height [m]."""
        axial, normal, residual = self._frame(point, axis)
        on_wall = (np.abs(residual) < 3e-3) & (np.einsum('ni,ni->n', normal, self._rays) < 0)
        if on_wall.sum() < MIN_INLIER_SHARE * MIN_POINTS:
            raise FitRefused(f'bad fit: {on_wall.sum()} points lie on the wall')
        low, high = np.percentile(axial[on_wall], (2.0, 98.0))
        return point + 0.5 * (low + high) * axis, float(high - low)

    def beyond(self, centre: np.ndarray, axis: np.ndarray) -> float:
        """Return how far the visible wall extends past an end of the ring, along the axis [m].

        It is 0 if the wall ends within the ring.
        """
        axial, normal, residual = self._frame(centre, axis)
        on_wall = (np.abs(residual) < 3e-3) & (np.einsum('ni,ni->n', normal, self._rays) < 0)
        if on_wall.sum() < MIN_INLIER_SHARE * MIN_POINTS:
            return 0.0
        low, high = np.percentile(axial[on_wall], (2.0, 98.0))
        return float(
            max(high - 0.5 * self._ring.height_m, 0) - max(-0.5 * self._ring.height_m - low, 0)
        )

    def _frame(self, point, axis):
        cylinder = Cylinders(point[None], axis[None], np.array([self._ring.radius_m]))
        return (part[0] for part in surface_frame(self._points, cylinder))


def _influence(deviation: np.ndarray, weight: np.ndarray, cut: float) -> tuple[float, float]:
    """Return slope and variance of the robust influence function, relative to a weighted mean.

    A point near the cut pulls less the further off it is, so that the sum of pulls turns less with
    the pose than the weights say (Huber & Ronchetti, Robust Statistics, 2009, section 7.6).
    """
    squared = np.square(deviation / cut)
    slope = np.where(weight > 0, (1 - squared) * (1 - 5 * squared), 0.0).sum() / weight.sum()
    return max(float(slope), 0.3), float(
        np.square(weight * deviation).sum() / np.square(weight).sum()
    )


@njit(cache=True, nogil=True)
def _summed(cell, weighted, sigma, cells):
    """Return the sum over each cell of the rows over their noise, shape (cells, 4)."""
    picture = np.zeros((cells, 4))
    for i in range(len(cell)):
        for k in range(4):
            picture[cell[i], k] += weighted[i, k] * sigma[i]
    return picture
