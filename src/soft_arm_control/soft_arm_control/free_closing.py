"""How a finger closes when nothing is in its way: what a grasp is compared with.

Measured by `softarm calibrate grasp` and kept in calibration/<rig>/free_closing.yaml. Without that file only the bends are known, from
the robot file.
"""

import datetime
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from soft_arm_control.errors import CalibrationError
from soft_arm_description.robot import Robot

NOMINAL_DEFICIT_RAD = 0.2  # of all pieces together: coefficients that were never measured may be so far off
GRID_PA = 5.0e3
_SMOOTH_S = 0.2
_MARGIN = 2.5  # limits over the largest value that free closings have shown
_LEAST_EXCESS, _LEAST_DEFICIT_RAD = 0.15, 0.05  # no measurement is so quiet that less would be a contact
_REMEDY = 'make it with `softarm calibrate grasp`'


@dataclass(frozen=True, eq=False)
class FreeClosing:
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


@dataclass(frozen=True, eq=False)
class Closing:
    """Record of one closing. Times [s] on one clock, pressures [Pa] gauge, bends [rad]."""

    times_s: np.ndarray  # (n,)
    pressures_pa: np.ndarray  # (n,)
    set_points_pa: np.ndarray  # (n,)
    shape_times_s: np.ndarray  # (m,), stamps of the images
    bends_rad: np.ndarray  # (m, pieces)


def from_robot(robot: Robot) -> FreeClosing:
    """What the robot file says: bends without time constants.

    Raises:
        CalibrationError: If the robot is no finger of single_bend segments on one chamber.
    """
    if len(robot.chambers) != 1 or any(s.kind != 'single_bend' for s in robot.segments):
        raise CalibrationError(f'{robot.name} is no finger: every segment must be a single_bend on one chamber, as four_piece_finger')
    low_pa, high_pa = robot.pressure_limits_pa[:, 0]
    pressures_pa = np.linspace(low_pa, high_pa, 1 + round((high_pa - low_pa) / GRID_PA))
    bends_rad = [np.polynomial.Polynomial(s.theta_coefficients_rad)(pressures_pa / s.pressure_unit_pa) for s in robot.segments]
    return FreeClosing(pressures_pa, None, np.stack(bends_rad, axis=1), np.inf, NOMINAL_DEFICIT_RAD)


def identify(closings: list[Closing]) -> FreeClosing:
    """Mean of closings in free air, and limits from how far single ones are from it.

    Raises:
        CalibrationError: If there are fewer than two, or one is too short.
    """
    if len(closings) < 2:
        raise CalibrationError(f'{len(closings)} closing in free air: give at least 2, to know how much they differ')
    low_pa, high_pa = max(c.pressures_pa.min() for c in closings), min(c.pressures_pa.max() for c in closings)
    if high_pa - low_pa < 4 * GRID_PA or min(len(c.shape_times_s) for c in closings) < 10:
        raise CalibrationError(
            f'closings have {(high_pa - low_pa) / 1e3:.0f} kPa and at least '
            f'{min(len(c.shape_times_s) for c in closings)} shapes in common, needed are {4 * GRID_PA / 1e3:.0f} kPa and 10: '
            'check that driver and finger detector run, and close further'
        )
    grid_pa = np.linspace(low_pa, high_pa, 1 + round((high_pa - low_pa) / GRID_PA))
    time_constants_s = np.median([_time_constants_s(c, grid_pa) for c in closings], axis=0)
    bends_rad = np.mean([_bends_rad(c, grid_pa) for c in closings], axis=0)
    return FreeClosing(grid_pa, time_constants_s, bends_rad, np.inf, np.inf)


def limits(excesses: list[float], deficits_rad: list[float]) -> tuple[float, float]:
    """Limits of a contact, from the largest statistics that free closings have shown."""
    return max(_LEAST_EXCESS, _MARGIN * max(excesses)), max(_LEAST_DEFICIT_RAD, _MARGIN * max(deficits_rad))


def _time_constants_s(closing: Closing, grid_pa: np.ndarray) -> np.ndarray:
    """Lag over rate at each pressure of the grid, both smoothed."""
    t, p = closing.times_s, closing.pressures_pa
    half = max(1, round(_SMOOTH_S / np.median(np.diff(t)) / 2))
    middle = np.arange(half, len(t) - half)
    rate_pa_s = (p[middle + half] - p[middle - half]) / (t[middle + half] - t[middle - half])
    lag_pa = np.convolve(closing.set_points_pa - p, np.full(2 * half + 1, 1 / (2 * half + 1)), 'same')[middle]
    rising = (rate_pa_s > 0.25 * np.median(rate_pa_s)) & (lag_pa > 0)
    at_pa, tau_s = p[middle][rising], lag_pa[rising] / rate_pa_s[rising]
    return np.array([np.median(tau_s[np.argsort(np.abs(at_pa - g))[: 2 * half + 1]]) for g in grid_pa])


def _bends_rad(closing: Closing, grid_pa: np.ndarray) -> np.ndarray:
    at_pa = np.interp(closing.shape_times_s, closing.times_s, closing.pressures_pa)
    rows = []
    for g in grid_pa:
        weight = np.exp(-0.5 * ((at_pa - g) / (0.5 * GRID_PA)) ** 2) + 1e-12
        near = np.polynomial.polynomial.polyfit(at_pa - g, closing.bends_rad, 1, w=np.sqrt(weight))
        rows.append(near[0])
    return np.array(rows)


def load(path: Path, robot: Robot) -> FreeClosing:
    """Read a file and check that it was made for this robot.

    Raises:
        CalibrationError: If it was made for another robot, or has a missing or impossible value.
    """
    try:
        content = yaml.safe_load(path.read_text())
        values = content['values']
        free = FreeClosing(
            *(np.array(values[name], float) for name in ('pressures_pa', 'time_constants_s', 'bends_rad')),
            float(values['excess_limit']),
            float(values['deficit_limit_rad']),
        )
        made_for = content['robot_fingerprint']
    except (OSError, KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        raise CalibrationError(f'{path}: {" ".join(str(error).split())}; {_REMEDY}') from error
    n = len(free.pressures_pa)
    shapes = free.time_constants_s.shape == (n,) and free.bends_rad.shape == (n, len(robot.segments))
    numbers = all(np.isfinite(v).all() for v in vars(free).values())
    if n < 2 or not shapes or not numbers or not np.all(np.diff(free.pressures_pa) > 0) or not np.all(free.time_constants_s > 0):
        raise CalibrationError(f'{path}: pressures must rise, with one positive time constant and {len(robot.segments)} bends each; {_REMEDY}')
    if made_for != robot.kinematic_fingerprint:
        raise CalibrationError(f'{path}: made for another robot ({made_for}, this is {robot.kinematic_fingerprint}); {_REMEDY}')
    return free


def save(path: Path, free: FreeClosing, robot: Robot, rate_pa_s: float, closings: int, date: datetime.date) -> None:
    """Write a file with date, method and the robot's fingerprint."""
    values = {name: np.round(value, 6).tolist() for name, value in vars(free).items()}
    content = {
        'date': date.isoformat(),
        'method': f'{closings} closings in free air at {rate_pa_s:g} Pa/s; median of time constants, mean of bends, limits from the scatter',
        'robot': robot.name,
        'robot_fingerprint': robot.kinematic_fingerprint,
        'values': values,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content, sort_keys=False))
