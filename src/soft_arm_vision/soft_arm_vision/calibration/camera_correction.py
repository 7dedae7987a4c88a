"""Calibration `camera_correction`: systematic errors of a camera that the user has accepted.

`softarm calibrate camera-check --apply` writes it, relative to the depth scale of `depth_sensor`;
frames then have corrected intrinsics and corrected depth.
"""

from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from soft_arm_description.calibration import Values, load_calibration
from soft_arm_description.depth_sensor import DepthSensor, Scale, sensor_of
from soft_arm_description.rig import Rig
from soft_arm_io.fields import Number
from soft_arm_vision.clouds.cloud import depth_in_metres
from soft_arm_vision.intrinsics import Intrinsics


class CameraCorrection(Values):
    """Correction of systematic errors of a camera.

    Attributes:
        depth_scale: True over measured depth; in files relative to the scale of `DepthSensor`.
        focal_length_scale: True focal length over the stated one.
        radial: Radial distortion missing in the lens model: a true ray is the stated one times
            1 + radial r^2, where r is its distance from the optical axis in normalised coordinates.
    """

    kind: ClassVar[str] = 'camera_correction'
    for_any_robot: ClassVar[bool] = True
    depth_scale: Scale
    focal_length_scale: Scale
    radial: Annotated[Number, Field(ge=-0.5, le=0.5)]

    def intrinsics(self, stated: Intrinsics) -> Intrinsics:
        """Return the true intrinsics.

        OpenCV's k1 acts in the opposite direction, from true to seen rays, and to first order both
        add.

        Raises:
            VisionError: If the corrected lens cannot be undone in the whole image.
        """
        lens = stated.distortion
        if self.radial:
            lens = lens or (0.0,) * 5
            lens = (lens[0] - self.radial, *lens[1:])
        return replace(
            stated,
            fx=stated.fx * self.focal_length_scale,
            fy=stated.fy * self.focal_length_scale,
            distortion=lens,
        )

    def depth_m(self, measured: np.ndarray) -> np.ndarray:
        """Return corrected depth [m] of a depth image, see `depth_in_metres`, shape (h, w)."""
        return depth_in_metres(measured) * np.float32(self.depth_scale)

    def with_scale_of(self, sensor: DepthSensor) -> 'CameraCorrection':
        """Return this correction together with the depth scale of the sensor."""
        return self.model_copy(update={'depth_scale': self.depth_scale * sensor.depth_scale})


NO_CORRECTION = CameraCorrection(depth_scale=1.0, focal_length_scale=1.0, radial=0.0)


def correction_of(rig: Rig) -> CameraCorrection:
    """Return what a rig's camera is to be corrected by: the scale of its depth sensor and its file.

    Raises:
        CalibrationError: If there is a file that cannot be used.
    """
    return saved_correction(rig).with_scale_of(sensor_of(rig)[0])


def saved_correction(rig: Rig) -> CameraCorrection:
    """Return the file `camera_correction` of a rig; `NO_CORRECTION` without one.

    Raises:
        CalibrationError: If it cannot be used.
    """
    if not rig.calibration_file(CameraCorrection.kind).exists():
        return NO_CORRECTION
    return load_calibration(rig, CameraCorrection, None).values
