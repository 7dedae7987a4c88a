"""A program's connection to the rig, against a server of `move_tip` in a thread of this process."""

import threading

import numpy as np
import pytest
from rclpy.action import ActionServer
from rclpy.task import Future

from soft_arm_calibration.ros.rig_session import NAMESPACE, RigSession
from soft_arm_description.robot import load_robot
from soft_arm_msgs.action import MoveTip
from system_testing.probe import DEADLINE_S, Probe

STALL_S = 0.3


@pytest.fixture
def server(ros_domain):
    """Accepts and reaches every goal at once."""

    def reach(handle):
        handle.succeed()
        return MoveTip.Result(error_msg='reached')

    with Probe('server', NAMESPACE) as probe:
        action = ActionServer(probe, MoveTip, 'move_tip', reach)
        probe.spin()
        yield
        action.destroy()


def test_an_answer_that_comes_while_a_goal_is_still_being_sent_is_not_lost(server, monkeypatch):
    """rclpy registers a goal after sending it: if stalled in between, the answer arrives first."""

    def made_late(*arguments, **options):
        threading.Event().wait(STALL_S)
        return Future(*arguments, **options)

    with RigSession(load_robot('two_module_arm')) as session:
        session.wait_for(lambda: 'move_tip' not in session.missing(), DEADLINE_S, session.missing)
        monkeypatch.setattr('rclpy.action.client.Future', made_late)
        result = session.move_tip(np.array([0.0, 0.0, 0.2]), [], [], False, 0.001, 1.0)
        session.wait_for(lambda: result() is not None, DEADLINE_S, lambda: 'the result')
        assert result() == (True, '')


def test_on_hardware_samples_are_awaited_and_tips_are_measured(ros_domain):
    """No virtual rig publishes a true tip there."""
    with RigSession(load_robot('two_module_arm')) as session:
        now_s = session.now_s()
        session.pressures.add(now_s, now_s, np.zeros(6))
        session.rings.add(now_s - 0.1, now_s, np.array([0.0, 0.01, 0.2]))
        session.wait_until(now_s - 0.05)
        times_s, tips_m = session.tips(now_s - 1.0, now_s)
    assert times_s == [now_s - 0.1]
    np.testing.assert_array_equal(tips_m, [[0.0, 0.01, 0.2]])
