"""The runner with a fake session in simulated time: the tip follows each goal with a lag."""

import numpy as np
import pytest

from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_experiments.ros.experiment_runner import ATTEMPTS, ExperimentRunner, Pace
from soft_arm_experiments.ros.rig_session import Series
from soft_arm_kinematics.arm import load_arm
from soft_arm_msgs.action import MoveTip

DYNAMICS = Dynamics(
    valve_time_constant_s=0.2,
    valve_rate_limit_pa_s=150e3,
    valve_delay_s=0.02,
    mechanical_lag_s=0.036,
    creep_share=0.022,
    creep_time_constant_s=0.9,
    camera_delay_s=0.06,
)
LAG_S, PERIOD_S = 0.4, 0.02
FAULT = MoveTip.Result(error_code=MoveTip.Result.RING_LOST, error_msg='no ring')


class Session:
    """Goals numbered in `failing` end half a second after their start, without moving the tip."""

    def __init__(self, first_m, failing):
        self.truth, self._time_s, self._failing, self.goals = Series(), 100.0, failing, []
        self._tip_m = self._goal_m = np.array(first_m)
        self._advance(0.1)

    def now_s(self):
        return self._time_s

    def move_tip(self, point_m, *_):
        self.goals.append(np.array(point_m))
        self._goal_m, fails = np.array(point_m), len(self.goals) in self._failing
        self._stops_s = self._time_s + 0.5 if fails else np.inf
        return lambda: FAULT if fails else None

    def wait_for(self, condition, *_):
        while not condition():
            self._advance(PERIOD_S)

    def _advance(self, duration_s):
        for _ in range(round(duration_s / PERIOD_S)):
            self._time_s += PERIOD_S
            if self._time_s <= getattr(self, '_stops_s', np.inf):
                self._tip_m = self._tip_m + PERIOD_S / LAG_S * (self._goal_m - self._tip_m)
            self.truth.add(self._time_s, self._time_s, self._tip_m)


@pytest.fixture(scope='module')
def arm():
    return load_arm()


def responses(arm, failing):
    session = Session(arm.tip(arm.lengths(np.zeros(6))), failing)
    runner = ExperimentRunner(
        session, arm, DYNAMICS, Pace(table_7_deg=(120.0,)), lambda _: None, lambda: None
    )
    (response,) = runner._responses(None)
    return session, response


@pytest.mark.parametrize('failing', [(), (3,), (2, 5), (3, 4, 6)])
def test_a_response_that_is_repeated_begins_where_the_first_one_began(arm, failing):
    _, undisturbed = responses(arm, ())
    session, response = responses(arm, failing)
    assert response.settle_s == pytest.approx(undisturbed.settle_s, abs=0.05)
    assert response.settle_s >= response.limit_s
    assert response.distance_m[0] == pytest.approx(response.step_m, rel=0.15)
    assert (session.goals[-2] == session.goals[0]).all() and (
        session.goals[-1] != session.goals[0]
    ).any()


def test_a_response_that_always_fails_has_no_settling_time(arm):
    session, response = responses(arm, range(1, 1000))
    assert (
        response.settle_s is None and len(session.goals) <= 1 + 2 * ATTEMPTS + ATTEMPTS * ATTEMPTS
    )
