"""Parameter files of the virtual cameras (intrinsics, lens, mounting, noise) and of the jig."""

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.spatial.transform import Rotation

from soft_arm_description.robot import Ring
from soft_arm_io.fields import NonNegative, Positive, Strict
from soft_arm_physics.parameter_file import Share, Vector3, load_parameters

CONFIG = Path(__file__).parents[1] / 'config'
OVERSAMPLING = 2  # rendered pixels per pixel of a stereo camera's imager, along each axis


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
    """Imperfections of stereo depth and of the colour image.

    Attributes:
        colour_gamma: A pixel is the light to the power of one over this.
    """

    depth_sigma_m_per_m2: NonNegative
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
    colour_sigma: NonNegative
    colour_gamma: Annotated[float, Field(ge=1, le=4)]


class Stereo(Strict):
    """A stereo pair with a projector of dots, parallel to the colour camera's axes.

    Attributes:
        width_px, height_px: Size of both infrared images.
        focal_px, cx_px, cy_px: Intrinsics of both; pixel centres have whole coordinates.
        position_m: The left imager in the optical frame of the colour camera.
        baseline_m, projector_m: Right imager and projector, to the right of the left one.
        dots, dot_sigma_px: Number of dots in the field of view, and the size of their images.
        ambient, laser: Brightness of a white surface without a dot, and of a dot 0.5 m away.
        mean_grey, image_sigma: Exposure: mean of the left image, and noise of both, of 255.
        disparities: Number of disparities that are searched, a multiple of 16.
        block_px: Side of the blocks that are compared, odd.
        uniqueness_percent: How much better the best match is than the second.
        speckle_px: Smaller patches of one depth are removed.
    """

    width_px: Annotated[int, Field(ge=64, le=1280)]
    height_px: Annotated[int, Field(ge=64, le=800)]
    focal_px: Positive
    cx_px: Positive
    cy_px: Positive
    position_m: Vector3
    baseline_m: Positive
    projector_m: float
    dots: Annotated[int, Field(ge=1)]
    dot_sigma_px: Positive
    ambient: NonNegative
    laser: NonNegative
    mean_grey: Annotated[float, Field(gt=0, lt=255)]
    image_sigma: NonNegative
    disparities: Annotated[int, Field(ge=16, le=256, multiple_of=16)]
    block_px: Annotated[int, Field(ge=3, le=21)]
    uniqueness_percent: Annotated[int, Field(ge=0, le=50)]
    speckle_px: Annotated[int, Field(ge=0)]

    @property
    def render_size_px(self) -> tuple[int, int]:
        """Width and height of a view as it is rendered."""
        return OVERSAMPLING * self.width_px, OVERSAMPLING * self.height_px

    @property
    def render_matrix(self) -> np.ndarray:
        """Intrinsics of a view as it is rendered [px], shape (3, 3)."""
        focal_px = OVERSAMPLING * self.focal_px
        cx_px, cy_px = (OVERSAMPLING * (c + 0.5) - 0.5 for c in (self.cx_px, self.cy_px))
        return np.array([[focal_px, 0.0, cx_px], [0.0, focal_px, cy_px], [0.0, 0.0, 1.0]])


class CameraParameters(Strict):
    """Parameters of a virtual camera.

    With `stereo`, depth is matched in infrared images, and of `noise` only the depth's quantum and
    range and the colour's noise count.

    Attributes:
        focal_length_error: Stated focal length over the true one of `image`, less 1.
    """

    image: Image
    mounting: Mounting
    noise: Noise
    stereo: Stereo | None = None
    focal_length_error: Annotated[float, Field(gt=-0.5, lt=0.5)] = 0.0

    @property
    def stated_image(self) -> Image:
        """Intrinsics that the camera states."""
        stated = 1 + self.focal_length_error
        lengths = {'fx_px': stated * self.image.fx_px, 'fy_px': stated * self.image.fy_px}
        return self.image.model_copy(update=lengths)


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
    """Pegs that hold the positioning ring, its axis along base z, at known places.

    `ring` is put on them where the robot has none.
    """

    pegs_m: Annotated[tuple[Vector3, ...], Field(min_length=3)]
    repeatability_m: NonNegative
    ring: Ring | None = None


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
