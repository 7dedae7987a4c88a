"""Intrinsics of the virtual camera."""

from soft_arm_sim.cameras.parameters import CameraParameters
from soft_arm_vision.intrinsics import Intrinsics


def intrinsics_of(parameters: CameraParameters) -> Intrinsics:
    """Return the intrinsics that a virtual camera states of its images."""
    image = parameters.stated_image
    return Intrinsics(
        image.width_px, image.height_px, image.fx_px, image.fy_px, image.cx_px, image.cy_px
    )
