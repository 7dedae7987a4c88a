"""Intrinsics of one image: from pixels to viewing rays and back, through the lens.

All conversions between pixels and rays are made here, so that distortion is always applied.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np

from soft_arm_vision.errors import VisionError

# Termination of the iteration that undistorts a pixel (criteria, steps, error [px]).
UNDISTORTED = cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 60, 1e-9
SAME_WITHIN_PX = 1.0  # difference of intrinsics that state the same view
MARGIN_PX = 0.1  # error that may be left where it is checked
CHECKED = 9  # rows and columns of pixels over the image whose distortion must be undone
DISTORTIONS = 0, 4, 5, 8, 12, 14  # numbers of coefficients that OpenCV knows
# The name is empty for cameras without a calibration of the distortion.
MODELS = ('plumb_bob', 'rational_polynomial', '')


@dataclass(frozen=True)
class Intrinsics:
    """Pinhole camera with OpenCV's distortion; pixel centres are at whole numbers.

    Attributes:
        width, height: Image size [px].
        fx, fy, cx, cy: Focal lengths and principal point [px].
        distortion: k1, k2, p1, p2[, k3[, k4, k5, k6 of the rational model[, ...]]] in OpenCV's
            order; empty or zeros when the image is rectified.

    Raises:
        VisionError: If the numbers are none of a camera's, or its distortion cannot be undone in
            the whole image.
    """

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float
    distortion: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not (self.width > 0 and self.height > 0):
            raise VisionError(
                f'the picture is {self.width} x {self.height} px, it must have pixels: does '
                'the camera run?'
            )
        if not (0 < self.fx < np.inf and 0 < self.fy < np.inf):
            raise VisionError(
                f'focal lengths fx={self.fx}, fy={self.fy} px must be positive and finite: '
                'is the camera calibrated?'
            )
        lens = ', '.join(f'{d:.3g}' for d in self.distortion[:14])
        if not np.isfinite([self.cx, self.cy, *self.distortion]).all():
            raise VisionError(
                f'cx={self.cx}, cy={self.cy} px and distortion {lens} must be finite: is '
                'the camera calibrated?'
            )
        if len(self.distortion) not in DISTORTIONS:
            raise VisionError(
                f'{len(self.distortion)} distortion coefficients: {DISTORTIONS} are known; '
                'calibrate with plumb_bob'
            )
        if any(self.distortion):
            grid = np.meshgrid(
                np.linspace(0, self.width - 1, CHECKED), np.linspace(0, self.height - 1, CHECKED)
            )
            checked = np.column_stack([axis.ravel() for axis in grid])
            rays = self.rays(checked)
            if not (
                np.isfinite(rays).all() and np.abs(self.pixels(rays) - checked).max() < MARGIN_PX
            ):
                raise VisionError(
                    f'distortion {lens} cannot be undone in the whole image: '
                    'calibrate the camera again'
                )

    @classmethod
    def of_camera_info(cls, info: Any, is_rectified: bool = False) -> 'Intrinsics':
        """Intrinsics of a sensor_msgs/CameraInfo.

        Args:
            info: The message.
            is_rectified: Whether the images are rectified; p is used if so, else k and d.

        Raises:
            VisionError: As for the values, and if the lens model is not OpenCV's, the image is
                binned or a part of the sensor's, or k and p contradict each other.
        """
        if info.distortion_model not in MODELS:
            raise VisionError(
                f'lens model {info.distortion_model[:40]!r}: only '
                f'{" and ".join(MODELS[:2])} are known; rectify the images'
            )
        roi = info.roi.x_offset, info.roi.y_offset, info.roi.width, info.roi.height
        if max(info.binning_x, info.binning_y) > 1 or (
            any(roi) and roi != (0, 0, info.width, info.height)
        ):
            raise VisionError(
                f'camera info states binning {info.binning_x} x {info.binning_y} and roi (x, y, '
                f'width, height) {roi}: only images of the full resolution of k can be used'
            )
        k, p = np.reshape(info.k, (3, 3)), np.reshape(info.p, (3, 4))[:, :3]
        is_plain = not any(info.d) and np.array_equal(np.reshape(info.r, (3, 3)), np.eye(3))
        if is_plain and p.any() and not np.allclose(k, p, rtol=1e-3, atol=SAME_WITHIN_PX):
            raise VisionError(
                f'camera info without distortion states k {k.ravel().tolist()} but p '
                f'{p.ravel().tolist()}: one of them is wrong; calibrate the camera'
            )
        matrix, distortion = (p, ()) if is_rectified else (k, tuple(map(float, info.d)))
        fx, fy, cx, cy = map(float, matrix[[0, 1, 0, 1], [0, 1, 2, 2]])
        return _of_numbers(info.width, info.height, fx, fy, cx, cy, distortion)

    def sees_as(self, other: 'Intrinsics') -> bool:
        """Return whether another image has the same size, and the same rays within a pixel."""
        if (self.width, self.height) != (other.width, other.height):
            return False
        corners = np.array([[0, 0], [self.width, 0], [0, self.height], [self.width, self.height]])
        apart_px = self.focal_px * np.abs(self.rays(corners) - other.rays(corners))
        return bool(apart_px.max() < SAME_WITHIN_PX)

    @property
    def focal_px(self) -> float:
        """Mean focal length: pixels of the image per unit of a normalised coordinate."""
        return float(np.sqrt(self.fx * self.fy))

    def ray_grid(self) -> np.ndarray:
        """Return the normalised coordinates of every pixel, (height, width, 2), float32; cached."""
        return _ray_grid(self)

    def rays(self, pixels: np.ndarray) -> np.ndarray:
        """Normalised coordinates (x/z, y/z) of pixels (u, v), shape (n, 2)."""
        pixels = np.asarray(pixels, float)
        if any(self.distortion) and len(pixels):
            pixels = cv2.undistortImagePoints(
                pixels.reshape(-1, 1, 2),
                self._matrix,
                np.asarray(self.distortion),
                None,
                UNDISTORTED,
            ).reshape(-1, 2)
        return (pixels - (self.cx, self.cy)) / (self.fx, self.fy)

    def pixels(self, rays: np.ndarray) -> np.ndarray:
        """Return the pixels (u, v) of normalised coordinates, (n, 2): the inverse of `rays`."""
        rays = np.asarray(rays, float)
        if any(self.distortion) and len(rays):
            points = np.column_stack([rays, np.ones(len(rays))])
            return cv2.projectPoints(
                points, np.zeros(3), np.zeros(3), self._matrix, np.asarray(self.distortion)
            )[0].reshape(-1, 2)
        return rays * (self.fx, self.fy) + (self.cx, self.cy)

    @property
    def _matrix(self) -> np.ndarray:
        return np.array([[self.fx, 0, self.cx], [0, self.fy, self.cy], [0, 0, 1.0]])


_of_numbers = lru_cache(maxsize=8)(Intrinsics)  # every image brings the same numbers again


@lru_cache(maxsize=4)
def _ray_grid(intrinsics: Intrinsics) -> np.ndarray:
    v, u = np.mgrid[0 : intrinsics.height, 0 : intrinsics.width]
    rays = intrinsics.rays(np.column_stack([u.ravel(), v.ravel()]))
    return rays.reshape(intrinsics.height, intrinsics.width, 2).astype(np.float32)
