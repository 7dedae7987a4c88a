"""A ticker on a /clock that the test publishes."""

from contextlib import ExitStack
from functools import partial

import pytest
from rclpy.parameter import Parameter
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Int64

from soft_arm_msgs.msg import TickAnswer
from soft_arm_node_kit import qos
from soft_arm_node_kit.diagnostics import RateMeter
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.ticker import ANSWERS_TOPIC, Ticker
from system_testing.probe import Probe

TICK_NS = 10_000_000


class Ticking(Node):
    """Notes when it worked, and which messages it had heard then."""

    def __init__(self, **ticker):
        super().__init__('ticking', parameter_overrides=[Parameter('use_sim_time', value=True)])
        self.heard, self.worked = [], []
        self.create_subscription(Int64, 'numbers', lambda m: self.heard.append(m.data), qos.SENSOR)
        self.ticker = Ticker(self, work=self._work, **ticker)

    def _work(self):
        self.worked.append((round(1e3 * self.now_s()), len(self.heard)))


class Rig(Probe):
    """Publisher of /clock that receives the acknowledgements."""

    def __init__(self, **ticker):
        super().__init__('rig', nodes=[partial(Ticking, **ticker)])
        self.answers, self.left, self.time_ns = [], False, 0
        self.clock = self.create_publisher(Clock, '/clock', qos.ANSWERS)
        self.numbers = self.create_publisher(Int64, 'numbers', qos.STATE)
        self.create_subscription(TickAnswer, ANSWERS_TOPIC, self._on_answer, qos.ANSWERS)
        self.spin()
        self.wait(lambda: self.numbers.get_subscription_count() == 1, 'the node listens')
        self.wait(lambda: self.clock.get_subscription_count() == 1, 'the node follows /clock')
        self.wait(lambda: self.count_publishers(ANSWERS_TOPIC) == 1, 'the node may answer')

    def _on_answer(self, answer):
        assert answer.node == '/ticking'
        self.left = self.left or answer.leaves
        self.answers.append(Time.from_msg(answer.stamp).nanoseconds)

    def to(self, time_ns, answered=True):
        """Publish a number, then this time; wait for the answer where one is due."""
        self.time_ns = time_ns
        self.numbers.publish(Int64(data=time_ns))
        self.clock.publish(Clock(clock=Time(nanoseconds=time_ns).to_msg()))
        if answered:
            self.wait(lambda: self.answers and self.answers[-1] >= time_ns, f'answer {time_ns}')


@pytest.fixture
def started():
    with ExitStack() as rigs:

        def start(**ticker):
            rig = rigs.enter_context(Rig(**ticker))
            return rig.nodes[0], rig

        yield start


def test_works_on_its_grid_after_the_messages_before_the_tick(started):
    ticking, rig = started(period_s=0.020, phase_s=0.010)
    for k in range(1, 8):
        rig.to(k * TICK_NS)
    assert ticking.worked == [(30, 3), (50, 5), (70, 7)]
    assert rig.answers == [30_000_000 - 1, 50_000_000 - 1, 70_000_000 - 1, 90_000_000 - 1]


def test_works_once_for_several_periods_and_starts_anew_with_the_clock(started):
    ticking, rig = started(period_s=0.020)
    for milliseconds in (10, 75):
        rig.to(1_000_000 * milliseconds)
    rig.answers.clear()
    rig.to(TICK_NS)
    rig.to(2 * TICK_NS)
    assert [at_ms for at_ms, _ in ticking.worked] == [75, 20]
    assert rig.answers == [20_000_000 - 1, 40_000_000 - 1]


def test_a_program_holds_time_and_leaves(started):
    ticking, rig = started(period_s=0.020)
    rig.to(TICK_NS)
    ticking.ticker.stand_at(0.030)
    rig.to(2 * TICK_NS)
    assert rig.answers[-1] == 30_000_000 - 1
    ticking.ticker.stand_at(0.100)
    rig.to(3 * TICK_NS)
    assert rig.answers[-1] == 40_000_000 - 1
    ticking.ticker.leave()
    rig.wait(lambda: rig.left, 'the node leaves')


def test_on_the_wall_clock_it_is_a_timer():
    calls = []
    with Probe(nodes=[partial(Node, 'ticking')]) as probe:
        (node,) = probe.nodes
        Ticker(node, 0.005, lambda: calls.append(node.now_s()))
        probe.wait(lambda: len(calls) >= 3)
        assert node.count_publishers(ANSWERS_TOPIC) == 0


def test_a_rate_is_that_of_the_clock_and_survives_its_new_start():
    now_s = [100.0]
    meter = RateMeter(lambda: now_s[0], window_s=2.0)
    for k in range(101):
        now_s[0] = 100.0 + k / 30.0
        meter.tick()
    assert meter.rate_hz == pytest.approx(30.0, rel=0.02)
    now_s[0] = 0.0
    assert meter.rate_hz == 0.0
