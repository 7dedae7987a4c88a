"""Pressure-to-length curve of each actuator: fitted from data, strictly monotone, analytic in both directions.

    L(p) = L_0 + s (exp(k p) - 1) / k          p gauge pressure [Pa], L length [m]

L_0 is the length and s > 0 the slope at ambient pressure; k says how the slope grows, and k = 0 is a straight line. It is the unique
exponential through the paper's three points (its table 3), and a least-squares fit through more. A straight line through
(-96, 0, 96) kPa would be 29 mm wrong; a monotone cubic has almost no slope at full vacuum, so its inverse is useless there.
"""

import csv
import datetime
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from scipy.optimize import minimize_scalar

from soft_arm_description.robot import Robot
from soft_arm_kinematics.errors import CurveError

LARGEST_RATIO = 1e3  # largest accepted ratio of the slopes at the two ends of the data: beyond it the inverse is noise
RELATIVE_TOLERANCE = 1e-6  # of the calibrated range: round-off at a limit is not extrapolation


@dataclass(frozen=True, eq=False)
class PressureLengthCurve:
    """Curves of all actuators of a robot; every array is (n,), in robot-file order.

    Attributes:
        chambers: Names.
        length_0_m: Length at ambient pressure [m].
        slope_0_m_per_pa: dL/dp at ambient pressure [m/Pa], > 0.
        growth_per_pa: k above [1/Pa].
        pressure_range_pa: (2, n) lowest and highest calibrated pressure [Pa]; nothing is extrapolated.
        residual_rms_m: Root mean square of the data about the curve [m].
        residual_max_m: Largest distance of a datum from the curve [m].
        method: How it was fitted.
        date: Day of the fit, ISO 8601.
        robot: Name of the robot.
        robot_fingerprint: `Robot.kinematic_fingerprint` of the robot it was made for.
    """

    chambers: tuple[str, ...]
    length_0_m: np.ndarray
    slope_0_m_per_pa: np.ndarray
    growth_per_pa: np.ndarray
    pressure_range_pa: np.ndarray
    residual_rms_m: np.ndarray
    residual_max_m: np.ndarray
    method: str
    date: str
    robot: str
    robot_fingerprint: str

    @property
    def length_range_m(self) -> np.ndarray:
        """Lengths [m] at both ends of the calibrated pressure range, shape (2, n)."""
        return self._lengths(self.pressure_range_pa)

    def lengths(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Lengths [m] at gauge pressures [Pa], both (..., n).

        Raises:
            CurveError: If a pressure is not finite or outside the calibrated range.
        """
        return self._lengths(self._inside(pressures_pa, self.pressure_range_pa, 'pressure', 'Pa', 1.0))

    def pressures(self, lengths_m: np.ndarray) -> np.ndarray:
        """Gauge pressures [Pa] that give lengths [m], both (..., n).

        Raises:
            CurveError: If a length is not finite or outside the calibrated range.
        """
        lengths_m = self._inside(lengths_m, self.length_range_m, 'length', 'mm', 1e3)
        strain = (lengths_m - self.length_0_m) / self.slope_0_m_per_pa
        k = np.where(self.growth_per_pa == 0.0, 1.0, self.growth_per_pa)
        pressures_pa = np.where(self.growth_per_pa == 0.0, strain, np.log1p(k * np.where(self.growth_per_pa == 0.0, 0.0, strain)) / k)
        return np.clip(pressures_pa, *self.pressure_range_pa)

    def slopes(self, pressures_pa: np.ndarray) -> np.ndarray:
        """dL/dp [m/Pa] at gauge pressures [Pa], both (..., n). Raises as `lengths`."""
        pressures_pa = self._inside(pressures_pa, self.pressure_range_pa, 'pressure', 'Pa', 1.0)
        return self.slope_0_m_per_pa * np.exp(self.growth_per_pa * pressures_pa)

    def limit(self, pressures_pa: np.ndarray) -> np.ndarray:
        """The nearest calibrated pressures [Pa] to finite ones, (..., n): for sensors that read just beyond a limit."""
        return np.clip(pressures_pa, *self.pressure_range_pa)

    def save(self, path: Path) -> None:
        """Write the curve as YAML."""
        chambers = {
            name: {
                'length_0_m': float(self.length_0_m[i]),
                'slope_0_m_per_pa': float(self.slope_0_m_per_pa[i]),
                'growth_per_pa': float(self.growth_per_pa[i]),
                'pressure_range_pa': [float(p) for p in self.pressure_range_pa[:, i]],
                'residual_rms_m': float(self.residual_rms_m[i]),
                'residual_max_m': float(self.residual_max_m[i]),
            }
            for i, name in enumerate(self.chambers)
        }
        content = {
            'date': self.date,
            'method': self.method,
            'robot': self.robot,
            'robot_fingerprint': self.robot_fingerprint,
            'chambers': chambers,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            '# Pressure-to-length curve: L = length_0_m + slope_0_m_per_pa (exp(growth_per_pa p) - 1) / growth_per_pa\n'
            + yaml.safe_dump(content, sort_keys=False)
        )

    def _lengths(self, pressures_pa):
        k = self.growth_per_pa
        stretched = np.where(k == 0.0, pressures_pa, np.expm1(k * pressures_pa) / np.where(k == 0.0, 1.0, k))
        return self.length_0_m + self.slope_0_m_per_pa * stretched

    def _inside(self, values, limits, what, unit, scale):
        values = np.asarray(values, dtype=float)
        if values.shape[-1:] != (len(self.chambers),):
            raise CurveError(
                f'{what} of shape {values.shape}: give {len(self.chambers)} values, one for each of {", ".join(self.chambers)}'
            )
        slack = RELATIVE_TOLERANCE * (limits[1] - limits[0])
        bad = ~((values >= limits[0] - slack) & (values <= limits[1] + slack))
        if bad.any():
            index = tuple(np.argwhere(bad)[0])
            low, high = limits[:, index[-1]] * scale
            raise CurveError(
                f'{what} of {self.chambers[index[-1]]} is {values[index] * scale:.7g} {unit}, outside the calibrated '
                f'{low:.7g}..{high:.7g} {unit}: give a value inside, or calibrate over a wider range'
            )
        return np.clip(values, *limits)


def fit_exponential(pressures_pa: np.ndarray, lengths_m: np.ndarray) -> tuple[float, float, float]:
    """Least-squares exponential through at least three points of one actuator.

    Args:
        pressures_pa: Gauge pressures [Pa], (m,), at least three different ones.
        lengths_m: Lengths [m], (m,).

    Returns:
        Length [m] and slope [m/Pa] at ambient pressure, and growth [1/Pa].

    Raises:
        CurveError: If the data are not finite, too few, or do not rise with pressure.
    """
    p, length = np.asarray(pressures_pa, dtype=float), np.asarray(lengths_m, dtype=float)
    if p.shape != length.shape or p.ndim != 1 or len(np.unique(p)) < 3:
        raise CurveError(f'{len(np.unique(p))} different pressures: a curve needs at least 3')
    if not (np.isfinite(p).all() and np.isfinite(length).all()):
        raise CurveError('pressure or length is not finite: remove that row')
    scale = np.ptp(p)

    def linear_fit(growth):  # growth per `scale`; given it, the other two are linear
        x = p / scale
        column = np.expm1(growth * x) / growth if growth else x
        solution, *_ = np.linalg.lstsq(np.stack([np.ones_like(x), column], axis=1), length, rcond=None)
        return solution, float(np.sum((solution[0] + solution[1] * column - length) ** 2))

    bound = np.log(LARGEST_RATIO)
    grid = np.linspace(-bound, bound, 29)
    best = int(np.argmin([linear_fit(g)[1] for g in grid]))
    found = minimize_scalar(
        lambda g: linear_fit(g)[1], bounds=(grid[max(best - 1, 0)], grid[min(best + 1, 28)]), method='bounded', options={'xatol': 1e-12}
    )
    growth = _exact_growth(p / scale, length, found.x) if len(p) == 3 else float(found.x)
    (length_0, slope), _ = linear_fit(growth)
    if not slope > 0.0 or abs(growth) > 0.999 * bound:
        raise CurveError(
            f'no rising curve fits: slope {slope / scale:.3g} m/Pa with a ratio {np.exp(abs(growth)):.3g} between its ends '
            f'(limit {LARGEST_RATIO:g}); check the units (Pa, m) and the sign of the pressures'
        )
    return float(length_0), float(slope / scale), float(growth / scale)


def _exact_growth(x, length, start):
    """Polish to the exponential through three points: Newton on the ratio of its two rises."""
    x, length = x[np.argsort(x)], length[np.argsort(x)]
    wanted = (length[2] - length[1]) / (length[1] - length[0]) if length[1] != length[0] else np.inf

    def ratio(g):
        rise = np.expm1(g * x) / g if g else x
        return np.log((rise[2] - rise[1]) / (rise[1] - rise[0]))

    if not (0.0 < wanted < np.inf):
        return start
    growth, step = start, 1e-6
    for _ in range(8):
        growth -= (ratio(growth) - np.log(wanted)) * 2 * step / (ratio(growth + step) - ratio(growth - step))
    return float(growth)


def fit_curve(robot: Robot, data: dict[str, tuple[np.ndarray, np.ndarray]], source: str, date: str | None = None) -> PressureLengthCurve:
    """Fit the curves of a robot's actuators.

    Args:
        robot: The robot.
        data: For every chamber its pressures [Pa] and lengths [m].
        source: Where the data came from, for the record.
        date: ISO date of the measurement; today when left out.

    Raises:
        CurveError: If a chamber is missing or unknown, or its data cannot be fitted.
    """
    if sorted(data) != sorted(robot.chambers):
        raise CurveError(f'data of chambers {sorted(data)}: the robot {robot.name} has {sorted(robot.chambers)}; give each its rows')
    parameters, ranges, rms, worst = [], [], [], []
    for name in robot.chambers:
        p, length = (np.asarray(v, dtype=float) for v in data[name])
        try:
            length_0, slope, growth = fit_exponential(p, length)
        except CurveError as error:
            raise CurveError(f'{name}: {error}') from error
        error_m = length_0 + slope * (np.expm1(growth * p) / growth if growth else p) - length
        parameters.append((length_0, slope, growth))
        ranges.append((p.min(), p.max()))
        rms.append(np.sqrt(np.mean(error_m**2)))
        worst.append(np.abs(error_m).max())
    length_0, slope, growth = np.array(parameters).T
    return PressureLengthCurve(
        robot.chambers,
        length_0,
        slope,
        growth,
        np.array(ranges).T,
        np.array(rms),
        np.array(worst),
        f'exponential, least squares on {sum(len(v[0]) for v in data.values())} points; {source}',
        date or datetime.date.today().isoformat(),
        robot.name,
        robot.kinematic_fingerprint,
    )


def curve_of_robot_file(robot: Robot) -> PressureLengthCurve:
    """The curve through the points in the robot file itself, for use before a rig is calibrated."""
    data = {
        name: (np.array(s.actuators.curve.pressure_pa), np.array(s.actuators.curve.length_m))
        for s in robot.segments
        for name in s.actuators.names
    }
    return fit_curve(robot, data, 'points of the robot file')


def read_points(path: Path) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Read calibration data: CSV with the columns chamber, pressure_pa, length_m.

    Raises:
        CurveError: If the file cannot be read, a column is missing or a value is not a finite number.
    """
    try:
        with open(path, newline='') as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise CurveError(f'{path}: {error.strerror}; give a CSV file with the columns chamber,pressure_pa,length_m') from error
    points = {}
    for line, row in enumerate(rows, start=2):
        try:
            point = float(row['pressure_pa']), float(row['length_m'])
            points.setdefault(row['chamber'], []).append(point)
        except KeyError as error:
            raise CurveError(f'{path}: column {error} is missing; the columns are chamber,pressure_pa,length_m') from error
        except (ValueError, TypeError) as error:
            raise CurveError(f'{path}:{line}: {row}: pressure_pa and length_m must be numbers') from error
    return {name: tuple(np.array(values).T) for name, values in points.items()}


def load_curve(path: Path, robot: Robot) -> PressureLengthCurve:
    """Read a saved curve and check that it was made for this robot.

    Raises:
        CurveError: If the file is missing, incomplete, or was made for another robot.
    """
    try:
        content = yaml.safe_load(Path(path).read_text())
        chambers = [content['chambers'][name] for name in robot.chambers]
        columns = {
            key: np.array([c[key] for c in chambers], dtype=float).T
            for key in ('length_0_m', 'slope_0_m_per_pa', 'growth_per_pa', 'pressure_range_pa', 'residual_rms_m', 'residual_max_m')
        }
        curve = PressureLengthCurve(
            robot.chambers,
            **columns,
            method=content['method'],
            date=str(content['date']),
            robot=content['robot'],
            robot_fingerprint=content['robot_fingerprint'],
        )
    except OSError as error:
        raise CurveError(f'{path}: {error.strerror}; make it with `softarm calibrate curve`') from error
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise CurveError(
            f'{path}: not a pressure-length calibration of {robot.name} ({" ".join(str(error).split())}); '
            'make it again with `softarm calibrate curve`'
        ) from error
    if curve.robot_fingerprint != robot.kinematic_fingerprint:
        raise CurveError(
            f'{path}: made for robot {curve.robot} {curve.robot_fingerprint}, but this is {robot.name} '
            f'{robot.kinematic_fingerprint}: lengths would be wrong; make it again with `softarm calibrate curve`'
        )
    if not ((curve.slope_0_m_per_pa > 0).all() and (np.diff(curve.pressure_range_pa, axis=0) > 0).all()):
        raise CurveError(f'{path}: a slope or a pressure range is not positive; make it again with `softarm calibrate curve`')
    return curve
