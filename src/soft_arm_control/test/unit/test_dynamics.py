import datetime

import numpy as np
import pytest

from soft_arm_control.errors import CalibrationError
from soft_arm_control.tip.dynamics import (
    Dynamics,
    StepRecord,
    identify,
    load_dynamics,
    save_dynamics,
    valve_response_pa,
)

TRUTH = Dynamics(0.15, 120e3, 0.03, 0.08, 0.05, 0.6, 0.07)


def tips_m(pressures_pa):
    return np.outer(0.1 + 5e-7 * pressures_pa, [0.3, 0.0, 0.4])


def record(start_pa, command_pa, rng, gain=1.0):
    """A step through the true valve and a first-order mechanical lag; the tip moves 0.5 mm for each mm of length."""
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
    with pytest.raises(CalibrationError, match='supply on'):
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
    with pytest.raises(CalibrationError, match='5 pressures'):
        identify([short], tips_m)


def test_file_round_trip(tmp_path):
    path = tmp_path / 'rig' / 'dynamics.yaml'
    save_dynamics(path, TRUTH, {'valve_rms_pa': 80.0}, 'abc', datetime.date(2025, 1, 2), 'real')
    assert load_dynamics(path, 'abc') == TRUTH
    assert '2025-01-02' in path.read_text()


@pytest.mark.parametrize(
    ('text', 'match'),
    [
        ('values: {valve_time_constant_s: 0.2}', 'missing'),
        (
            'values: {valve_time_constant_s: .nan, valve_rate_limit_pa_s: 1, valve_delay_s: 0, mechanical_lag_s: 0, '
            'creep_share: 0, creep_time_constant_s: 1, camera_delay_s: 0}',
            'finite',
        ),
        (
            'values: {valve_time_constant_s: 0, valve_rate_limit_pa_s: 1, valve_delay_s: 0, mechanical_lag_s: 0, '
            'creep_share: 0, creep_time_constant_s: 1, camera_delay_s: 0}',
            '> 0',
        ),
        ('values: [', 'dynamics.yaml'),
        ('nothing', 'softarm calibrate dynamics'),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path, text, match):
    path = tmp_path / 'dynamics.yaml'
    path.write_text('robot_fingerprint: abc\n' + text)
    with pytest.raises(CalibrationError, match=match) as error:
        load_dynamics(path, 'abc')
    assert '\n' not in str(error.value)


def test_a_file_of_another_robot_is_refused(tmp_path):
    path = tmp_path / 'dynamics.yaml'
    save_dynamics(path, TRUTH, {}, 'abc', datetime.date(2025, 1, 2), 'real')
    with pytest.raises(CalibrationError, match='another robot.*leave it.*--robot FILE --rig NAME'):
        load_dynamics(path, 'def')


def test_a_missing_file_says_what_to_do(tmp_path):
    with pytest.raises(CalibrationError, match='softarm calibrate dynamics'):
        load_dynamics(tmp_path / 'none.yaml', 'abc')
