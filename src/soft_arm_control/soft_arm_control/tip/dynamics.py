"""How fast the rig is: calibration `dynamics`, identified by `softarm calibrate dynamics`."""

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

MOST_CREEP = 0.3
AT_REST_SHARE = 0.01
GRID_S = 0.005  # of the simulated responses


_Time = Annotated[Number, Field(ge=0)]
_PositiveTime = Annotated[Number, Field(gt=0)]


class Dynamics(Values):
    """Lags and delays from command to ring pose.

    Valves: dp/dt = clip((command - p) / valve_time_constant, +-valve_rate_limit), `valve_delay_s`
    after the command. Mechanics: the tip follows the pressures with a first-order lag. Creep: a
    share of the pressure's effect comes late, with a time constant of its own. The camera's delay is from an
    image's stamp to its ring pose.
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
        tips_at: The model: pressures of the stepped chamber [Pa], shape (k,), to tips [m], shape
            (k, 3).

    Raises:
        IdentificationError: If a record is too short or nothing moved.
    """
    for record in records:
        if len(record.pressures_pa) < 20 or len(record.ring_m) < 15:
            raise IdentificationError(
                f'{len(record.pressures_pa)} pressures and {len(record.ring_m)} rings after a '
                'step: need 20 and 15; '
                'check that the driver and the ring detector run'
            )
        if abs(record.pressures_pa[-1] - record.pressures_pa[0]) < 0.5 * abs(
            record.command_pa - record.start_pa
        ):
            raise IdentificationError(
                f'measured pressure moved {record.pressures_pa[-1] - record.pressures_pa[0]:.0f} '
                'Pa on a step of '
                f'{record.command_pa - record.start_pa:.0f} Pa; is the valve connected and the '
                'supply on?'
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
    """Project model and ring on the line from their first to their last points [m], per image."""
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
