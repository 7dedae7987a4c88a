"""Pressure-to-length curve of each actuator: fitted to data, strictly rising, with its inverse.

One exponential L(p) = L_0 + s (exp(k p) - 1) / k passes through the three points of the paper's
table 3. A straight line through (-96, 0, 96) kPa would be 29 mm wrong; a monotone cubic has almost
no slope at full vacuum, so that its inverse is useless there. `curve_families` has all forms.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from soft_arm_description.calibration import (
    CalibrationError,
    Measurement,
    Values,
    load_calibration,
    remedy,
)
from soft_arm_description.rig import Devices, Rig
from soft_arm_description.robot import Robot
from soft_arm_description.segments import BellowsSegment, Name
from soft_arm_description.segments import PressureLength as Points
from soft_arm_io.csv_file import csv_rows
from soft_arm_kinematics.calibration.curve_families import Exponential, Family
from soft_arm_kinematics.calibration.curve_fit import CurveFit, fit_best
from soft_arm_kinematics.errors import CurveError

CLOSE_FIT = 0.01  # of the points' range of lengths: an exponential that near passes through them
RELATIVE_TOLERANCE = 1e-6  # of the calibrated range: round-off at a limit is not extrapolation


class PressureLength(Values):
    """Calibration of bellows: the curve of each chamber, lengths in m."""

    kind: ClassVar[str] = 'pressure_length'
    unit: Literal['m'] = 'm'
    chambers: dict[Name, CurveFit]


@dataclass(frozen=True, eq=False)
class PressureLengthCurve:
    """Curves of all actuators of a robot; every array is (n,), in robot-file order.

    Nothing is extrapolated beyond the calibrated pressures.

    Attributes:
        fits: The fit of each chamber, by its name.
        date: Day of the measurement, ISO 8601; empty where the points of the robot file are used.
    """

    fits: dict[str, CurveFit]
    date: str = ''

    @property
    def chambers(self) -> tuple[str, ...]:
        """Names."""
        return tuple(self.fits)

    @cached_property
    def curves(self) -> tuple[Family, ...]:
        """The curve of each, of any family."""
        return tuple(fit.curve for fit in self.fits.values())

    @cached_property
    def pressure_range_pa(self) -> np.ndarray:
        """Lowest and highest calibrated pressure [Pa], (2, n)."""
        return np.array([fit.pressure_range_pa for fit in self.fits.values()]).T

    @cached_property
    def _exponential(self) -> Exponential | None:
        """All curves as one, so that a call costs as much as for one; None with other families."""
        if not all(isinstance(curve, Exponential) for curve in self.curves):
            return None
        # not validated, since arrays take the place of numbers
        value_0, slope_0, growth_per_pa = (
            np.array([getattr(curve, name) for curve in self.curves])
            for name in ('value_0', 'slope_0', 'growth_per_pa')
        )
        return Exponential.model_construct(
            value_0=value_0, slope_0=slope_0, growth_per_pa=growth_per_pa
        )

    @cached_property
    def length_range_m(self) -> np.ndarray:
        """Lengths [m] at both ends of the calibrated pressure range, shape (2, n)."""
        return self._each('values', self.pressure_range_pa)

    def lengths(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Lengths [m] at gauge pressures [Pa], both (..., n).

        Raises:
            CurveError: If a pressure is not finite or outside the calibrated range.
        """
        inside_pa = self._inside(pressures_pa, self.pressure_range_pa, 'pressure', 'Pa', 1.0)
        return self._each('values', inside_pa)

    def pressures(self, lengths_m: np.ndarray) -> np.ndarray:
        """Gauge pressures [Pa] that give lengths [m], both (..., n).

        Raises:
            CurveError: If a length is not finite or outside the calibrated range.
        """
        lengths_m = self._inside(lengths_m, self.length_range_m, 'length', 'mm', 1e3)
        return self._each('pressures', lengths_m, self.pressure_range_pa)

    def slopes(self, pressures_pa: np.ndarray) -> np.ndarray:
        """dL/dp [m/Pa] at gauge pressures [Pa], both (..., n). Raises as `lengths`."""
        inside_pa = self._inside(pressures_pa, self.pressure_range_pa, 'pressure', 'Pa', 1.0)
        return self._each('slopes', inside_pa)

    def clip(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Clip finite pressures [Pa], (..., n), to the calibrated range.

        A sensor may read just beyond a limit.
        """
        return np.clip(pressures_pa, *self.pressure_range_pa)

    def _each(self, method: str, values: np.ndarray, *limits: np.ndarray) -> np.ndarray:
        """Call a method of every curve with its column of values (..., n) and limits (2, n)."""
        if self._exponential:
            return getattr(self._exponential, method)(values, *limits)
        columns = [
            getattr(curve, method)(values[..., i], *(each[:, i] for each in limits))
            for i, curve in enumerate(self.curves)
        ]
        return np.stack(columns, axis=-1)

    def _inside(
        self, values: np.ndarray, limits: np.ndarray, what: str, unit: str, scale: float
    ) -> np.ndarray:
        """Check values (..., n) against limits (2, n), clip round-off; scale: SI to the unit."""
        values = np.asarray(values, dtype=float)
        if values.shape[-1:] != (len(self.chambers),):
            given = values.shape[-1] if values.ndim else 'no list of'
            raise CurveError(
                f'{what}: {given} values, give {len(self.chambers)} [{unit}], one for each of '
                f'{", ".join(self.chambers)[:150]}'
            )
        inside = np.clip(values, *limits)
        good = np.abs(values - inside) <= RELATIVE_TOLERANCE * (limits[1] - limits[0])
        if not good.all():
            index = tuple(np.argwhere(~good)[0])
            low, high = limits[:, index[-1]] * scale
            raise CurveError(
                f'{what} of {self.chambers[index[-1]]} is {values[index] * scale:.7g} {unit}, '
                f'outside the calibrated {low:.7g}..{high:.7g} {unit}: give a value inside, or '
                'calibrate over a wider range'
            )
        return inside


def fit_curve(
    robot: Robot, data: dict[str, tuple[np.ndarray, ...]], family: str = 'exponential'
) -> PressureLengthCurve:
    """Fit the curves of a robot's actuators.

    Args:
        robot: The robot.
        data: For every chamber its pressures [Pa] and lengths [m] in the order of measurement, and
            where known a third array, which of them were taken on the way up.
        family: As `curve_fit.fit_best`.

    Raises:
        CurveError: If a chamber is missing or unknown, or its data cannot be fitted.
    """
    if sorted(data) != sorted(robot.chambers):
        raise CurveError(
            f'data of chambers {sorted(data)}: the robot {robot.name} has '
            f'{sorted(robot.chambers)}; give each its rows'
        )
    return PressureLengthCurve(
        {name: fit_named(name, data[name], family) for name in robot.chambers}
    )


def fit_named(name: str, data: tuple[np.ndarray, ...], family: str) -> CurveFit:
    """Fit one actuator's curve. Raises CurveError, which names the actuator."""
    pressures_pa, values, *rising = data
    try:
        return fit_best(pressures_pa, values, family, *rising)
    except CurveError as error:
        raise CurveError(f'{name}: {error}') from error


def measurement_of(
    fits: dict[str, CurveFit], unit: str, devices: Devices, source: str, date: str | None = None
) -> Measurement:
    """Describe a measurement of curves for a calibration file.

    Args:
        fits: The fits.
        unit: Of the values, m or rad.
        devices: On which devices the data were measured.
        source: Where the data came from.
        date: ISO date of the measurement; today when left out.
    """
    families = ', '.join(sorted({fit.family for fit in fits.values()}))
    return Measurement(
        devices=devices,
        method=f'least squares, {families}; {source}',
        residuals={
            f'rms_{unit}': max(fit.residual_rms for fit in fits.values()),
            f'max_{unit}': max(fit.residual_max for fit in fits.values()),
        },
        limits={f'{name}_pa': fit.pressure_range_pa for name, fit in fits.items()},
        **({'date': date} if date else {}),
    )


def curve_of_robot_file(robot: Robot) -> PressureLengthCurve:
    """Return the curves through the points in the robot file, for use before calibration.

    Raises:
        CurveError: If no rising curve passes through the points of a segment.
    """
    return PressureLengthCurve(
        {
            name: fit_points(name, s.actuators.curve)
            for s in robot.segments
            if isinstance(s, BellowsSegment)
            for name in s.actuators.names
        }
    )


def fit_points(name: str, points: Points) -> CurveFit:
    """Return one actuator's curve through the points of a robot file.

    It is an exponential where that passes through all points, within 1 % of their range of lengths,
    and else the monotone piecewise cubic.

    Raises:
        CurveError: If neither fits.
    """
    data = np.array(points.pressure_pa), np.array(points.length_m)
    try:
        fit = fit_named(name, data, 'exponential')
    except CurveError:
        fit = None
    if fit is not None and fit.residual_max <= CLOSE_FIT * np.ptp(data[1]):
        return fit
    return fit_named(name, data, 'monotone_spline')


def read_points(
    path: Path, name_column: str = 'chamber', value_column: str = 'length_m'
) -> dict[str, tuple[np.ndarray, ...]]:
    """Read calibration data in the order of measurement from a CSV file.

    Args:
        path: CSV file with the columns chamber, pressure_pa, length_m and, optionally, branch (up
            or down).
        name_column, value_column: Other columns in place of chamber and length_m.

    Returns:
        For every chamber pressures [Pa] and lengths [m]; with a column branch also which of them
        were taken on the way up.

    Raises:
        CurveError: If the file cannot be read, a column is missing or a value is not a finite
            number.
    """
    points: dict[str, list[tuple[float, ...]]] = {}
    wanted = name_column, 'pressure_pa', value_column
    with csv_rows(path, CurveError, *wanted) as (columns, rows):
        for row in rows:
            rising = [row.one_of('branch', 'up', 'down') == 'up'] if 'branch' in columns else []
            point = row.number('pressure_pa'), row.number(value_column), *rising
            points.setdefault(row.texts[name_column], []).append(point)
    return {
        name: tuple(np.array(column) for column in zip(*values, strict=True))
        for name, values in points.items()
    }


def load_curve(rig: Rig, robot: Robot, path: Path | None = None) -> PressureLengthCurve:
    """Load the calibrated curves of a robot's bellows.

    Args:
        rig: The rig on which they were measured.
        robot: The robot.
        path: Another file than the rig's.

    Raises:
        CalibrationError: As `load_calibration`.
    """
    loaded = load_calibration(rig, PressureLength, robot, path)
    fits = loaded.values.chambers
    if sorted(fits) != sorted(robot.chambers):
        raise CalibrationError(
            f'{path or rig.calibration_file("pressure_length")}: curves of {sorted(fits)}, but '
            f'{robot.name} has {sorted(robot.chambers)}; {remedy(rig, "pressure_length")}'
        )
    return PressureLengthCurve(
        {name: fits[name] for name in robot.chambers}, loaded.header.measurement.date
    )
