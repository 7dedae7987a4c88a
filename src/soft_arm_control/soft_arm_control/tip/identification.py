"""Identify the calibration `dynamics` from steps and slow loops of one chamber's command.

The valve is fitted to the measured pressures of the steps. Hysteresis and creep are fitted to the
tip where the arm is slow: in loops of decreasing width, and after steps. The mechanical lag is
fitted to the tip in all images. No model of the arm is needed for these: with all other chambers at
rest, the tip is a smooth function of the effective pressure of the moved one, and a polynomial
approximation of this function is fitted together with the dynamics.

Last, a damped oscillator is fitted instead of the lag. The ratios of its frequency and damping
ratio to the modelled ones of the excited mode scale the modes at all postures.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from scipy.ndimage import maximum_filter1d
from scipy.optimize import least_squares
from scipy.signal import bilinear, lfilter

from soft_arm_control.errors import IdentificationError
from soft_arm_control.tip.dynamics import (
    MAX_CREEP_SHARE,
    MAX_HYSTERESIS_WEIGHT,
    MAX_MODE_SCALE,
    Dynamics,
)
from soft_arm_control.tip.swing_modes import MAX_DAMPING_RATIO, SwingModes
from soft_arm_kinematics.hysteresis import play

GRID_STEP_S = 0.005  # of the simulated responses
# Half-widths of the play operators, shares of half the range of the loops: finer where small.
THRESHOLD_SHARES = (np.arange(1, 7) / 7.0) ** 2
# An image is quasi-static if the pressure rate has been below this for the arm's settling time.
MAX_SLOW_RATE_PA_S, SETTLING_S = 30.0e3, 0.5
RATE_FILTER_S = 0.03  # low-pass time constant for the noise of measured pressures
ALTERNATING_FITS = 3  # the parameters are weakly coupled
POLYNOMIAL_DEGREE = 5  # of the polynomial from effective pressure to tip
START_SCALES = (0.5, 1.0, 2.0)  # of the modelled frequency, from which the fit of the mode starts
MAX_FREQUENCY_DEVIATION = 0.1  # relative standard deviation

Mechanics = Callable[[np.ndarray], np.ndarray]  # from a pressure on the grid to its delayed effect


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
class Record:
    """Response of one chamber and the tip: times [s] from the start, pressures [Pa]."""

    pressure_times_s: np.ndarray  # (n,)
    pressures_pa: np.ndarray  # (n,), of the chamber that was moved
    tip_times_s: np.ndarray  # (m,), image stamps
    tip_m: np.ndarray  # (m, 3)
    tip_ages_s: np.ndarray  # (m,), from stamp to arrival


@dataclass(frozen=True)
class StepRecord(Record):
    """Response to a step of the chamber's command at time 0."""

    start_pa: float
    command_pa: float


