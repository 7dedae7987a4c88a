"""How fast the rig is: identified by `softarm calibrate dynamics`, kept in calibration/<rig>/dynamics.yaml."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares
from scipy.signal import lfilter
from typing_extensions import TypedDict

from soft_arm_control.errors import CalibrationError
from soft_arm_description.calibration import made_by, made_for_another
from soft_arm_description.yaml_file import (
    Number,
    Word,
    YamlFileError,
    checked,
    read_yaml,
    shown,
    write_yaml,
)

MOST_CREEP = 0.3
AT_REST_SHARE = 0.01
GRID_S = 0.005  # of the simulated responses


@dataclass(frozen=True)
class Dynamics:
    """Valves: dp/dt = clip((command - p) / valve_time_constant, +-valve_rate_limit), `valve_delay_s` after the command.

    Mechanics: the tip follows the pressures with a first-order lag. Creep: a share of the
    pressure's effect comes late, with a time constant of its own. The camera's delay is from an
    image's stamp to its ring pose.
    """

    valve_time_constant_s: float
    valve_rate_limit_pa_s: float
    valve_delay_s: float
    mechanical_lag_s: float
    creep_share: float
    creep_time_constant_s: float
    camera_delay_s: float

    def __post_init__(self):
        for name, value in vars(self).items():
            positive = name in (
                'valve_time_constant_s',
                'valve_rate_limit_pa_s',
                'creep_time_constant_s',
            )
            if name == 'creep_share' and value > MOST_CREEP:
                raise CalibrationError(
                    f'creep_share = {value}: must be <= {MOST_CREEP}; identify it with `softarm calibrate dynamics`'
                )
            if not np.isfinite(value) or value < 0 or (positive and value == 0):
                raise CalibrationError(
                    f'{name} = {value}: must be finite and {"> 0" if positive else ">= 0"}; identify it with `softarm calibrate dynamics`'
                )


class _File(TypedDict):
    robot_fingerprint: Word
    values: dict[str, Number]


def load_dynamics(path: Path, fingerprint: str) -> Dynamics:
    """Read a dynamics file and check that it was made for this robot.

    Args:
        path: The file.
        fingerprint: `Robot.kinematic_fingerprint` of the robot in use.

    Raises:
        CalibrationError: If it is missing, was made for another robot, or has a missing, unknown or
            impossible value.
    """
    try:
        content = checked(read_yaml(path), _File)
        made_for, values = content['robot_fingerprint'], content['values']
        for name in sorted(set(values) ^ {field.name for field in fields(Dynamics)}):
            raise YamlFileError(
                f'values: key {shown(name)} is {"unknown: remove it" if name in values else "missing"}'
            )
        dynamics = Dynamics(**values)
    except OSError as error:
        raise CalibrationError(
            f'{path}: {error.strerror}; {made_by(path, "softarm calibrate dynamics")}'
        ) from error
    except ValueError as error:
        raise CalibrationError(
            f'{path}: {error}; make it anew with `softarm calibrate dynamics`'
        ) from error
    if made_for != fingerprint:
        raise CalibrationError(made_for_another(Path(path), str(made_for), fingerprint))
    return dynamics


def save_dynamics(
    path: Path,
    dynamics: Dynamics,
    residuals: dict[str, float],
    fingerprint: str,
    date: datetime.date,
    devices: str,
) -> None:
    """Write a dynamics file with date, method, devices (`virtual` or `real`), residuals (unit in each name) and the robot's fingerprint."""
    content = {
        'date': date.isoformat(),
        'method': 'step responses of one chamber, up and down; least squares',
        'devices': devices,
        'robot_fingerprint': fingerprint,
        'residuals': {k: float(v) for k, v in residuals.items()},
        'values': {name: round(float(value), 6) for name, value in vars(dynamics).items()},
    }
    write_yaml(path, content)


def valve_response_pa(
    times_s: np.ndarray,
    start_pa: float,
    command_pa: float,
    time_constant_s: float,
    rate_limit_pa_s: float,
    delay_s: float,
) -> np.ndarray:
    """Pressure [Pa] at `times_s` after a step of the command at time 0: at the rate limit first, then exponentially."""
    t = np.maximum(np.asarray(times_s, float) - delay_s, 0.0)
    step_pa = command_pa - start_pa
    knee_pa = rate_limit_pa_s * time_constant_s
    ramp_s = max(abs(step_pa) - knee_pa, 0.0) / rate_limit_pa_s
    sign, left_pa = np.sign(step_pa), min(abs(step_pa), knee_pa)
    return np.where(
        t < ramp_s,
        start_pa + sign * rate_limit_pa_s * t,
        command_pa - sign * left_pa * np.exp(-(t - ramp_s) / time_constant_s),
    )


@dataclass(frozen=True)
class StepRecord:
    """One step of the command of one chamber. Times [s] from the command, pressures [Pa] gauge."""

    pressure_times_s: np.ndarray  # (n,)
    pressures_pa: np.ndarray  # (n,), of the chamber that was stepped
    ring_times_s: np.ndarray  # (m,), image stamps
    ring_m: np.ndarray  # (m, 3)
    ring_ages_s: np.ndarray  # (m,), from stamp to arrival
    start_pa: float
    command_pa: float


