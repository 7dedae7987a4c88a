import numpy as np
import pytest
from pydantic import ValidationError

from soft_arm_control.errors import IdentificationError
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.identification import Record, StepRecord, identify, valve_response_pa
from soft_arm_control.tip.pressure_effect import PressureEffect, lag_share
from soft_arm_control.tip.swing_modes import SwingModes

TRUTH = Dynamics(
    valve_time_constant_s=0.15,
    valve_rate_limit_pa_s=120e3,
    valve_delay_s=0.03,
    mechanical_lag_s=0.08,
    creep_share=0.05,
    creep_time_constant_s=0.6,
    camera_delay_s=0.07,
    hysteresis_thresholds_pa=(3e3, 9e3, 18e3),
    hysteresis_weights=(0.15, 0.12, 0.08),
)
FINE_S = 0.002
# Modelled: two modes of 3 Hz and a damping ratio of 0.15, in which the tip moves along x and y.
MODES = SwingModes(
    np.full(2, 6.0 * np.pi), np.full(2, 0.15), np.eye(3)[:, :2], np.zeros((1, 2)), np.zeros((2, 1))
)


def tips_m(effective_pa):
    """Return the tip, which moves along a curve with the effective pressure."""
    share = effective_pa[:, None] / 40e3
    return share * [0.03, 0.0, 0.01] + share**2 * [0.01, 0.0, 0.02]


class Chamber:
    """The true chamber and arm; it remembers what happened before.

    The tip follows the effective pressure with the lag, or as an oscillator if the arm swings.
    """

    def __init__(self, swing_hz=None, damping_ratio=None):
        self.swing_hz, self.damping_ratio, self.rate_pa_s = swing_hz, damping_ratio, np.zeros(1)
        self.rng, self.effect = np.random.default_rng(3), PressureEffect(TRUTH, np.zeros(1))
        self.lagged_pa = np.zeros(1)

    def record(self, times_s, pressures_pa) -> Record:
        effective = []
        for pressure_pa in pressures_pa:
            acting_pa = self.effect.advance(FINE_S, np.array([pressure_pa]))
            self._follow(acting_pa)
            effective.append(float(self.lagged_pa[0]))
        p, r = slice(None, None, 10), slice(None, None, 17)
        rings_m = tips_m(np.array(effective))[r]
        return Record(
            times_s[p],
            pressures_pa[p] + 50 * self.rng.standard_normal(len(times_s[p])),
            times_s[r],
            rings_m + 1e-4 * self.rng.standard_normal(rings_m.shape),
            np.full(len(rings_m), TRUTH.camera_delay_s),
        )

    def _follow(self, acting_pa):
        if self.swing_hz is None:
            share = lag_share(FINE_S, TRUTH.mechanical_lag_s)
            self.lagged_pa += share * (acting_pa - self.lagged_pa)
            return
        omega = 2.0 * np.pi * self.swing_hz
        spring = omega**2 * (acting_pa - self.lagged_pa)
        self.rate_pa_s += FINE_S * (spring - 2.0 * self.damping_ratio * omega * self.rate_pa_s)
        self.lagged_pa += FINE_S * self.rate_pa_s

    def step(self, start_pa, command_pa, gain=1.0) -> StepRecord:
        times_s = np.arange(0.0, 4.0, FINE_S)
        valve = (TRUTH.valve_time_constant_s, TRUTH.valve_rate_limit_pa_s, TRUTH.valve_delay_s)
        pressures_pa = valve_response_pa(times_s, gain * start_pa, gain * command_pa, *valve)
        record = self.record(times_s, pressures_pa)
        return StepRecord(**vars(record), start_pa=start_pa, command_pa=command_pa)

    def loops(self, shares=(1.0, 0.7, 0.45, 0.25, 0.1)) -> Record:
        corners_pa = np.array(
            [-40e3, *(sign * 40e3 * s for s in shares for sign in (1, -1)), -40e3]
        )
        corners_s = np.append(0.0, np.cumsum(np.abs(np.diff(corners_pa)) / 20e3))
        times_s = np.arange(0.0, corners_s[-1], FINE_S)
        return self.record(times_s, np.interp(times_s, corners_s, corners_pa))


def identified(chamber):
    chamber.step(0.0, -40e3)
    steps = [chamber.step(-40e3, 40e3), chamber.step(40e3, -40e3)]
    return identify(steps, [chamber.loops(), chamber.loops()], MODES)


@pytest.fixture(scope='module')
def found():
    return identified(Chamber())


@pytest.mark.parametrize(('swing_hz', 'damping_ratio'), [(2.0, 0.05), (3.0, 0.3), (4.5, 0.1)])
def test_finds_the_frequency_and_the_damping_with_which_the_arm_swings(swing_hz, damping_ratio):
    dynamics, residuals = identified(Chamber(swing_hz, damping_ratio))
    assert 3.0 * dynamics.mode_frequency_scale == pytest.approx(swing_hz, rel=0.05)
    assert 0.15 * dynamics.mode_damping_scale == pytest.approx(damping_ratio, abs=0.03)
    assert residuals['swing_rms_m'] < residuals['moving_rms_m']


def test_finds_the_valve_the_lags_and_the_delays_it_was_made_with(found):
    dynamics, residuals = found
    assert dynamics.valve_time_constant_s == pytest.approx(TRUTH.valve_time_constant_s, rel=0.05)
    assert dynamics.valve_rate_limit_pa_s == pytest.approx(TRUTH.valve_rate_limit_pa_s, rel=0.03)
    assert dynamics.valve_delay_s == pytest.approx(TRUTH.valve_delay_s, abs=0.004)
    assert dynamics.mechanical_lag_s == pytest.approx(TRUTH.mechanical_lag_s, abs=0.012)
    assert dynamics.creep_share == pytest.approx(TRUTH.creep_share, abs=0.015)
    assert dynamics.creep_time_constant_s == pytest.approx(TRUTH.creep_time_constant_s, abs=0.3)
    assert dynamics.camera_delay_s == pytest.approx(TRUTH.camera_delay_s)
    assert residuals['valve_rms_pa'] < 150.0 and residuals['moving_rms_m'] < 0.5e-3


def test_finds_the_loops_that_it_was_made_with(found):
    """Thresholds of fit and truth differ, so loops are compared, not weights."""
    for half_pa in (8e3, 20e3, 40e3):
        times = np.linspace(0.0, 6.5 * np.pi, 400)
        errors = []
        effects = [PressureEffect(d, np.zeros(1)) for d in (TRUTH, found[0])]
        for pressure_pa in half_pa * np.sin(times):
            true_pa, found_pa = (e.advance(1e-6, np.array([pressure_pa]))[0] for e in effects)
            errors.append(found_pa - true_pa)
        assert np.ptp(errors[100:]) < 0.03 * 2 * half_pa + 500.0


def test_a_valve_that_does_not_move_is_refused():
    with pytest.raises(IdentificationError, match='supply on'):
        identify([Chamber().step(0.0, 40e3, gain=0.1)], [], MODES)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('valve_time_constant_s', 0.0),
        ('valve_rate_limit_pa_s', -1.0),
        ('creep_share', 0.31),
        ('camera_delay_s', np.nan),
        ('mode_frequency_scale', 0.0),
        ('mode_damping_scale', 11.0),
        ('hysteresis_weights', (0.5, 0.5)),
        ('hysteresis_thresholds_pa', (4e3,)),
    ],
)
def test_impossible_dynamics_are_refused(name, value):
    with pytest.raises(ValidationError, match='hysteresis' if 'hysteresis' in name else name):
        Dynamics(**TRUTH.model_dump() | {name: value})
