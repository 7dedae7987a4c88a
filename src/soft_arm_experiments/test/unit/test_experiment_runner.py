"""The runner with a fake rig in simulated time: the tip follows each goal with a lag."""

import numpy as np
import pytest

from soft_arm_control.errors import ExperimentError
from soft_arm_experiments.arm.experiment_runner import ATTEMPTS, ExperimentRunner, Pace
from soft_arm_experiments.arm.experiments import experiment

LAG_S, PERIOD_S = 0.4, 0.02
FAULT = False, 'no ring'


class FakeRig:
    """Goals numbered in `failing` end half a second after their start, without moving the tip.

    No tip is received during goals numbered in `unseen`.
    """

    unseen = ()

    def __init__(self, first_m, failing):
        self._truth, self._time_s, self._failing, self.goals = [], 100.0, failing, []
        self._tip_m = self._goal_m = np.array(first_m)
        self._advance(0.1)

    def now_s(self):
        return self._time_s

    def move_tip(self, point_m, *_):
        self.goals.append(np.array(point_m))
        self._goal_m, fails = np.array(point_m), len(self.goals) in self._failing
        self._stops_s = self._time_s + 0.5 if fails else np.inf
        return lambda: FAULT if fails else None

    def wait_until(self, stop_s):
        while self._time_s < stop_s:
            self._advance(PERIOD_S)

    def tips(self, start_s, stop_s):
        if len(self.goals) in self.unseen:
            return np.empty(0), np.empty(0)
        seen = [(t, tip_m) for t, tip_m in self._truth if start_s <= t <= stop_s]
        return tuple(np.array(column) for column in zip(*seen, strict=True))

    def measured_pa(self, start_s, stop_s):
        times_s, _ = self.tips(start_s, stop_s)
        return times_s, np.zeros((len(times_s), 6))

    def _advance(self, duration_s):
        for _ in range(round(duration_s / PERIOD_S)):
            self._time_s += PERIOD_S
            if self._time_s <= getattr(self, '_stops_s', np.inf):
                self._tip_m = self._tip_m + PERIOD_S / LAG_S * (self._goal_m - self._tip_m)
            self._truth.append((self._time_s, self._tip_m))


def responses(arm, dynamics, failing):
    rig = FakeRig(arm.at(arm.lengths(np.zeros(6))).tip_m, failing)
    runner = ExperimentRunner(rig, arm, dynamics, Pace(table_7_deg=(120.0,)), lambda _: None)
    (response,) = runner._responses([])
    return rig, response


@pytest.mark.parametrize('failing', [(), (3,), (2, 5), (3, 4, 6)])
def test_a_response_that_is_repeated_begins_where_the_first_one_began(arm, dynamics, failing):
    _, undisturbed = responses(arm, dynamics, ())
    rig, response = responses(arm, dynamics, failing)
    assert response.settle_s == pytest.approx(undisturbed.settle_s, abs=0.05)
    assert response.settle_s >= response.limit_s
    assert response.distance_m[0] == pytest.approx(response.step_m, rel=0.15)
    assert (rig.goals[-2] == rig.goals[0]).all() and (rig.goals[-1] != rig.goals[0]).any()


def test_a_response_that_always_fails_has_no_settling_time(arm, dynamics):
    rig, response = responses(arm, dynamics, range(1, 1000))
    assert response.settle_s is None and len(rig.goals) <= 1 + 2 * ATTEMPTS + ATTEMPTS * ATTEMPTS


@pytest.mark.parametrize(('unseen', 'measured'), [((3,), True), (range(3, 9), False)])
def test_a_response_without_a_tip_is_repeated_and_then_reported(arm, dynamics, unseen, measured):
    rig, problems = FakeRig(arm.at(arm.lengths(np.zeros(6))).tip_m, ()), []
    rig.unseen = unseen
    pace = Pace(table_7_deg=(120.0, 90.0))
    responses = ExperimentRunner(rig, arm, dynamics, pace, lambda _: None)._responses(problems)
    assert [response is not None for response in responses] == [measured, True]
    assert problems == ([] if measured else ['response to 120 deg: not measured, no tip received'])


def test_a_step_without_a_tip_is_named(arm, dynamics):
    rig = FakeRig(arm.at(arm.lengths(np.zeros(6))).tip_m, ())
    runner = ExperimentRunner(rig, arm, dynamics, Pace(), lambda _: None)
    rig.tips = lambda start_s, stop_s: (np.array([start_s, start_s + 1.9]), np.zeros((2, 3)))
    with pytest.raises(ExperimentError, match=r'last 0.3 s of step 1: .* if it is real'):
        runner._pass(experiment(arm, 'bend', 2), open_loop=True)


def test_a_turn_without_a_tip_is_reported(arm, dynamics):
    rig, problems = FakeRig(arm.at(arm.lengths(np.zeros(6))).tip_m, ()), []
    rig.follow_path = lambda *_: lambda: None
    rig.tips = lambda *_: (np.empty(0), np.empty(0))
    runner = ExperimentRunner(rig, arm, dynamics, Pace(), lambda _: None)
    assert runner._lap(experiment(arm, 'deflection', 2), 3.0, problems) is None
    assert problems == ['continuous turn at 3 rad/s: no tip received']
