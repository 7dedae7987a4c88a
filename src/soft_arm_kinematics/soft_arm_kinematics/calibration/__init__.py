"""Curves and models of a robot's segments, fitted to measured points."""

from soft_arm_kinematics.calibration.modal_fit import fit_modal, read_shapes
from soft_arm_kinematics.calibration.pressure_bend import fit_bends, with_bends
from soft_arm_kinematics.calibration.pressure_length import (
    PressureLengthCurve,
    fit_curve,
    load_curve,
    read_points,
)

__all__ = [
    'PressureLengthCurve',
    'fit_bends',
    'fit_curve',
    'fit_modal',
    'load_curve',
    'read_points',
    'read_shapes',
    'with_bends',
]