def identify(
    records: list[StepRecord], tips_at: Callable[[np.ndarray], np.ndarray]
) -> tuple[Dynamics, dict[str, float]]:
    """Dynamics from recorded steps, and the residuals of the fits.

    The valve is fitted to the measured pressures (with a free final pressure: valves have offsets).
    The mechanical lag is fitted to the ring's way against that of the model's tip, with offset and
    gain of each record free, since the model is not exact; the creep to what the ring still moves
    after the pressure has come to rest, because before that hysteresis looks much the same.

    Args:
        records: Steps, up and down.
        tips_at: The model: pressures of the stepped chamber [Pa], shape (k,), to tips [m], shape (k, 3).

    Raises:
        CalibrationError: If a record is too short or nothing moved.
    """
    for record in records:
        if len(record.pressures_pa) < 20 or len(record.ring_m) < 15:
            raise CalibrationError(
                f'{len(record.pressures_pa)} pressures and {len(record.ring_m)} rings after a step: need 20 and 15; '
                'check that the driver and the ring detector run'
            )
        if abs(record.pressures_pa[-1] - record.pressures_pa[0]) < 0.5 * abs(
            record.command_pa - record.start_pa
        ):
            raise CalibrationError(
                f'measured pressure moved {record.pressures_pa[-1] - record.pressures_pa[0]:.0f} Pa on a step of '
                f'{record.command_pa - record.start_pa:.0f} Pa; is the valve connected and the supply on?'
            )
    valve = least_squares(
        _valve_residuals,
        [0.1, 1.0e5, 0.02],
        args=(records,),
        x_scale=[0.1, 1e5, 0.02],
        bounds=([0.005, 5e3, 0.0], [2.0, 2e6, 0.3]),
    )
    lag = least_squares(
        lambda x: _way_residuals(x[0], 0.0, 1.0, records, tips_at), [0.05], bounds=([0.0], [0.3])
    )
    creep = least_squares(
        lambda x: _rest_residuals_m(lag.x[0], *x, records, tips_at),
        [0.02, 0.8],
        x_scale=[0.01, 0.3],
        bounds=([0.0, 0.3], [MOST_CREEP, 3.0]),
    )
    lag = least_squares(
        lambda x: _way_residuals(x[0], *creep.x, records, tips_at), lag.x, bounds=([0.0], [0.3])
    )
    ages_s = np.concatenate([r.ring_ages_s for r in records])
    residuals = {
        'valve_rms_pa': float(np.sqrt(np.mean(valve.fun**2))),
        'tip_rms_share': float(np.sqrt(np.mean(lag.fun**2))),
        'creep_rms_m': float(np.sqrt(np.mean(creep.fun**2))),
    }
    return Dynamics(
        *map(float, (*valve.x, *lag.x, *creep.x)), camera_delay_s=float(np.median(ages_s))
    ), residuals


def _valve_residuals(x, records):
    return np.concatenate(
        [
            valve_response_pa(
                r.pressure_times_s, r.pressures_pa[0], np.mean(r.pressures_pa[-5:]), *x
            )
            - r.pressures_pa
            for r in records
        ]
    )


def _ways_m(r, lag_s, creep, creep_s, tips_at):
    """Model and ring along the straight line from their first to their last few points [m], at the images."""
    grid_s = np.arange(r.pressure_times_s[0], r.pressure_times_s[-1], GRID_S)
    lagged_pa = _lag(np.interp(grid_s, r.pressure_times_s, r.pressures_pa), lag_s)
    effective_pa = (1.0 - creep) * lagged_pa + creep * _lag(lagged_pa, creep_s)
    return _along(tips_at(np.interp(r.ring_times_s, grid_s, effective_pa))), _along(r.ring_m)


def _along(points_m):
    way_m = np.mean(points_m[-5:], axis=0) - points_m[0]
    return points_m @ way_m / np.linalg.norm(way_m)


def _way_residuals(lag_s, creep, creep_s, records, tips_at):
    """Model less ring, as shares of the whole way."""
    parts = []
    for r in records:
        model_m, ring_m = _ways_m(r, lag_s, creep, creep_s, tips_at)
        gain, offset_m = np.polyfit(model_m, ring_m, 1)
        parts.append((gain * model_m + offset_m - ring_m) / np.ptp(ring_m))
    return np.concatenate(parts)


def _rest_residuals_m(lag_s, creep, creep_s, records, tips_at):
    """Model less ring [m] after the pressure has come to rest, each record about its mean."""
    parts = []
    for r in records:
        end_pa = np.mean(r.pressures_pa[-5:])
        moving = np.abs(r.pressures_pa - end_pa) > AT_REST_SHARE * abs(end_pa - r.pressures_pa[0])
        rest = r.ring_times_s > r.pressure_times_s[np.flatnonzero(moving)[-1]] + 3 * lag_s
        model_m, ring_m = _ways_m(r, lag_s, creep, creep_s, tips_at)
        off_m = (np.polyfit(model_m, ring_m, 1)[0] * model_m - ring_m)[rest]
        parts.append(off_m - off_m.mean())
    return np.concatenate(parts)


def _lag(values, time_constant_s):
    """First-order lag of samples on the grid, at rest at the first."""
    keep = np.exp(-GRID_S / max(time_constant_s, 1e-4))
    return values[0] + lfilter([1.0 - keep], [1.0, -keep], values - values[0])
