import math

import pytest

from soft_arm_control.liveness_monitor import DRIVER, MAX_TICK_PERIODS, LivenessMonitor

PERIOD_S, GONE_S = 0.02, 1.0
CAMERA = 'camera'


@pytest.fixture
def monitor():
    """A loop that ran for a second and was stalled for 0.7 s after it."""
    monitor = LivenessMonitor(PERIOD_S, GONE_S)
    for k in range(51):
        monitor.tick(k * PERIOD_S)
    return monitor


def test_silence_counts_while_the_loop_runs(monitor):
    assert monitor.silence_s(CAMERA, 1.0) == math.inf
    monitor.heard(CAMERA, 0.4)
    assert monitor.silence_s(CAMERA, 1.0) == pytest.approx(0.6)


@pytest.mark.parametrize('ticked', [False, True])
@pytest.mark.parametrize(('heard_s', 'silence_s'), [(1.7, 0.0), (1.5, 0.0), (1.0, 0.0), (0.9, 0.1)])
def test_a_stall_of_the_loop_is_discounted(monitor, ticked, heard_s, silence_s):
    monitor.heard(CAMERA, heard_s)
    if ticked:
        monitor.tick(1.7)
    assert monitor.silence_s(CAMERA, 1.7) == pytest.approx(silence_s)


@pytest.mark.parametrize('back_s', [5.0, 60.0, 3600.0])
def test_a_clock_that_is_set_back_keeps_no_source_alive(monitor, back_s):
    monitor.heard(CAMERA, 1.0)
    monitor.heard(DRIVER, 1.0)
    monitor.add_driver_state(1.0, True)
    assert monitor.tick(1.02 - back_s) == 0.0
    for k in range(1, 100):
        assert monitor.tick(1.02 - back_s + k * PERIOD_S) == pytest.approx(PERIOD_S)
    now_s = 1.02 - back_s + 99 * PERIOD_S
    assert monitor.silence_s(CAMERA, now_s) == pytest.approx(1.98)
    assert 'check the driver' in monitor.driver_lost(now_s, 0.3, GONE_S)
    monitor.heard(DRIVER, now_s)
    assert monitor.driver_lost(now_s, 0.3, GONE_S) == ''
    monitor.add_driver_state(now_s, False)
    assert 'activate it' in monitor.driver_lost(now_s + 2.0, 0.3, GONE_S)


def test_silence_after_a_stall_counts(monitor):
    monitor.heard(CAMERA, 0.9)
    for k in range(11):
        monitor.tick(1.7 + k * PERIOD_S)
    assert monitor.silence_s(CAMERA, 1.9) == pytest.approx(0.3)
    monitor.heard(CAMERA, 1.8)
    assert monitor.silence_s(CAMERA, 1.9) == pytest.approx(0.1)


def test_a_stall_does_not_prolong_the_time_that_the_loop_ran(monitor):
    assert monitor.tick(1.7) == pytest.approx(MAX_TICK_PERIODS * PERIOD_S)
    assert monitor.tick(1.71) == pytest.approx(0.01)


def test_a_driver_that_was_silent_for_long_is_lost_whoever_was_stalled(monitor):
    monitor.heard(DRIVER, 0.99)
    assert monitor.driver_lost(1.9, 0.3, GONE_S) == ''
    assert 'for 1.11 s (limit 0.3 s)' in monitor.driver_lost(2.1, 0.3, GONE_S)


def test_an_inactive_driver_is_lost_until_it_is_active(monitor):
    monitor.heard(DRIVER, 1.0)
    monitor.add_driver_state(0.2, False)
    assert monitor.driver_lost(1.1, 0.3, GONE_S) == ''
    assert 'activate it' in monitor.driver_lost(1.21, 0.3, GONE_S)
    monitor.add_driver_state(0.1, True)  # older than what is known
    assert monitor.driver_lost(1.21, 0.3, GONE_S)
    monitor.add_driver_state(1.2, True)
    assert monitor.driver_lost(1.21, 0.3, GONE_S) == ''