def identify(
    steps: Sequence[StepRecord], loops: Sequence[Record], modes: SwingModes
) -> tuple[Dynamics, dict[str, float]]:
    """Identify the dynamics; return them with the fits' residuals.

    Args:
        steps: Steps, up and down, each until everything is at rest.
        loops: Slow loops of decreasing width after the steps. All records follow one another, and
            before the first the chamber was at ambient pressure.
        modes: Modelled modes at the posture in the middle of the steps, in the frame of the tip.

    Raises:
        IdentificationError: If a record is too short or the pressure did not follow a step.
    """
    for record in steps:
        if len(record.pressures_pa) < 20 or len(record.tip_m) < 15:
            raise IdentificationError(
                f'{len(record.pressures_pa)} pressures and {len(record.tip_m)} tip poses '
                'after a step, 20 and 15 are needed: '
                'check that the driver and the tip tracker run'
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
        args=(steps,),
        x_scale=[0.1, 1e5, 0.02],
        bounds=([0.005, 5e3, 0.0], [2.0, 2e6, 0.3]),
    )
    records = [*steps, *loops]
    low_pa, high_pa = np.percentile(np.concatenate([r.pressures_pa for r in records]), [1, 99])
    thresholds_pa = np.round(THRESHOLD_SHARES * (high_pa - low_pa) / 2)
    fit, count = _TipFit(records, thresholds_pa), len(thresholds_pa)
    lag_s, creep, weights = 0.05, np.array([0.02, 0.8]), np.full(count, 0.05)
    for _ in range(ALTERNATING_FITS):
        mechanics = _lag(lag_s)
        loop = least_squares(
            lambda x, mechanics=mechanics, creep=creep: fit.slow_m(
                range(len(steps), len(records)), mechanics, creep, x
            ),
            weights,
            bounds=(0.0, MAX_HYSTERESIS_WEIGHT / count),
        )
        weights = loop.x
        rest = least_squares(
            lambda x, mechanics=mechanics, weights=weights: fit.slow_m(
                range(len(steps)), mechanics, x, weights, centred=True
            ),
            creep,
            x_scale=[0.01, 0.3],
            bounds=([0.0, 0.3], [MAX_CREEP_SHARE, 3.0]),
        )
        creep = rest.x
        fast = least_squares(
            lambda x, creep=creep, weights=weights: fit.all_m(_lag(x[0]), creep, weights),
            [lag_s],
            bounds=(0.0, 0.3),
        )
        lag_s = float(fast.x[0])
    scales, swing_m = _mode_scales(fit, creep, weights, modes)
    ages_s = np.concatenate([r.tip_ages_s for r in records])
    residuals = {
        'valve_rms_pa': _rms(valve.fun),
        'loop_rms_m': _rms(loop.fun),
        'creep_rms_m': _rms(rest.fun),
        'moving_rms_m': _rms(fast.fun),
        'swing_rms_m': _rms(swing_m),
    }
    dynamics = Dynamics(
        valve_time_constant_s=round(valve.x[0], 6),
        valve_rate_limit_pa_s=round(valve.x[1], 6),
        valve_delay_s=round(valve.x[2], 6),
        mechanical_lag_s=round(lag_s, 6),
        creep_share=round(creep[0], 6),
        creep_time_constant_s=round(creep[1], 6),
        camera_delay_s=round(float(np.median(ages_s)), 6),
        mode_frequency_scale=round(scales[0], 6),
        mode_damping_scale=round(scales[1], 6),
        hysteresis_thresholds_pa=tuple(thresholds_pa.tolist()),
        hysteresis_weights=tuple(np.round(weights, 6).tolist()),
    )
    return dynamics, residuals


def _mode_scales(
    fit: '_TipFit', creep: np.ndarray, weights: np.ndarray, modes: SwingModes
) -> tuple[np.ndarray, np.ndarray]:
    """Return measured over modelled frequency and damping ratio, (2,), and the fit's residuals [m].

    The scales are 1 if the motion does not determine the frequency, for example without visible
    oscillation.
    """
    mode = int(np.argmax(np.abs(modes.tip.T @ fit.way_m)))
    modelled = np.array([modes.omega_rad_s[mode], modes.damping_ratio[mode]])
    low, high = modelled / MAX_MODE_SCALE, modelled * MAX_MODE_SCALE
    high[1] = min(high[1], MAX_DAMPING_RATIO)
    fits = [
        least_squares(
            lambda x: fit.all_m(_oscillator(*x), creep, weights),
            modelled * [scale, 1.0],
            x_scale=modelled,
            bounds=(low, high),
        )
        for scale in START_SCALES
    ]
    best = min(fits, key=lambda fitted: fitted.cost)
    covariance = np.linalg.pinv(best.jac.T @ best.jac) * np.mean(best.fun**2)
    if math.sqrt(covariance[0, 0]) > MAX_FREQUENCY_DEVIATION * best.x[0]:
        return np.ones(2), best.fun
    return best.x / modelled, best.fun


def _valve_residuals(x: np.ndarray, records: Sequence[StepRecord]) -> np.ndarray:
    return np.concatenate(
        [
            valve_response_pa(
                r.pressure_times_s, r.pressures_pa[0], np.mean(r.pressures_pa[-5:]), *x
            )
            - r.pressures_pa
            for r in records
        ]
    )


