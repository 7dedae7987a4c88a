"""Calibration `depth_sensor`: how far one camera's depth and edges are from the truth.

The depth of a pixel is taken as

    measured = true / depth_scale + b + noise + rounding

with a scale and an offset b that are the same for all pixels of all frames, noise that is Gaussian
and correlated from pixel to pixel, and rounding that is independent. Frames hold the measured depth
times the scale.
"""

from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from soft_arm_description.calibration import Values, load_calibration
from soft_arm_description.rig import Rig
from soft_arm_description.segments.values import check_limits
from soft_arm_io.fields import Number

NotNegative = Annotated[Number, Field(ge=0, le=10)]
Positive = Annotated[Number, Field(gt=0, le=10)]
Pixels = Annotated[Number, Field(ge=0, le=50)]
Scale = Annotated[Number, Field(ge=0.8, le=1.25)]


class DepthSensor(Values):
    """Error model of a depth camera, from measurements.

    Pixels refer to the image given to the detector: depth aligned to colour.

    Attributes:
        focal_length_px: Focal length of the image in which the lengths in pixels were measured.
        range_m: Nearest and farthest depth that the camera reports.
        depth_scale: True over measured depth; frames are corrected by it.
        noise_m_per_m2: Standard deviation of the noise over the square of depth.
        noise_floor_m: The part of it that does not grow with depth.
        correlation_px: Gaussian length s of the noise: the correlation of two pixels d apart is
            exp(-d^2 / (4 s^2)).
        quantum_m: Step of the depth image.
        disparity_quantum_m_per_m2: Step of the disparity as one of depth, over depth squared.
        bias_m, bias_sd_m: Offset b of all depths, and what is not known of it.
        scale_sd: By how much corrected depth is off from one view to another, relative, beyond
            noise.
        edge_width_px: Width of the border, on the near side of an edge, in which depth is missing
            or mixed with that behind it.
        fattening_px: How far the depth of the near side reaches past the edge.
        edge_sd_px: Standard deviation of the place of an edge in the colour image.
        pixel_gamma: A pixel of the colour image is the light that fell on it to the power of one
            over this; 1: in proportion. About 2.2 where a camera codes its pixels as sRGB.
    """

    kind: ClassVar[str] = 'depth_sensor'
    for_any_robot: ClassVar[bool] = True
    focal_length_px: Annotated[Number, Field(gt=10, le=1e5)]
    range_m: tuple[Positive, Annotated[Number, Field(gt=0, le=100)]]
    depth_scale: Scale = 1.0
    noise_m_per_m2: Positive
    noise_floor_m: NotNegative
    correlation_px: Pixels
    quantum_m: NotNegative
    disparity_quantum_m_per_m2: NotNegative
    bias_m: Annotated[Number, Field(ge=-1, le=1)]
    bias_sd_m: NotNegative
    scale_sd: NotNegative
    edge_width_px: Pixels
    fattening_px: Pixels
    edge_sd_px: Annotated[Number, Field(gt=0, le=50)]
    pixel_gamma: Annotated[Number, Field(ge=1, le=4)] = 1.0

    @model_validator(mode='after')
    def _near_before_far(self) -> Self:
        check_limits(self, 'range_m')
        return self

    def sigma_m(self, depth_m: np.ndarray | float) -> np.ndarray:
        """Return the standard deviation of the correlated noise [m] at depths [m], any shape."""
        return np.hypot(self.noise_floor_m, self.noise_m_per_m2 * np.square(depth_m))

    def rounding_m(self, depth_m: np.ndarray | float) -> np.ndarray:
        """Return the standard deviation of rounding [m] at depths [m]: independent by pixel."""
        disparity_m = self.disparity_quantum_m_per_m2 * np.square(depth_m)
        return np.hypot(self.quantum_m, disparity_m) / np.sqrt(12.0)

    def common_sd_m(self, depth_m: np.ndarray | float) -> np.ndarray:
        """Return the standard deviation [m] of the error common to all pixels at depths [m]."""
        return np.hypot(self.bias_sd_m, self.scale_sd * np.asarray(depth_m))

    def correlation(self, apart_px: np.ndarray | float) -> np.ndarray:
        """Return the correlation of the noise of two pixels that are this far apart [px]."""
        # A thousandth of a pixel stands for no correlation at all.
        return np.exp(-np.square(apart_px) / (4 * max(self.correlation_px, 1e-3) ** 2))

    def light(self, pixels: np.ndarray) -> np.ndarray:
        """Return the light [0..255], float32, that a colour image (uint8) stands for, any shape."""
        return (255 * (np.arange(256) / 255) ** self.pixel_gamma).astype(np.float32)[pixels]

    def pixels(self, light: np.ndarray) -> np.ndarray:
        """Return what a camera shows of light [0..255], any shape, as float."""
        return 255 * (np.maximum(light, 0.0) / 255) ** (1 / self.pixel_gamma)

    @property
    def independent_px2(self) -> float:
        """Area [px^2] of a large even surface per independent pixel: at least 1."""
        return max(4 * np.pi * self.correlation_px**2, 1.0)

    def at(self, focal_length_px: float) -> 'DepthSensor':
        """Return the same camera as an image of another focal length [px] shows it.

        Only the image is larger or smaller, as when another resolution of colour is chosen: the
        lengths in pixels grow with it, except the error of an edge, which stays one of a pixel.
        """
        larger = focal_length_px / self.focal_length_px
        return self.model_copy(
            update={
                'focal_length_px': focal_length_px,
                'correlation_px': larger * self.correlation_px,
                'edge_width_px': larger * self.edge_width_px,
                'fattening_px': larger * self.fattening_px,
            }
        )


# Noise: 0.08 px of disparity at a baseline of 50 mm and a focal length of 385 px (rotors' D435
# model, Intel's tuning guide); the rest is the usual of a D435i whose depth is aligned to 640 x 480
# colour, and deliberately wide.
D435I = DepthSensor(
    focal_length_px=607.3,
    range_m=(0.2, 3.0),
    noise_m_per_m2=4.2e-3,
    noise_floor_m=0.2e-3,
    correlation_px=3.0,
    quantum_m=1e-3,
    disparity_quantum_m_per_m2=1.6e-3,
    bias_m=0.0,
    bias_sd_m=0.5e-3,
    scale_sd=0.005,
    edge_width_px=2.0,
    fattening_px=1.5,
    edge_sd_px=0.5,
)
"""Uncalibrated RealSense D435i."""


def sensor_of(rig: Rig) -> tuple[DepthSensor, str | None]:
    """Return the depth sensor of a rig, and a caution if it was not measured.

    Raises:
        CalibrationError: If there is a file that cannot be used.
    """
    if not rig.calibration_file(DepthSensor.kind).exists():
        return D435I, (
            f'the depth camera of rig {rig.name!r} was not measured: the values of a usual D435i '
            f'are taken; run `softarm calibrate depth --rig {rig.argument}`'
        )
    return load_calibration(rig, DepthSensor, None).values, None
