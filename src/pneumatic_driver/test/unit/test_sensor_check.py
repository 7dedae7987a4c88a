"""Readings that cannot be right."""

import numpy as np
import pytest

from pneumatic_driver.sensor_check import READINGS_WINDOW, SensorCheck

PERIOD_S = 0.02


def found_at(check, readings_pa, set_points_pa, duration_s=3.0):
    """Time of the first fault [s] and its names, or None."""
    for k in range(int(duration_s / PERIOD_S)):
        asked = (
            None
            if set_points_pa is None
            else np.atleast_1d(np.asarray(set_points_pa(k * PERIOD_S), float))
        )
        if faults := check.faults(
            k * PERIOD_S, np.atleast_1d(np.asarray(readings_pa(k * PERIOD_S), float)), asked
        ):
            return k * PERIOD_S, faults
    return None


def test_frozen_reading_is_found_half_a_second_after_the_command():
    at_s, faults = found_at(SensorCheck(2, None), lambda t: [0.0, 0.0], lambda t: [0.0, 50e3])
    assert faults == ['pressure_1_stuck'] and at_s == pytest.approx(0.5, abs=PERIOD_S)


@pytest.mark.parametrize('time_constant_s', [0.05, 1.0, 5.0])
def test_slow_chamber_is_not_stuck(time_constant_s):
    def rising(t):
        return 90e3 * (1 - np.exp(-t / time_constant_s))

    assert found_at(SensorCheck(1, None), rising, lambda t: 90e3, 20.0) is None


def test_noise_and_a_small_offset_or_no_set_point_are_no_fault():
    noise = np.random.default_rng(1)

    def steady(t):
        return 50e3 + 100 * noise.standard_normal()

    assert found_at(SensorCheck(1, None), steady, lambda t: 58e3) is None
    assert found_at(SensorCheck(1, None), steady, None) is None


def test_time_without_readings_does_not_count():
    check = SensorCheck(1, None)
    asked = np.array([50e3])
    assert check.faults(0.0, np.zeros(1), asked) == []
    check.restart()
    assert check.faults(10.0, np.zeros(1), asked) == []
    assert check.faults(10.4, np.zeros(1), asked) == []


@pytest.mark.parametrize('reading_pa', [-101e3, 131e3, float('nan')])
def test_impossible_reading_is_found_with_the_second_and_a_spike_is_none(reading_pa):
    check, good, bad = SensorCheck(1, (-100e3, 130e3)), np.array([1e3]), np.array([reading_pa])
    for reading in [bad, *[good] * READINGS_WINDOW, bad]:
        assert check.faults(0.0, reading, None) == []
    assert check.faults(0.0, bad, None) == ['pressure_0_out_of_range']


def test_impossible_reading_that_jitters_is_found():
    noise = np.random.default_rng(3)
    found = found_at(SensorCheck(1, (-100e3, 130e3)), lambda t: noise.uniform(-327e3, 327e3), None)
    assert found is not None and found[0] <= 0.2
