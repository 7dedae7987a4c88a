"""Identify the calibration `dynamics`: lags and delays from command to tip and image."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy.optimize import least_squares
from scipy.signal import lfilter

from soft_arm_control.errors import IdentificationError
from soft_arm_description.calibration import Values
from soft_arm_description.yaml_file import Number

MOST_CREEP = 0.3  # share of the effect of a pressure
AT_REST_SHARE = 0.01  # of the step: the pressure is at rest this near its end
GRID_S = 0.005  # step of the simulated responses

_Time = Annotated[Number, Field(ge=0)]
_PositiveTime = Annotated[Number, Field(gt=0)]
_Model = Callable[[np.ndarray], np.ndarray]  # pressures of one chamber to tips


class Dynamics(Values):
    """Lags and delays from command to ring pose.

    Valves: dp/dt = clip((command - p) / valve_time_constant, +-valve_rate_limit), `valve_delay_s`
    after the command. Mechanics: the tip follows the pressures with a first-order lag. Creep: a
    share of the pressure's effect follows with a time constant of its own. The camera's delay lasts
    from an image's stamp to the arrival of its ring pose.
    """

    kind: ClassVar[str] = 'dynamics'
    valve_time_constant_s: _PositiveTime
    valve_rate_limit_pa_s: Annotated[Number, Field(gt=0)]
    valve_delay_s: _Time
    mechanical_lag_s: _Time
    creep_share: Annotated[Number, Field(ge=0, le=MOST_CREEP)]
    creep_time_constant_s: _PositiveTime
    camera_delay_s: _Time


def valve_response_pa(
    times_s: np.ndarray,
    start_pa: float,
    command_pa: float,
    time_constant_s: float,
    rate_limit_pa_s: float,
    delay_s: float,
) -> np.ndarray:
    """Return the pressure [Pa] at `times_s` after a step of the command at time 0.

    It rises or falls at the rate limit first, then exponentially.
    """
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
    """Response to a step of one chamber's command: times [s] from the step, pressures [Pa]."""

    pressure_times_s: np.ndarray  # (n,)
    pressures_pa: np.ndarray  # (n,), of the chamber whose command was stepped
    ring_times_s: np.ndarray  # (m,), image stamps
    ring_m: np.ndarray  # (m, 3)
    ring_ages_s: np.ndarray  # (m,), from stamp to arrival
    start_pa: float
    command_pa: float


def identify(records: list[StepRecord], tips_at: _Model) -> tuple[Dynamics, dict[str, float]]:
    """Identify the dynamics from recorded step responses; return them with the fits' residuals.

    The valve is fitted to the measured pressures (with a free final pressure: valves have offsets).
    The mechanical lag is fitted to the ring's motion against that of the model tip, with offset and
    gain of each record free, since the model is not exact. The creep is fitted to the ring's motion
    after the pressure has come to rest, because before that it cannot be told from hysteresis.

    Args:
        records: Steps, up and down.
        tips_at: Model from pressures of the stepped chamber [Pa], shape (k,), to tips [m], shape
            (k, 3).

    Raises:
        IdentificationError: If a record is too short or the pressure did not follow the step.
    """
    for record in records:
        if len(record.pressures_pa) < 20 or len(record.ring_m) < 15:
            raise IdentificationError(
                f'{len(record.pressures_pa)} pressures and {len(record.ring_m)} ring poses '
                'after a step, 20 and 15 are needed: '
                'check that the driver and the ring detector run'
            )
        moved_pa = record.pressures_pa[-1] - record.pressures_pa[0]
        step_pa = record.command_pa - record.start_pa
        if abs(moved_pa) < 0.5 * abs(step_pa):
            raise IdentificationError(
                f'measured pressure moved {moved_pa:.0f} Pa on a step of {step_pa:.0f} Pa: '
                'is the valve connected and the supply on?'
            )
    valve = least_squares(
        _valve_residuals,
        [0.1, 1.0e5, 0.02],
        args=(records,),
        x_scale=[0.1, 1e5, 0.02],
        bounds=([0.005, 5e3, 0.0], [2.0, 2e6, 0.3]),
    )
    lag = least_squares(
        lambda x: _way_residuals(records, tips_at, x[0], 0.0, 1.0), [0.05], bounds=([0.0], [0.3])
    )
    creep = least_squares(
        lambda x: _rest_residuals_m(records, tips_at, lag.x[0], *x),
        [0.02, 0.8],
        x_scale=[0.01, 0.3],
        bounds=([0.0, 0.3], [MOST_CREEP, 3.0]),
    )
    lag = least_squares(
        lambda x: _way_residuals(records, tips_at, x[0], *creep.x), lag.x, bounds=([0.0], [0.3])
    )
    ages_s = np.concatenate([r.ring_ages_s for r in records])
    residuals = {
        'valve_rms_pa': float(np.sqrt(np.mean(valve.fun**2))),
        'tip_rms_share': float(np.sqrt(np.mean(lag.fun**2))),
        'creep_rms_m': float(np.sqrt(np.mean(creep.fun**2))),
    }
    dynamics = Dynamics(
        valve_time_constant_s=round(valve.x[0], 6),
        valve_rate_limit_pa_s=round(valve.x[1], 6),
        valve_delay_s=round(valve.x[2], 6),
        mechanical_lag_s=round(lag.x[0], 6),
        creep_share=round(creep.x[0], 6),
        creep_time_constant_s=round(creep.x[1], 6),
        camera_delay_s=round(float(np.median(ages_s)), 6),
    )
    return dynamics, residuals


