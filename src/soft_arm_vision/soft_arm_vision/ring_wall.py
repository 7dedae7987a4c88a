"""Points of depth against the wall of a ring, with noise that is alike over some pixels."""

import cv2
import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.cylinder_fit import Cylinders, surface_frame, tukey
from soft_arm_vision.errors import FitRefused

REFERENCE_DEPTH_M = 0.47
SIGMA_LIMITS_M = (0.4e-3, 3e-3)  # at the reference depth; it grows with the square of depth
CORRELATION_PX = 2.0  # of stereo matching: neighbours d apart have errors with the correlation exp(-d^2 / (4 * 2^2)), as the D435i's
GRID_PX = 2.0
MIN_POINTS = 60
MIN_INLIER_SHARE = 0.4
_KNOWN = np.ix_((0, 1, 3, 4), (0, 1, 3, 4))


class RingWall:
    """The points against the ring's wall, outside on the near side and inside on the far one.

    Args:
        points: Shape (n, 3) [m].
        ring: The ring.
        pixel: Size of a pixel in normalised coordinates (x/z).
    """

    def __init__(self, points: np.ndarray, ring: Ring, pixel: float):
        self._points, self._ring = points, ring
        self._rays = points / np.linalg.norm(points, axis=1, keepdims=True)
        self._spread = np.square(points[:, 2] / REFERENCE_DEPTH_M) / self._rays[:, 2]  # depth is off by sigma, a point along its ray
        cell = np.rint(points[:, :2] / points[:, 2:] / (GRID_PX * pixel)).astype(int)
        cell -= cell.min(axis=0)
        margin = int(4 * CORRELATION_PX / GRID_PX) + 1
        self._shape = tuple(cell.max(axis=0) + 2 * margin + 1)
        self._cell = np.ravel_multi_index(tuple((cell + margin).T), self._shape)
        self.sigma_m, self.inlier_share = 1.5e-3, 0.0

    def terms(self, centre: np.ndarray, axes) -> tuple[np.ndarray, np.ndarray]:
        """Part of the normal equations (5, 5), (5,) of the unknowns (across, across, along, tilt, tilt); estimates the noise anew.

        Points are weighed as if they were independent; the normal matrix is the inverse of the covariance that the solution then has,
        H^-1 M H^-1 with M = sum over pairs of J_i J_j / (sigma_i sigma_j) times their correlation. A Gaussian correlation is a
        Gaussian kernel folded with itself, so that M is the square of the smoothed picture of J / sigma.
        """
        e1, e2, axis = axes
        axial, normal, residual = self._frame(centre, axis)
        incidence = np.einsum('ni,ni->n', normal, self._rays)
        inside = incidence > 0  # the far side shows its inner wall
        residual = residual + inside * self._ring.thickness_m
        scale = self._spread * np.maximum(np.abs(incidence), 0.2)
        seen = np.abs(axial) < 0.75 * self._ring.height_m
        weight = tukey(residual / scale, 4 * self.sigma_m) * seen
        if weight.sum() < MIN_INLIER_SHARE * MIN_POINTS:
            raise FitRefused(f'bad fit: {weight.sum():.0f} points lie on the wall')
        self.inlier_share = float((weight > 0).mean())
        self.sigma_m = float(np.clip(1.4826 * np.median(np.abs(residual / scale)[weight > 0]), *SIGMA_LIMITS_M))
        across1, across2 = normal @ e1, normal @ e2
        jacobian = np.column_stack([across1, across2, axial * across1, axial * across2])
        sigma = self.sigma_m * scale
        weighted = jacobian * (weight / np.square(sigma))[:, None]
        independent, pull = weighted.T @ jacobian, weighted.T @ residual
        picture = np.stack([np.bincount(self._cell, column * sigma, np.prod(self._shape)) for column in weighted.T], axis=-1)
        smooth = cv2.GaussianBlur(picture.reshape(*self._shape, 4), (0, 0), CORRELATION_PX / GRID_PX, borderType=cv2.BORDER_CONSTANT)
        related = 4 * np.pi * (CORRELATION_PX / GRID_PX) ** 2 * np.einsum('uvi,uvj->ij', smooth, smooth)
        related += 1e-9 * np.diag(np.diag(related))
        hessian, gradient = np.zeros((5, 5)), np.zeros(5)
        turn = np.linalg.solve(related, independent)
        hessian[_KNOWN], gradient[[0, 1, 3, 4]] = independent @ turn, turn.T @ pull
        return hessian, gradient

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
