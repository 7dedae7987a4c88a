"""Simulated time that waits for the node that measures the tip by the motion capture's poses."""

import pytest
from geometry_msgs.msg import PoseStamped
from rclpy.parameter import Parameter
from rclpy.time import Time
from rosgraph_msgs.msg import Clock

from soft_arm_node_kit import qos
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.ticker import Answers, Ticker
from system_testing.probe import Probe

PERIOD_S = 0.010


class Tracking(Probe):
    """Sees poses and time, and answers each pose while `answers`."""

    def __init__(self):
        simulated = [Parameter('use_sim_time', value=True)]
        super().__init__('tracker', nodes=[lambda: Node('driver', parameter_overrides=simulated)])
        Ticker(self.nodes[0], PERIOD_S, lambda: None)
        self.answers, self.time_s, self.at_s = True, 0.0, []
        self._answers = Answers(self)
        self.create_subscription(Clock, '/clock', self._on_clock, qos.STATE)
        topic = '/virtual_rig/motion_capture/pose'
        self.create_subscription(PoseStamped, topic, self._on_pose, qos.STATE)
        self.spin()

    def _on_clock(self, message):
        self.time_s = 1e-9 * Time.from_msg(message.clock).nanoseconds

    def _on_pose(self, message):
        self.at_s.append(1e-9 * Time.from_msg(message.header.stamp).nanoseconds)
        if self.answers:
            self._answers.done_until(message.header.stamp)


@pytest.fixture
def tracking(lockstep_rig):
    with (
        Tracking() as tracking,
        lockstep_rig(pose_answers_from='tracker', answer_timeout_s=600.0),
    ):
        yield tracking


def test_time_stands_until_the_pose_is_answered(tracking):
    tracking.wait(lambda: tracking.time_s > 0.5, 'half a second')
    seen_s = sorted(set(tracking.at_s))
    first = seen_s[0]  # later than the latency
    assert seen_s == pytest.approx([first + k * PERIOD_S for k in range(len(seen_s))], abs=1e-6)
    tracking.answers = False
    again = len(tracking.at_s) + 3
    tracking.wait(lambda: len(tracking.at_s) > again, 'the awaited pose is repeated')
    assert len(set(tracking.at_s[-3:])) == 1
    assert tracking.time_s == pytest.approx(tracking.at_s[-1] - PERIOD_S)
    tracking.answers = True
    at_s = tracking.time_s
    tracking.wait(lambda: tracking.time_s > at_s + 0.2, 'time goes on')
