"""No-load reference: how a finger closes in free air, for comparison with a grasp.

The calibration `no_load_reference` is measured by `softarm calibrate grasp`. Without it only the
bends are known, from the robot file.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from soft_arm_control.errors import IdentificationError
from soft_arm_description.calibration import CalibrationError, Values, load_calibration, remedy
from soft_arm_description.rig import Rig
from soft_arm_description.robot import Robot
from soft_arm_description.segments import SingleBendSegment
from soft_arm_io.fields import Number

# Contact limit of the total bend for coefficients from the robot file, which were not measured.
NOMINAL_DEFICIT_RAD = 0.2
GRID_STEP_PA = 5.0e3  # between the pressures of a reference


@dataclass(frozen=True, eq=False)
class NoLoadReference:
    """Pressure lag and bend of a finger closing in free air, and the contact limits.

    Attributes:
        pressures_pa: Gauge pressures, shape (n,), strictly increasing.
        time_constants_s: Lag of the pressure behind its set point at these pressures, shape (n,);
            None if not measured.
        bends_rad: Bends of the segments at these pressures, shape (n, segments).
        excess_limit: Share by which the pressure may rise faster without a contact.
        deficit_limit_rad: Total bend that may be missing without a contact.
    """

    pressures_pa: np.ndarray
    time_constants_s: np.ndarray | None
    bends_rad: np.ndarray
    excess_limit: float
    deficit_limit_rad: float

    def time_constant_s(self, pressure_pa: float) -> float:
        """Interpolate the time constant [s], which must have been measured, at a pressure [Pa]."""
        assert self.time_constants_s is not None
        return float(np.interp(pressure_pa, self.pressures_pa, self.time_constants_s))

    def bend_rad(self, pressure_pa: float) -> float:
        """Interpolate the total bend [rad] at a pressure [Pa]."""
        return float(np.interp(pressure_pa, self.pressures_pa, self.bends_rad.sum(axis=1)))


def from_robot(robot: Robot) -> NoLoadReference:
    """Return the reference that follows from a robot file: bends without time constants.

    Raises:
        IdentificationError: If the robot is not a finger of single_bend segments on one chamber.
    """
    segments = [s for s in robot.segments if isinstance(s, SingleBendSegment)]
    if len(robot.chambers) != 1 or len(segments) < len(robot.segments):
        raise IdentificationError(
            f'{robot.name} is not a finger: every segment must be a single_bend on one chamber, '
            'as in four_piece_finger'
        )
    low_pa, high_pa = robot.pressure_limits_pa[:, 0]
    pressures_pa = np.linspace(low_pa, high_pa, 1 + round((high_pa - low_pa) / GRID_STEP_PA))
    bends_rad = [
        np.polynomial.Polynomial(s.theta_coefficients_rad)(pressures_pa / s.pressure_unit_pa)
        for s in segments
    ]
    return NoLoadReference(
        pressures_pa, None, np.stack(bends_rad, axis=1), np.inf, NOMINAL_DEFICIT_RAD
    )


class NoLoadValues(Values):
    """Values of a `NoLoadReference` in a calibration file."""

    kind: ClassVar[str] = 'no_load_reference'
    pressures_pa: Annotated[tuple[Number, ...], Field(min_length=2, max_length=1000)]
    time_constants_s: tuple[Annotated[Number, Field(gt=0)], ...]
    bends_rad: tuple[tuple[Number, ...], ...]
    excess_limit: Annotated[Number, Field(gt=0)]
    deficit_limit_rad: Annotated[Number, Field(gt=0)]

    @model_validator(mode='after')
    def _check(self) -> 'NoLoadValues':
        counts = {len(self.pressures_pa), len(self.time_constants_s), len(self.bends_rad)}
        if len(counts) != 1 or len({len(row) for row in self.bends_rad}) != 1:
            raise ValueError('give each pressure one time constant and the bend of every segment')
        if not (np.diff(self.pressures_pa) > 0).all():
            raise ValueError('pressures_pa must rise')
        return self


def values_of(reference: NoLoadReference) -> NoLoadValues:
    """Return the rounded values of a measured reference for a calibration file."""
    return NoLoadValues(
        **{name: np.round(value, 6).tolist() for name, value in vars(reference).items()}
    )


def load(rig: Rig, robot: Robot, path: Path | None = None) -> NoLoadReference:
    """Load the reference that was measured on a rig.

    Args:
        rig: The rig.
        robot: The finger.
        path: File to load instead of the rig's.

    Raises:
        CalibrationError: As `load_calibration`.
    """
    values = load_calibration(rig, NoLoadValues, robot, path).values
    bends_rad = np.array(values.bends_rad)
    if bends_rad.shape[1] != len(robot.segments):
        raise CalibrationError(
            f'{path or rig.calibration_file(values.kind)}: bends of {bends_rad.shape[1]} '
            'segments, '
            f'but {robot.name} has {len(robot.segments)}; {remedy(rig, values.kind)}'
        )
    return NoLoadReference(
        np.array(values.pressures_pa),
        np.array(values.time_constants_s),
        bends_rad,
        values.excess_limit,
        values.deficit_limit_rad,
    )
