"""Calibration `camera_correction`: systematic errors of a camera that the user has accepted.

`softarm calibrate camera-check --apply` writes it; the detectors then use corrected intrinsics and
corrected depth.
"""

from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from soft_arm_description.calibration import Values, load_calibration
from soft_arm_description.rig import Rig
from soft_arm_description.robot import Robot
from soft_arm_io.fields import Number
from soft_arm_vision.intrinsics import Intrinsics

Scale = Annotated[Number, Field(ge=0.8, le=1.25)]


class CameraCorrection(Values):
    """Correction of systematic errors of a camera.

    Attributes:
        depth_scale: True depth over stated depth.
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


NO_CORRECTION = CameraCorrection(depth_scale=1.0, focal_length_scale=1.0, radial=0.0)


def correction_of(rig: Rig, robot: Robot) -> CameraCorrection:
    """Return what a rig's camera is to be corrected by; `NO_CORRECTION` without a file.

    Raises:
        CalibrationError: If there is a file that cannot be used.
    """
    if not rig.calibration_file(CameraCorrection.kind).exists():
        return NO_CORRECTION
    return load_calibration(rig, CameraCorrection, robot).values
