"""Simulated time of a graph in lockstep: /clock advances when all awaited nodes have answered.

Out: `/clock`, alone in the graph. In: `/clock_answers`. One tick is: advance the rig, publish its
images (or poses of the tip), wait until they are answered, publish /clock, wait until that is
answered. All work is done in the node's executor.
"""

import time
from collections.abc import Callable, Iterable

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.time import Time
from rosgraph_msgs.msg import Clock as ClockMessage

from soft_arm_msgs.msg import TickAnswer
from soft_arm_node_kit import qos
from soft_arm_node_kit.awaited_answers import AwaitedAnswers
from soft_arm_node_kit.graph import OnlyPublisher
from soft_arm_node_kit.ticker import ANSWERS_TOPIC

CHECK_S = 0.25  # wall-clock period of the check for missing answers
_LONGEST_DEBT_S = 0.1  # a longer delay is not caught up


class Lockstep:
    """Advances a rig whenever no answer is missing.

    Args:
        node: The rig's node.
        tick_s: Simulated time of one tick [s].
        advance: Takes the time after the tick [ns], advances the rig to it and publishes; returns
            the stamp of the newest image [ns], -1 before the first.
        image_again: Publishes the newest image again, for a node that missed it.
        by_tick: Names of nodes that answer ticks; relative ones are in the node's namespace.
        by_image: Names of nodes that answer images.
        timeout_s: Wall-clock time after which a node that has answered before is given up [s].
        real_time_factor: Largest simulated time over wall time; 0: as fast as possible.

    Raises:
        TopicTakenError: If another node publishes /clock.
    """

    def __init__(
        self,
        node: Node,
        tick_s: float,
        advance: Callable[[int], int],
        image_again: Callable[[], None],
        by_tick: Iterable[str],
        by_image: Iterable[str],
        timeout_s: float,
        real_time_factor: float,
    ):
        self._node, self._advance, self._image_again = node, advance, image_again
        self._tick_ns, self._timeout_s = round(1e9 * tick_s), timeout_s
        self._awaited = AwaitedAnswers(
            map(self._full_name, by_tick), map(self._full_name, by_image)
        )
        self.time_ns = 0  # of the rig
        self._published_ns, self._image_ns = -1, -1  # of the last /clock, of the newest image
        self._advanced = False  # since the last /clock
        self._asked_s = self._due_s = time.monotonic()
        self._clock = OnlyPublisher(node, ClockMessage, '/clock', qos.ANSWERS)
        node.create_subscription(TickAnswer, ANSWERS_TOPIC, self._on_answer, qos.ANSWERS)
        self._again = node.create_guard_condition(self._go_on)
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(CHECK_S, self._check_missing, clock=wall)
        self._period_s = tick_s / real_time_factor if real_time_factor else 0.0
        if self._period_s:
            node.create_timer(self._period_s, self._go_on, clock=wall)
        self._again.trigger()

    def missing(self) -> list[str]:
        """Return the names of the nodes that time waits for now."""
        return self._awaited.missing(self._published_ns, self._image_ns)

    @property
    def lost(self) -> list[str]:
        """Names of the expected nodes without which time goes on."""
        return sorted(self._awaited.lost)

    def _full_name(self, name: str) -> str:
        return name if name.startswith('/') else f'{self._node.get_namespace().rstrip("/")}/{name}'

    def _on_answer(self, answer: TickAnswer) -> None:
        if answer.leaves:
            self._awaited.leave(answer.node)
        else:
            if answer.node in self._awaited.lost:
                self._node.get_logger().info(f'{answer.node} answers again')
            self._awaited.answer(answer.node, 10**9 * answer.stamp.sec + answer.stamp.nanosec)
        self._go_on()

    def _go_on(self) -> None:
        if self.missing():
            return
        if not self._advanced:
            if self._too_early():
                return
            self.time_ns += self._tick_ns
            self._image_ns = self._advance(self.time_ns)
            self._advanced = True
            self._asked_s = time.monotonic()
            if self.missing():
                return
        self._published_ns, self._advanced = self.time_ns, False
        self._publish()
        self._asked_s = time.monotonic()
        if not self.missing():
            self._again.trigger()  # instead of a loop: the executor has other work

    def _publish(self) -> None:
        self._clock.publish(ClockMessage(clock=Time(nanoseconds=self._published_ns).to_msg()))

    def _too_early(self) -> bool:
        if not self._period_s:
            return False
        now_s = time.monotonic()
        if now_s < self._due_s:
            return True
        self._due_s = max(self._due_s, now_s - _LONGEST_DEBT_S) + self._period_s
        return False

    def _check_missing(self) -> None:
        missing = self.missing()
        if not missing:
            return
        waited_s = time.monotonic() - self._asked_s
        if waited_s > CHECK_S:  # a message may be lost, or sent before a node started
            self._publish()
            if self._advanced:
                self._image_again()
        if waited_s <= self._timeout_s:
            return
        if given_up := self._awaited.give_up(missing):
            self._node.get_logger().error(
                f'no answer of {", ".join(given_up)} at {1e-9 * self.time_ns:.2f} s of simulated '
                f'time for {waited_s:.1f} s: time goes on without it until it answers again'
            )
        else:
            self._node.get_logger().info(
                f'simulated time waits for {", ".join(missing)} to start',
                throttle_duration_sec=10.0,
            )
        self._go_on()
