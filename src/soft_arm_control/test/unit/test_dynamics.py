import numpy as np
import pytest
from pydantic import ValidationError

from soft_arm_control.errors import IdentificationError
from soft_arm_control.tip.dynamics import Dynamics, StepRecord, identify, valve_response_pa

TRUTH = Dynamics(
    valve_time_constant_s=0.15,
    valve_rate_limit_pa_s=120e3,
    valve_delay_s=0.03,
    mechanical_lag_s=0.08,
    creep_share=0.05,
    creep_time_constant_s=0.6,
    camera_delay_s=0.07,
)


def tips_m(pressures_pa):
    return np.outer(0.1 + 5e-7 * pressures_pa, [0.3, 0.0, 0.4])


def record(start_pa, command_pa, rng, gain=1.0):
    """Simulate a step through the true valve and lag; the tip moves 0.5 mm per mm of length."""
    fine_s = np.arange(0.0, 4.0, 0.001)
    pressure = valve_response_pa(
        fine_s,
        start_pa,
        command_pa * gain,
        TRUTH.valve_time_constant_s,
        TRUTH.valve_rate_limit_pa_s,
        TRUTH.valve_delay_s,
    )
    lagged, crept, effective = pressure[0], pressure[0], []
    for value in pressure:
        lagged += (1 - np.exp(-0.001 / TRUTH.mechanical_lag_s)) * (value - lagged)
        crept += (1 - np.exp(-0.001 / TRUTH.creep_time_constant_s)) * (lagged - crept)
        effective.append((1 - TRUTH.creep_share) * lagged + TRUTH.creep_share * crept)
    p, r = slice(None, None, 20), slice(None, None, 33)
    rings = tips_m(np.array(effective))[r] + 1e-4 * rng.standard_normal((len(fine_s[r]), 3))
    return StepRecord(
        fine_s[p],
        pressure[p] + 50 * rng.standard_normal(len(fine_s[p])),
        fine_s[r],
        rings,
        np.full(len(fine_s[r]), TRUTH.camera_delay_s),
        start_pa,
        command_pa,
    )


def test_finds_the_dynamics_it_was_made_with():
    rng = np.random.default_rng(3)
    found, residuals = identify(
        [record(-40e3, 40e3, rng, 0.99), record(40e3, -40e3, rng, 0.99)], tips_m
    )
    assert found.valve_time_constant_s == pytest.approx(TRUTH.valve_time_constant_s, rel=0.05)
    assert found.valve_rate_limit_pa_s == pytest.approx(TRUTH.valve_rate_limit_pa_s, rel=0.03)
    assert found.valve_delay_s == pytest.approx(TRUTH.valve_delay_s, abs=0.004)
    assert found.mechanical_lag_s == pytest.approx(TRUTH.mechanical_lag_s, abs=0.012)
    assert found.creep_share == pytest.approx(TRUTH.creep_share, abs=0.015)
    assert found.creep_time_constant_s == pytest.approx(TRUTH.creep_time_constant_s, abs=0.3)
    assert found.camera_delay_s == pytest.approx(TRUTH.camera_delay_s)
    assert residuals['valve_rms_pa'] < 150.0 and residuals['tip_rms_share'] < 0.02


def test_a_valve_that_does_not_move_is_refused():
    rng = np.random.default_rng(3)
    with pytest.raises(IdentificationError, match='supply on'):
        identify([record(0.0, 40e3, rng, gain=0.1)], tips_m)


def test_too_few_samples_are_refused():
    full = record(0.0, 40e3, np.random.default_rng(3))
    short = StepRecord(
        full.pressure_times_s[:5],
        full.pressures_pa[:5],
        full.ring_times_s,
        full.ring_m,
        full.ring_ages_s,
        0.0,
        40e3,
    )
    with pytest.raises(IdentificationError, match='5 pressures'):
        identify([short], tips_m)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('valve_time_constant_s', 0.0),
        ('valve_rate_limit_pa_s', -1.0),
        ('creep_share', 0.31),
        ('camera_delay_s', np.nan),
    ],
)
def test_impossible_dynamics_are_refused(name, value):
    with pytest.raises(ValidationError, match=name):
        Dynamics(**TRUTH.model_dump() | {name: value})
