"""Pressure-to-length curve of each actuator: fitted to data, strictly rising, with its inverse.

One exponential L(p) = L_0 + s (exp(k p) - 1) / k passes through the three points of the paper's
table 3. A straight line through (-96, 0, 96) kPa would be 29 mm wrong; a monotone cubic has almost
no slope at full vacuum, so that its inverse is useless there. `curve_families` has all forms.
"""

import dataclasses
import datetime
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, NotRequired

import numpy as np
from pydantic import Field
from typing_extensions import TypedDict

from soft_arm_description.calibration import made_by, made_for_another
from soft_arm_description.csv_file import CsvFileError, need, read_csv
from soft_arm_description.robot import Robot
from soft_arm_description.segments import BellowsSegment
from soft_arm_description.yaml_file import (
    Number,
    Word,
    YamlFileError,
    checked,
    read_yaml,
    write_yaml,
)
from soft_arm_kinematics.calibration.curve_families import (
    FAMILIES,
    Cubic,
    CurveFit,
    Exponential,
    Family,
    MonotoneSpline,
    findings,
    fit_best,
    parameters,
)
from soft_arm_kinematics.errors import CurveError, OtherRobotError

_AGAIN = 'make it again with `softarm calibrate curve --robot FILE --rig NAME`'
RELATIVE_TOLERANCE = 1e-6  # of the calibrated range: round-off at a limit is not extrapolation


@dataclass(frozen=True, eq=False)
class PressureLengthCurve:
    """Curves of all actuators of a robot; every array is (n,), in robot-file order.

    Attributes:
        chambers: Names.
        curves: The curve of each, of any family.
        pressure_range_pa: (2, n) lowest and highest calibrated pressure [Pa]; nothing is extrapolated.
        residual_rms_m: Root mean square of the data about the curve [m].
        residual_max_m: Largest distance of a datum from the curve [m].
        method: How it was fitted.
        date: Day of the fit, ISO 8601.
        robot: Name of the robot.
        robot_fingerprint: `Robot.kinematic_fingerprint` of the robot it was made for.
        fits: What the fit found out about each curve's errors; None in a curve that was loaded.
    """

    chambers: tuple[str, ...]
    curves: tuple[Family, ...]
    pressure_range_pa: np.ndarray
    residual_rms_m: np.ndarray
    residual_max_m: np.ndarray
    method: str
    date: str
    robot: Word
    robot_fingerprint: Word
    fits: tuple[CurveFit, ...] | None = None

    @cached_property
    def _exponential(self) -> Exponential | None:
        """All curves as one, so that a call costs as much as for one; None with other families."""
        if not all(isinstance(curve, Exponential) for curve in self.curves):
            return None
        return Exponential(*np.array([dataclasses.astuple(curve) for curve in self.curves]).T)

    @property
    def length_0_m(self) -> np.ndarray:
        """Length at ambient pressure [m], (n,)."""
        return self._each('values', np.zeros(len(self.curves)))

    @property
    def slope_0_m_per_pa(self) -> np.ndarray:
        """Slope dL/dp at ambient pressure [m/Pa], (n,)."""
        return self._each('slopes', np.zeros(len(self.curves)))

    @property
    def growth_per_pa(self) -> np.ndarray:
        """Growth k of exponentials [1/Pa], (n,); nan for other families."""
        return np.array([getattr(curve, 'growth_per_pa', np.nan) for curve in self.curves])

    @property
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

    def save(self, path: Path, devices: str) -> None:
        """Write the curve as YAML, SI with units in the keys, with the errors that the fit found. Raises OSError.

        Args:
            path: The file.
            devices: On which the data was measured, `virtual` or `real`.
        """
        chambers = {}
        for i, (name, curve) in enumerate(zip(self.chambers, self.curves, strict=True)):
            chambers[name] = parameters(curve, 'length', 'm') | {
                'pressure_range_pa': [float(p) for p in self.pressure_range_pa[:, i]],
                'residual_rms_m': float(self.residual_rms_m[i]),
                'residual_max_m': float(self.residual_max_m[i]),
            }
            if self.fits:
                chambers[name] |= findings(self.fits[i], 'length', 'm')
        content = {
            'date': self.date,
            'method': self.method,
            'devices': devices,
            'robot': self.robot,
            'robot_fingerprint': self.robot_fingerprint,
            'chambers': chambers,
        }
        write_yaml(
            path,
            content,
            'Pressure-to-length curves.\n'
            'exponential: L = length_0_m + slope_0_m_per_pa (exp(growth_per_pa p) - 1) / growth_per_pa;\n'
            'cubic: L = sum_i coefficients_m[i] (p / pressure_unit_pa)^i; monotone_spline: PCHIP through the knots.',
        )

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
        """Check values (..., n) against limits (2, n) and clip round-off; scale turns SI into the unit."""
        values = np.asarray(values, dtype=float)
        if values.shape[-1:] != (len(self.chambers),):
            given = values.shape[-1] if values.ndim else 'no list of'
            raise CurveError(
                f'{what}: {given} values, give {len(self.chambers)} [{unit}], one for each of '
                f'{", ".join(self.chambers)[:150]}'
            )
        slack = RELATIVE_TOLERANCE * (limits[1] - limits[0])
        bad = ~((values >= limits[0] - slack) & (values <= limits[1] + slack))
        if bad.any():
            index = tuple(np.argwhere(bad)[0])
            low, high = limits[:, index[-1]] * scale
            raise CurveError(
                f'{what} of {self.chambers[index[-1]]} is {values[index] * scale:.7g} {unit}, '
                f'outside the calibrated {low:.7g}..{high:.7g} {unit}: give a value inside, or '
                'calibrate over a wider range'
            )
        return np.clip(values, *limits)


