"""How a finger closes when nothing is in its way: what a grasp is compared with.

Measured by `softarm calibrate grasp` and kept in calibration/<rig>/free_closing.yaml. Without that
file only the bends are known, from the robot file.
"""

import datetime
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from typing_extensions import TypedDict

from soft_arm_control.errors import CalibrationError
from soft_arm_description.calibration import made_for_another
from soft_arm_description.robot import Robot
from soft_arm_description.yaml_file import (
    Number,
    Word,
    YamlFileError,
    checked,
    read_yaml,
    write_yaml,
)

NOMINAL_DEFICIT_RAD = (
    0.2  # of all pieces together: coefficients that were never measured may be so far off
)
GRID_PA = 5.0e3
_REMEDY = 'make it with `softarm calibrate grasp`'


@dataclass(frozen=True, eq=False)
class NoLoadReference:
    """The free finger on the way from vacuum to its highest pressure, and how far from it nothing has been touched yet.

    Attributes:
        pressures_pa: Gauge, shape (n,), strictly increasing.
        time_constants_s: Of the pressure behind its set point at these pressures, shape (n,); None if not measured.
        bends_rad: Of the pieces at these pressures, shape (n, pieces).
        excess_limit: Share by which the pressure may rise faster.
        deficit_limit_rad: Bend of all pieces together that may be missing.
    """

    pressures_pa: np.ndarray
    time_constants_s: np.ndarray | None
    bends_rad: np.ndarray
    excess_limit: float
    deficit_limit_rad: float

    def time_constant_s(self, pressure_pa: float) -> float:
        """Time constant [s] at a pressure [Pa]."""
        return float(np.interp(pressure_pa, self.pressures_pa, self.time_constants_s))

    def bend_rad(self, pressure_pa: float) -> float:
        """Bend [rad] of all pieces together at a pressure [Pa]."""
        return float(np.interp(pressure_pa, self.pressures_pa, self.bends_rad.sum(axis=1)))


def from_robot(robot: Robot) -> NoLoadReference:
    """What the robot file says: bends without time constants.

    Raises:
        CalibrationError: If the robot is no finger of single_bend segments on one chamber.
    """
    if len(robot.chambers) != 1 or any(s.kind != 'single_bend' for s in robot.segments):
        raise CalibrationError(
            f'{robot.name} is no finger: every segment must be a single_bend on one chamber, as four_piece_finger'
        )
    low_pa, high_pa = robot.pressure_limits_pa[:, 0]
    pressures_pa = np.linspace(low_pa, high_pa, 1 + round((high_pa - low_pa) / GRID_PA))
    bends_rad = [
        np.polynomial.Polynomial(s.theta_coefficients_rad)(pressures_pa / s.pressure_unit_pa)
        for s in robot.segments
    ]
    return NoLoadReference(
        pressures_pa, None, np.stack(bends_rad, axis=1), np.inf, NOMINAL_DEFICIT_RAD
    )


class _Values(TypedDict):
    pressures_pa: list[Number]
    time_constants_s: list[Number]
    bends_rad: list[list[Number]]
    excess_limit: Number
    deficit_limit_rad: Number


class _File(TypedDict):
    robot_fingerprint: Word
    values: _Values


def load(path: Path, robot: Robot) -> NoLoadReference:
    """Read a file and check that it was made for this robot.

    Raises:
        CalibrationError: If it was made for another robot, or has a missing or impossible value.
    """
    try:
        content = checked(read_yaml(path), _File)
    except OSError as error:
        raise CalibrationError(f'{path}: {error.strerror}; {_REMEDY}') from error
    except YamlFileError as error:
        raise CalibrationError(f'{path}: {error}; {_REMEDY}') from error
    values, made_for = content['values'], content['robot_fingerprint']
    pressures_pa, time_constants_s = (
        np.array(values['pressures_pa']),
        np.array(values['time_constants_s']),
    )
    n, bends_rad = len(pressures_pa), values['bends_rad']
    fits = len(time_constants_s) == len(bends_rad) == n >= 2 and all(
        len(row) == len(robot.segments) for row in bends_rad
    )
    if not fits or np.any(np.diff(pressures_pa) <= 0) or np.any(time_constants_s <= 0):
        raise CalibrationError(
            f'{path}: pressures must rise, each with a positive time constant and {len(robot.segments)} bends; {_REMEDY}'
        )
    if made_for != robot.kinematic_fingerprint:
        raise CalibrationError(
            made_for_another(Path(path), made_for, f'{robot.name} {robot.kinematic_fingerprint}')
        )
    return NoLoadReference(
        pressures_pa,
        time_constants_s,
        np.array(bends_rad),
        values['excess_limit'],
        values['deficit_limit_rad'],
    )


def save(
    path: Path, free: NoLoadReference, robot: Robot, rate_pa_s: float, closings: int, devices: str
) -> None:
    """Write a file with date, method, devices (`virtual` or `real`) and the robot's fingerprint."""
    values = {name: np.round(value, 6).tolist() for name, value in vars(free).items()}
    content = {
        'date': datetime.date.today().isoformat(),
        'method': f'{closings} closings in free air at {rate_pa_s:g} Pa/s; median of time constants, fitted bends, limits from the scatter',
        'devices': devices,
        'robot': robot.name,
        'robot_fingerprint': robot.kinematic_fingerprint,
        'values': values,
    }
    write_yaml(path, content)