def _valve_residuals(x: np.ndarray, records: list[StepRecord]) -> np.ndarray:
    return np.concatenate(
        [
            valve_response_pa(
                r.pressure_times_s, r.pressures_pa[0], np.mean(r.pressures_pa[-5:]), *x
            )
            - r.pressures_pa
            for r in records
        ]
    )


def _ways_m(
    r: StepRecord, tips_at: _Model, lag_s: float, creep: float, creep_s: float
) -> tuple[np.ndarray, np.ndarray]:
    """Project model tip and ring on the line from first to last point [m], per image."""
    grid_s = np.arange(r.pressure_times_s[0], r.pressure_times_s[-1], GRID_S)
    lagged_pa = _lag(np.interp(grid_s, r.pressure_times_s, r.pressures_pa), lag_s)
    effective_pa = (1.0 - creep) * lagged_pa + creep * _lag(lagged_pa, creep_s)
    return _along(tips_at(np.interp(r.ring_times_s, grid_s, effective_pa))), _along(r.ring_m)


def _along(points_m: np.ndarray) -> np.ndarray:
    way_m = np.mean(points_m[-5:], axis=0) - points_m[0]
    return points_m @ way_m / np.linalg.norm(way_m)


def _way_residuals(
    records: list[StepRecord], tips_at: _Model, lag_s: float, creep: float, creep_s: float
) -> np.ndarray:
    """Return model minus ring as shares of the whole way."""
    parts = []
    for r in records:
        model_m, ring_m = _ways_m(r, tips_at, lag_s, creep, creep_s)
        gain, offset_m = np.polyfit(model_m, ring_m, 1)
        parts.append((gain * model_m + offset_m - ring_m) / np.ptp(ring_m))
    return np.concatenate(parts)


def _rest_residuals_m(
    records: list[StepRecord], tips_at: _Model, lag_s: float, creep: float, creep_s: float
) -> np.ndarray:
    """Return model minus ring [m] once the pressure is at rest, less each record's mean."""
    parts = []
    for r in records:
        end_pa = np.mean(r.pressures_pa[-5:])
        moving = np.abs(r.pressures_pa - end_pa) > AT_REST_SHARE * abs(end_pa - r.pressures_pa[0])
        rest = r.ring_times_s > r.pressure_times_s[np.flatnonzero(moving)[-1]] + 3 * lag_s
        model_m, ring_m = _ways_m(r, tips_at, lag_s, creep, creep_s)
        off_m = (np.polyfit(model_m, ring_m, 1)[0] * model_m - ring_m)[rest]
        parts.append(off_m - off_m.mean())
    return np.concatenate(parts)


def _lag(values: np.ndarray, time_constant_s: float) -> np.ndarray:
    """Apply a first-order lag, at rest at the first sample, to samples on the grid."""
    keep = np.exp(-GRID_S / max(time_constant_s, 1e-4))
    return values[0] + lfilter([1.0 - keep], [1.0, -keep], values - values[0])