def fit_curve(
    robot: Robot,
    data: dict[str, tuple[np.ndarray, ...]],
    source: str,
    date: str | None = None,
    family: str = 'exponential',
) -> PressureLengthCurve:
    """Fit the curves of a robot's actuators.

    Args:
        robot: The robot.
        data: For every chamber its pressures [Pa] and lengths [m] in the order of measurement, and
            if known a third array, which of them were taken on the way up.
        source: Where the data came from, for the record.
        date: ISO date of the measurement; today when left out.
        family: As `curve_families.fit_best`.

    Raises:
        CurveError: If a chamber is missing or unknown, or its data cannot be fitted.
    """
    if sorted(data) != sorted(robot.chambers):
        raise CurveError(
            f'data of chambers {sorted(data)}: the robot {robot.name} has {sorted(robot.chambers)}; '
            'give rows for each of them'
        )
    fits, ranges = [], []
    for name in robot.chambers:
        pressures_pa, lengths_m, *rising = data[name]
        try:
            fits.append(fit_best(pressures_pa, lengths_m, family, *rising))
        except CurveError as error:
            raise CurveError(f'{name}: {error}') from error
        ranges.append((np.min(pressures_pa), np.max(pressures_pa)))
    chosen = ', '.join(sorted({fit.family for fit in fits}))
    by = ' by held-out error' if family == 'auto' else ''
    count = sum(len(columns[0]) for columns in data.values())
    return PressureLengthCurve(
        chambers=robot.chambers,
        curves=tuple(fit.curve for fit in fits),
        pressure_range_pa=np.array(ranges).T,
        residual_rms_m=np.array([fit.residual_rms for fit in fits]),
        residual_max_m=np.array([fit.residual_max for fit in fits]),
        method=f'{chosen}{by}, least squares on {count} points; {source}',
        date=date or datetime.date.today().isoformat(),
        robot=robot.name,
        robot_fingerprint=robot.kinematic_fingerprint,
        fits=tuple(fits),
    )


