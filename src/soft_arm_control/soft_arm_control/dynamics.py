"""How fast the rig is: identified by `softarm calibrate dynamics`, kept in calibration/<rig>/dynamics.yaml."""

import datetime
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from scipy.optimize import least_squares

from soft_arm_control.errors import CalibrationError


@dataclass(frozen=True)
class Dynamics:
    """Valves: dp/dt = clip((command - p) / valve_time_constant, +-valve_rate_limit), `valve_delay_s` after the command.

    Mechanics: the tip follows the pressures with a first-order lag. The camera's delay is from an image's stamp to its ring pose.
    """

    valve_time_constant_s: float
    valve_rate_limit_pa_s: float
    valve_delay_s: float
    mechanical_lag_s: float
    camera_delay_s: float

    def __post_init__(self):
        for name in ('valve_time_constant_s', 'valve_rate_limit_pa_s', 'valve_delay_s', 'mechanical_lag_s', 'camera_delay_s'):
            value = getattr(self, name)
            positive = name in ('valve_time_constant_s', 'valve_rate_limit_pa_s')
            if not np.isfinite(value) or value < 0 or (positive and value == 0):
                raise CalibrationError(f'{name} = {value}: must be finite and {"> 0" if positive else ">= 0"}; '
                                       'identify it with `softarm calibrate dynamics`')


def load_dynamics(path: Path, fingerprint: str) -> Dynamics:
    """Read a dynamics file and check that it was made for this robot.

    Args:
        path: The file.
        fingerprint: `Robot.kinematic_fingerprint` of the robot in use.

    Raises:
        CalibrationError: If it is missing, was made for another robot, or has a missing, unknown or impossible value.
    """
    try:
        content = yaml.safe_load(path.read_text())
        made_for = content['robot_fingerprint']
        dynamics = Dynamics(**{name: float(value) for name, value in content['values'].items()})
    except OSError as error:
        raise CalibrationError(f'{path}: {error.strerror}; make it with `softarm calibrate dynamics`') from error
    except (KeyError, TypeError, ValueError, AttributeError, yaml.YAMLError) as error:
        raise CalibrationError(f'{path}: {" ".join(str(error).split())}; make it anew with `softarm calibrate dynamics`') from error
    if made_for != fingerprint:
        raise CalibrationError(f'{path}: made for another robot ({made_for}, this is {fingerprint}); make it anew with '
                               '`softarm calibrate dynamics`')
    return dynamics


def save_dynamics(path: Path, dynamics: Dynamics, residuals: dict[str, float], fingerprint: str, date: datetime.date) -> None:
    """Write a dynamics file with date, method, residuals (unit in each name) and the robot's fingerprint."""
    content = {'date': date.isoformat(), 'method': 'step responses of one chamber, up and down; least squares',
               'robot_fingerprint': fingerprint, 'residuals': {k: float(v) for k, v in residuals.items()},
               'values': {name: round(float(value), 6) for name, value in vars(dynamics).items()}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content, sort_keys=False))


def valve_response_pa(times_s: np.ndarray, start_pa: float, command_pa: float, time_constant_s: float, rate_limit_pa_s: float,
                      delay_s: float) -> np.ndarray:
    """Pressure [Pa] at `times_s` after a step of the command at time 0: at the rate limit first, then exponentially."""
    t = np.maximum(np.asarray(times_s, float) - delay_s, 0.0)
    step_pa = command_pa - start_pa
    knee_pa = rate_limit_pa_s * time_constant_s
    ramp_s = max(abs(step_pa) - knee_pa, 0.0) / rate_limit_pa_s
    sign, left_pa = np.sign(step_pa), min(abs(step_pa), knee_pa)
    return np.where(t < ramp_s, start_pa + sign * rate_limit_pa_s * t,
                    command_pa - sign * left_pa * np.exp(-(t - ramp_s) / time_constant_s))


@dataclass(frozen=True)
class StepRecord:
    """One step of the command of one chamber. Times [s] from the command, pressures [Pa] gauge."""

    pressure_times_s: np.ndarray    # (n,)
    pressures_pa: np.ndarray        # (n,), of the chamber that was stepped
    lengths_m: np.ndarray           # (n,), of its bellows at these pressures, by the calibrated curve
    ring_times_s: np.ndarray        # (m,), image stamps
    ring_m: np.ndarray              # (m, 3)
    ring_ages_s: np.ndarray         # (m,), from stamp to arrival
    start_pa: float
    command_pa: float


def identify(records: list[StepRecord]) -> tuple[Dynamics, dict[str, float]]:
    """Dynamics from recorded steps, and the residuals of the fits.

    The valve is fitted to the measured pressures (with a free final pressure: valves have offsets), the mechanical lag to the ring's
    way from start to end against that of the bellows' length.

    Raises:
        CalibrationError: If a record is too short or nothing moved.
    """
    for record in records:
        if len(record.pressures_pa) < 20 or len(record.ring_m) < 15:
            raise CalibrationError(f'{len(record.pressures_pa)} pressures and {len(record.ring_m)} rings after a step: need 20 and 15; '
                                   'check that the driver and the ring detector run')
        if abs(record.pressures_pa[-1] - record.pressures_pa[0]) < 0.5 * abs(record.command_pa - record.start_pa):
            raise CalibrationError(f'measured pressure moved {record.pressures_pa[-1] - record.pressures_pa[0]:.0f} Pa on a step of '
                                   f'{record.command_pa - record.start_pa:.0f} Pa; is the valve connected and the supply on?')
    valve = least_squares(_valve_residuals, [0.1, 1.0e5, 0.02], args=(records,), x_scale=[0.1, 1e5, 0.02],
                          bounds=([0.005, 5e3, 0.0], [2.0, 2e6, 0.3]))
    lag = least_squares(_lag_residuals, [0.05], args=(records,), bounds=([0.0], [0.5]))
    ages_s = np.concatenate([r.ring_ages_s for r in records])
    residuals = {'valve_rms_pa': float(np.sqrt(np.mean(valve.fun**2))), 'tip_rms_share': float(np.sqrt(np.mean(lag.fun**2)))}
    return Dynamics(*map(float, valve.x), mechanical_lag_s=float(lag.x[0]), camera_delay_s=float(np.median(ages_s))), residuals


def _valve_residuals(x, records):
    return np.concatenate([valve_response_pa(r.pressure_times_s, r.pressures_pa[0], np.mean(r.pressures_pa[-5:]), *x) - r.pressures_pa
                           for r in records])


def _lag_residuals(x, records):
    """Ring's share of its way minus that of the bellows' length by the curve, lagged."""
    parts = []
    for r in records:
        way_m = np.mean(r.ring_m[-5:], axis=0) - r.ring_m[0]
        ring_share = (r.ring_m - r.ring_m[0]) @ way_m / (way_m @ way_m)
        length_share = (r.lengths_m - r.lengths_m[0]) / (np.mean(r.lengths_m[-5:]) - r.lengths_m[0])
        grid_s = np.arange(r.pressure_times_s[0], r.pressure_times_s[-1], 0.005)
        share = np.interp(grid_s, r.pressure_times_s, length_share)
        keep = 1.0 - np.exp(-0.005 / max(x[0], 1e-4))
        lagged = np.empty_like(share)
        state = share[0]
        for i, value in enumerate(share):
            state += keep * (value - state)
            lagged[i] = state
        parts.append(np.interp(r.ring_times_s, grid_s, lagged) - ring_share)
    return np.concatenate(parts)
