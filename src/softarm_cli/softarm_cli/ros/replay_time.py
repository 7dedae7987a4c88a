"""Time of a replay: its pace on the wall clock, /clock, and waits for the answers to images."""

import logging
import threading
import time
from collections.abc import Iterator

from rclpy.node import Node
from rclpy.time import Time
from rosbags.interfaces import Connection
from rosgraph_msgs.msg import Clock

from soft_arm_msgs.msg import TickAnswer
from soft_arm_node_kit import qos
from soft_arm_node_kit.awaited_answers import AwaitedAnswers
from soft_arm_node_kit.ticker import ANSWERS_TOPIC
from softarm_cli.bags.replay import CLOCK, IMAGE, Replay
from softarm_cli.ros.graph import Graph

TICK_NS = 10_000_000
_FIRST_ANSWER_S = 300.0  # a detector may compile
_ANSWER_S = 5.0
_LATEST_IMAGES = 8  # incomplete stamps that detectors keep
_HEADER_BYTES = 12  # of an image up to the end of its stamp

_log = logging.getLogger(__name__)


class Pace:
    """Due times of messages on the wall clock, without the pauses of the replay."""

    def __init__(self, rate: float):
        self._rate, self._first_ns, self._started_s = rate, 0, -1.0

    def start(self, first_ns: int) -> None:
        """Begin with the first message; later calls do nothing."""
        if self._started_s < 0:
            self._first_ns, self._started_s = first_ns, time.monotonic()

    def elapsed_s(self, at_ns: int) -> float:
        """Return the time from the first message to another, as recorded [s]."""
        return (at_ns - self._first_ns) * 1e-9

    def left_s(self, at_ns: int) -> float:
        """Return the time until a message is due [s]."""
        return self._started_s + self.elapsed_s(at_ns) / self._rate - time.monotonic()

    def stood(self, seconds: float) -> None:
        """Shift the due times by the duration of a pause [s]."""
        self._started_s += seconds


class ReplayClock:
    """Publish the time of recording on /clock, every 10 ms."""

    def __init__(self, node: Node):
        self._publisher = node.create_publisher(Clock, CLOCK, qos.ANSWERS)
        self._last_ns = -1

    def ticks(self, until_ns: int) -> Iterator[int]:
        """Yield the times [ns] to publish before a message of `until_ns`."""
        if self._last_ns < 0:
            yield until_ns
        while self._last_ns + TICK_NS <= until_ns:
            yield self._last_ns + TICK_NS

    def publish(self, now_ns: int) -> None:
        """Publish a time [ns]."""
        self._last_ns = now_ns
        self._publisher.publish(Clock(clock=Time(nanoseconds=now_ns).to_msg()))


class ImageAnswers:
    """Wait for the acknowledgements of the nodes after each set of images with one stamp.

    A node answers if it publishes /clock_answers and subscribes to an image. One that does not
    answer in time is named and not waited for until it answers again.
    """

    def __init__(self, graph: Graph, sent: list[Connection], replay: Replay):
        self._graph = graph
        images = [c.topic for c in sent if c.msgtype == IMAGE]
        hearers = {node for topic in images for node in graph.subscribers(replay.sent_as(topic))}
        names = sorted(hearers & set(graph.publishers(ANSWERS_TOPIC)))
        self._topics = {
            topic for topic in images if set(names) & set(graph.subscribers(replay.sent_as(topic)))
        }
        self._names, self._answers = frozenset(names), AwaitedAnswers((), names)
        self._partial: dict[int, set[str]] = {}
        if names:
            graph.node.create_subscription(TickAnswer, ANSWERS_TOPIC, self._on_answer, qos.ANSWERS)

    def _on_answer(self, message: TickAnswer) -> None:
        if message.node in self._names:
            self._answers.answer(message.node, Time.from_msg(message.stamp).nanoseconds)

    def wait_after(self, connection: Connection, raw: bytes, stop: threading.Event) -> float:
        """Wait if this message completes the images of one stamp; return the duration [s]."""
        if connection.topic not in self._topics or len(raw) < _HEADER_BYTES:
            return 0.0
        stamp_ns = _stamp_ns(raw)
        sent = self._partial.setdefault(stamp_ns, set())
        sent.add(connection.topic)
        if sent != self._topics:
            while len(self._partial) > _LATEST_IMAGES:
                self._partial.pop(next(iter(self._partial)))
            return 0.0
        del self._partial[stamp_ns]
        return self._wait(stamp_ns, stop)

    def _wait(self, stamp_ns: int, stop: threading.Event) -> float:
        started_s = time.monotonic()

        def missing() -> list[str]:
            return self._answers.missing(0, stamp_ns)

        starting = any(map(self._answers.starting, self._names))
        limit_s = _FIRST_ANSWER_S if starting else _ANSWER_S
        if not self._graph.holds(lambda: stop.is_set() or not missing(), limit_s):
            for node in missing():
                _log.warning('%s did not answer an image for %.0f s: going on', node, limit_s)
                self._answers.lost.add(node)
        return time.monotonic() - started_s


def _stamp_ns(raw: bytes) -> int:
    """Return the stamp [ns] of a message in CDR that begins with a header."""
    order = 'little' if raw[1] else 'big'
    seconds, nanoseconds = (int.from_bytes(raw[i : i + 4], order) for i in (4, 8))  # type: ignore[arg-type]
    return seconds * 1_000_000_000 + nanoseconds
