"""Parameter files of the virtual cameras (intrinsics, lens, mounting, noise) and of the jig."""

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.spatial.transform import Rotation

from soft_arm_physics.parameter_file import (
    NotNegative,
    Positive,
    Share,
    Strict,
    Vector3,
    load_parameters,
)

CONFIG = Path(__file__).parents[1] / 'config'


class Image(Strict):
    """Pinhole intrinsics of the colour image, to which depth is aligned.

    Pixel centres have whole coordinates.
    """

    width_px: Annotated[int, Field(ge=64, le=1920)]
    height_px: Annotated[int, Field(ge=64, le=1080)]
    fx_px: Positive
    fy_px: Positive
    cx_px: Positive
    cy_px: Positive
    rate_hz: Positive

    @property
    def camera_matrix(self) -> np.ndarray:
        """Intrinsics [px], shape (3, 3)."""
        return np.array(
            [[self.fx_px, 0.0, self.cx_px], [0.0, self.fy_px, self.cy_px], [0.0, 0.0, 1.0]]
        )


class Mounting(Strict):
    """Nominal pose of the colour camera in the base frame, and the error calibration must find."""

    position_m: Vector3
    look_at_m: Vector3
    image_down: Vector3
    error_position_m: Vector3
    error_rpy_deg: Vector3

    @property
    def T_base_optical_nominal(self) -> np.ndarray:
        """Nominal pose of the optical frame (z forward, x right, y down), shape (4, 4)."""
        z = np.subtract(self.look_at_m, self.position_m)
        z = z / np.linalg.norm(z)
        x = np.cross(self.image_down, z)
        x = x / np.linalg.norm(x)
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = np.stack((x, np.cross(z, x), z), axis=1), self.position_m
        return T

    @property
    def T_base_optical(self) -> np.ndarray:
        """True pose of the optical frame, shape (4, 4); only tests may compare with it."""
        T_error = np.eye(4)
        T_error[:3, :3] = Rotation.from_euler('xyz', self.error_rpy_deg, degrees=True).as_matrix()
        T_error[:3, 3] = self.error_position_m
        return self.T_base_optical_nominal @ T_error


class Noise(Strict):
    """Imperfections of stereo depth and of the colour image."""

    depth_sigma_m_per_m2: NotNegative
    depth_correlation_px: Positive
    depth_quantum_m: Positive
    depth_scale_error: float
    depth_range_m: tuple[Positive, Positive]
    border_width_px: Annotated[int, Field(ge=1, le=8)]
    border_step_m: Positive
    flying_pixel_share: Share
    border_hole_share: Share
    hole_share: Share
    hole_size_px: Positive
    colour_sigma: NotNegative


class CameraParameters(Strict):
    """Parameters of a virtual camera."""

    image: Image
    mounting: Mounting
    noise: Noise


class Distortion(Strict):
    """Lens distortion, OpenCV's plumb_bob model: radial k1, k2, k3 and tangential p1, p2."""

    k1: float
    k2: float
    k3: float
    p1: float
    p2: float

    @property
    def opencv(self) -> tuple[float, float, float, float, float]:
        """k1, k2, p1, p2, k3: the order of OpenCV and of sensor_msgs/CameraInfo."""
        return self.k1, self.k2, self.p1, self.p2, self.k3


class FingerCameraParameters(CameraParameters):
    """Parameters of the camera that looks at the finger; the base frame is the finger's."""

    distortion: Distortion


class CalibrationJig(Strict):
    """Pegs that hold the positioning ring, its axis along base z, at known places."""

    pegs_m: Annotated[tuple[Vector3, ...], Field(min_length=3)]
    repeatability_m: NotNegative


def load_camera_parameters(path: str | Path = CONFIG / 'virtual_camera.yaml') -> CameraParameters:
    """Read a camera file; see `parameter_file.load_parameters` for errors."""
    return load_parameters(CameraParameters, path)


def load_finger_camera_parameters(
    path: str | Path = CONFIG / 'finger_camera.yaml',
) -> FingerCameraParameters:
    """Read a file of the finger's camera; see `parameter_file.load_parameters` for errors."""
    return load_parameters(FingerCameraParameters, path)


def load_calibration_jig(path: str | Path = CONFIG / 'calibration_jig.yaml') -> CalibrationJig:
    """Read a jig file; see `parameter_file.load_parameters` for errors."""
    return load_parameters(CalibrationJig, path)
