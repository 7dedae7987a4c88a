import math

import pytest

from soft_arm_control.liveness_monitor import LATE_PERIODS, LoopStallMonitor

PERIOD_S = 0.02


@pytest.fixture
def stalls():
    """A loop that ran for a second and then stood still for 0.7 s."""
    stalls = LoopStallMonitor(PERIOD_S)
    for k in range(51):
        stalls.tick(k * PERIOD_S)
    return stalls


def test_a_loop_that_runs_excuses_nothing(stalls):
    assert (
        stalls.silence_s(1.0, 0.4) == pytest.approx(0.6)
        and stalls.silence_s(1.0, -math.inf) == math.inf
    )


@pytest.mark.parametrize('ticked', [False, True])
@pytest.mark.parametrize(
    ('heard_s', 'silence_s'),
    [(1.7, 0.0), (1.5, 0.0), (1.0, 0.0), (0.9, 0.1), (-math.inf, math.inf)],
)
def test_a_stall_is_nobodys_silence(stalls, ticked, heard_s, silence_s):
    if ticked:
        stalls.tick(1.7)
    assert stalls.silence_s(1.7, heard_s) == pytest.approx(silence_s)


def test_silence_after_a_stall_counts(stalls):
    for k in range(11):
        stalls.tick(1.7 + k * PERIOD_S)
    assert stalls.silence_s(1.9, 0.9) == pytest.approx(0.3) and stalls.silence_s(
        1.9, 1.8
    ) == pytest.approx(0.1)


def test_a_stall_does_not_prolong_the_time_that_the_loop_ran(stalls):
    assert stalls.tick(1.7) == pytest.approx(LATE_PERIODS * PERIOD_S) and stalls.tick(
        1.71
    ) == pytest.approx(0.01)
