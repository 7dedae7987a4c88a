"""Periodic work of a node: a timer on the wall clock, answered ticks in simulated time.

In a graph in lockstep the virtual rig publishes /clock, and advances only when the nodes that it
waits for have published on /clock_answers that their work up to that time is done. A node that
follows a /clock without acknowledgements, such as the clock of a bag, works in the same way.
"""

from collections.abc import Callable

from builtin_interfaces.msg import Time as TimeMessage
from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.time import Time

from soft_arm_msgs.msg import TickAnswer
from soft_arm_node_kit import qos

ANSWERS_TOPIC = '/clock_answers'


class Answers:
    """Publisher of a node's progress in simulated time on /clock_answers."""

    def __init__(self, node: Node):
        self._name = node.get_fully_qualified_name()
        self._publisher = node.create_publisher(TickAnswer, ANSWERS_TOPIC, qos.ANSWERS)

    def done_until(self, stamp: TimeMessage) -> None:
        """Report that all work up to this time, inclusive, is done and published."""
        self._publisher.publish(TickAnswer(node=self._name, stamp=stamp))

    def leave(self) -> None:
        """Report that simulated time need not wait for this node any more."""
        self._publisher.publish(TickAnswer(node=self._name, leaves=True))


class Ticker:
    """Calls `work` periodically, on the clock of the node.

    On the wall clock that is a timer. With `use_sim_time`, `work` is called when /clock has reached
    or passed a multiple of the period plus the phase, once for all that it has passed, and after
    the messages that were published before that /clock. The answer holds until the next call is
    due, so that a node is waited for only where it has work. A program holds time with `stand_at`.

    Args:
        node: The node.
        period_s: Period [s].
        work: Called in the node's executor.
        phase_s: Time after each multiple of the period, in simulated time [s].
    """

    def __init__(self, node: Node, period_s: float, work: Callable[[], None], phase_s: float = 0.0):
        self._clock, self._work = node.get_clock(), work
        self._answers: Answers | None = None
        if not node.get_parameter('use_sim_time').value:
            node.create_timer(period_s, work)
            return
        self._period_ns, self._phase_ns = round(1e9 * period_s), round(1e9 * phase_s)
        self._due_ns: int | None = None  # unknown before the first time
        self._limit_ns: int | None = None
        self._before_ns = 0
        self._answers = Answers(node)
        # Not in the callback of the jump: messages that arrived before this /clock come first.
        self._moved = node.create_guard_condition(self._on_time)
        self._jumps = self._clock.create_jump_callback(
            JumpThreshold(
                min_forward=Duration(nanoseconds=1),
                min_backward=Duration(nanoseconds=-1),
                on_clock_change=False,
            ),
            post_callback=lambda _: self._moved.trigger(),
        )

    def stand_at(self, time_s: float) -> None:
        """Let simulated time advance to this moment [s] and stop there until the next call.

        May be called from any thread. On the wall clock it does nothing.
        """
        if self._answers is not None:
            self._limit_ns = round(1e9 * time_s)
            if self._due_ns is not None:
                self._answer(self._due_ns)

    def leave(self) -> None:
        """Let simulated time advance without this node."""
        if self._answers is not None:
            self._jumps.unregister()
            self._answers.leave()

    def _on_time(self) -> None:
        now_ns = self._clock.now().nanoseconds
        began_anew = now_ns < self._before_ns
        self._before_ns = now_ns
        if self._due_ns is not None and not began_anew:
            if now_ns < self._due_ns:
                return  # answered before
            self._work()
        passed = (now_ns - self._phase_ns) // self._period_ns
        self._due_ns = (passed + 1) * self._period_ns + self._phase_ns
        self._answer(self._due_ns)

    def _answer(self, due_ns: int) -> None:
        assert self._answers is not None
        limit_ns = self._limit_ns  # set before `_due_ns` is read, and read after that is set
        until_ns = due_ns if limit_ns is None else min(due_ns, limit_ns)
        self._answers.done_until(Time(nanoseconds=until_ns - 1).to_msg())