def curve_of_robot_file(robot: Robot) -> PressureLengthCurve:
    """Fit the curve to the points in the robot file, for use before a rig is calibrated."""
    data: dict[str, tuple[np.ndarray, ...]] = {
        name: (np.array(s.actuators.curve.pressure_pa), np.array(s.actuators.curve.length_m))
        for s in robot.segments
        if isinstance(s, BellowsSegment)
        for name in s.actuators.names
    }
    return fit_curve(robot, data, 'points of the robot file')


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
    wanted = name_column, 'pressure_pa', value_column
    points: dict[str, list[tuple[float, ...]]] = {}
    try:
        columns, rows = read_csv(path)
        need(columns, wanted)
        for row in rows:
            rising = [row.one_of('branch', 'up', 'down') == 'up'] if 'branch' in columns else []
            point = row.number('pressure_pa'), row.number(value_column), *rising
            points.setdefault(row.texts[name_column], []).append(point)
    except OSError as error:
        raise CurveError(
            f'{path}: {error.strerror}; give a CSV file with the columns {",".join(wanted)}'
        ) from error
    except CsvFileError as error:
        raise CurveError(f'{path}: {error}') from error
    return {
        name: tuple(np.array(column) for column in zip(*values, strict=True))
        for name, values in points.items()
    }


class _Chamber(TypedDict):
    pressure_range_pa: Annotated[
        list[Annotated[Number, Field(ge=-1e6, le=1e6)]], Field(min_length=2, max_length=2)
    ]
    residual_rms_m: Number
    residual_max_m: Number
    family: NotRequired[Word]
    length_0_m: NotRequired[Number]
    slope_0_m_per_pa: NotRequired[Number]
    growth_per_pa: NotRequired[Annotated[Number, Field(ge=-5e-4, le=5e-4)]]
    coefficients_m: NotRequired[list[Number]]
    pressure_unit_pa: NotRequired[Annotated[Number, Field(gt=0)]]
    knot_pressures_pa: NotRequired[list[Number]]
    knot_lengths_m: NotRequired[list[Number]]


class _File(TypedDict):
    date: str
    method: str
    robot: Word
    robot_fingerprint: Word
    chambers: dict[Word, _Chamber]


def load_curve(path: Path, robot: Robot) -> PressureLengthCurve:
    """Read a saved curve and check that it was made for this robot.

    Raises:
        CurveError: If the file is missing or incomplete; OtherRobotError if it was made for another
            robot.
    """
    try:
        content = checked(read_yaml(path), _File)
        if content['robot_fingerprint'] != robot.kinematic_fingerprint:
            raise OtherRobotError(made_for_another(Path(path), str(content['robot']), robot.name))
        chambers = [content['chambers'][name] for name in robot.chambers]
        columns = {
            key: np.array([c[key] for c in chambers], dtype=float).T
            for key in ('pressure_range_pa', 'residual_rms_m', 'residual_max_m')
        }
        curve = PressureLengthCurve(
            robot.chambers,
            tuple(_curve(c) for c in chambers),
            **columns,
            method=content['method'],
            date=str(content['date']),
            robot=content['robot'],
            robot_fingerprint=content['robot_fingerprint'],
        )
    except OSError as error:
        raise CurveError(
            f'{path}: {error.strerror}; {made_by(path, "softarm calibrate curve")}'
        ) from error
    except OtherRobotError:
        raise
    except (KeyError, ValueError) as error:
        why = f'key {error} is missing' if isinstance(error, KeyError) else error
        raise CurveError(
            f'{path}: not a pressure-length calibration of {robot.name} ({why}); {_AGAIN}'
        ) from error
    checked_pa = np.linspace(*curve.pressure_range_pa, 33)
    if not (
        (np.diff(curve.pressure_range_pa, axis=0) > 0).all()
        and (np.diff(curve.lengths(checked_pa), axis=0) > 0).all()
    ):
        raise CurveError(f'{path}: a curve does not rise over its pressure range; {_AGAIN}')
    return curve


def _curve(content: dict) -> Family:
    """The curve in a file; KeyError or ValueError if it is incomplete."""
    family = content.get('family', 'exponential')  # files from before there were families
    if family == 'exponential':
        return Exponential(
            *(float(content[key]) for key in ('length_0_m', 'slope_0_m_per_pa', 'growth_per_pa'))
        )
    if family == 'cubic':
        return Cubic(
            tuple(float(c) for c in content['coefficients_m']), float(content['pressure_unit_pa'])
        )
    if family == 'monotone_spline':
        return MonotoneSpline(
            tuple(float(p) for p in content['knot_pressures_pa']),
            tuple(float(v) for v in content['knot_lengths_m']),
        )
    raise YamlFileError(f'family {family!r} is not one of {", ".join(FAMILIES)}')