class _TipFit:
    """Tip in all records as a polynomial of the effective pressure."""

    def __init__(self, records: Sequence[Record], thresholds_pa: np.ndarray):
        self._tips_m = [r.tip_m for r in records]  # (m, 3) each
        self.way_m = records[0].tip_m[-1] - records[0].tip_m[0]  # of the tip in the first record
        self._tip_times_s = [r.tip_times_s for r in records]
        self._grids_s = [
            np.arange(r.pressure_times_s[0], r.pressure_times_s[-1], GRID_STEP_S) for r in records
        ]
        self._pressures_pa, self._plays_pa = [], []  # (g,) and (g, k) of each record
        slow = []
        state_pa = np.zeros_like(thresholds_pa)
        for record, grid_s in zip(records, self._grids_s, strict=True):
            pressures_pa = np.interp(grid_s, record.pressure_times_s, record.pressures_pa)
            plays_pa = np.empty((len(grid_s), len(thresholds_pa)))
            for i, pressure_pa in enumerate(pressures_pa):
                plays_pa[i] = state_pa = play(pressure_pa, thresholds_pa, state_pa)
            self._pressures_pa.append(pressures_pa)
            self._plays_pa.append(plays_pa)
            rates_pa_s = np.abs(np.gradient(_lag(RATE_FILTER_S)(pressures_pa), GRID_STEP_S))
            window = round(SETTLING_S / GRID_STEP_S)
            fastest_pa_s = maximum_filter1d(rates_pa_s, window, origin=(window - 1) // 2)
            slow.append(np.interp(record.tip_times_s, grid_s, fastest_pa_s) < MAX_SLOW_RATE_PA_S)
        self._slow = slow  # (m,) of each record: the arm is at rest or slow

    def slow_m(
        self,
        records: Sequence[int],
        mechanics: Mechanics,
        creep: np.ndarray,
        weights: np.ndarray,
        centred: bool = False,
    ) -> np.ndarray:
        """Return polynomial minus tip [m] in the slow images of some records, flat.

        Centred: less the mean of each record.
        """
        residuals_m = self._residuals_m(mechanics, creep, weights)
        slow_m = [residuals_m[k][self._slow[k]] for k in records]
        return np.concatenate([(r - r.mean(axis=0) * centred).ravel() for r in slow_m])

    def all_m(self, mechanics: Mechanics, creep: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return polynomial minus tip [m] in all images, flat."""
        return np.concatenate(self._residuals_m(mechanics, creep, weights)).ravel()

    def _residuals_m(
        self, mechanics: Mechanics, creep: np.ndarray, weights: np.ndarray
    ) -> list[np.ndarray]:
        """Return polynomial minus tip [m] of each record, (m, 3).

        Args:
            mechanics: Response of the arm to the effective pressure.
            creep: (2,) share and time constant [s].
            weights: (k,) of the play operators.
        """
        effective_pa = [
            self._effective_pa(k, mechanics, creep, weights) for k in range(len(self._grids_s))
        ]
        every_pa = np.concatenate(effective_pa)
        middle_pa, half_pa = (every_pa.max() + every_pa.min()) / 2, np.ptp(every_pa) / 2
        powers = [
            chebvander((e_pa - middle_pa) / half_pa, POLYNOMIAL_DEGREE) for e_pa in effective_pa
        ]
        rows = [
            (p[slow], r[slow]) for p, r, slow in zip(powers, self._tips_m, self._slow, strict=True)
        ]
        slow_powers, slow_m = (np.concatenate(part) for part in zip(*rows, strict=True))
        found, *_ = np.linalg.lstsq(slow_powers, slow_m, rcond=None)
        return [p @ found - r for p, r in zip(powers, self._tips_m, strict=True)]

    def _effective_pa(
        self, k: int, mechanics: Mechanics, creep: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Return the effective pressure [Pa] of record k at its images."""
        acting_pa = (1.0 - weights.sum()) * self._pressures_pa[k] + self._plays_pa[k] @ weights
        crept_pa = (1.0 - creep[0]) * acting_pa + creep[0] * _lag(creep[1])(acting_pa)
        return np.interp(self._tip_times_s[k], self._grids_s[k], mechanics(crept_pa))


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _lag(time_constant_s: float) -> Mechanics:
    """Return a first-order lag on the grid, at rest at the first sample."""
    keep = np.exp(-GRID_STEP_S / max(time_constant_s, 1e-4))
    return lambda values: values[0] + lfilter([1.0 - keep], [1.0, -keep], values - values[0])


def _oscillator(omega_rad_s: float, damping_ratio: float) -> Mechanics:
    """Return a damped oscillator on the grid, at rest at the first sample."""
    square = omega_rad_s**2
    coefficients = bilinear(
        [square], [1.0, 2.0 * damping_ratio * omega_rad_s, square], 1.0 / GRID_STEP_S
    )
    return lambda values: values[0] + lfilter(*coefficients, values - values[0])
