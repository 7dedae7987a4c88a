"""Replay bags into the ROS graph, so that no replay drives a rig by accident.

Set points (`command_topics`) and topics of ROS itself are left out unless asked for. Nothing is
sent to a rig: no topic that is published already, no set point to which a node subscribes, and
nothing under its own name while a driver runs. The graph is checked before the first message and
twice a second during the replay.

With /clock, nodes live in the time of the recording, and those that answer images in simulated time
(`soft_arm_node_kit.ticker`) are waited for, so that none drops one.
"""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from rclpy.duration import Duration
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosbags.interfaces import Connection, QosDurability, QosReliability

from softarm_cli.bags.file import Bag, open_bag
from softarm_cli.bags.replay import (
    CLOCK,
    CameraFrames,
    Replay,
    check_namespaces,
    choose,
    is_shared,
)
from softarm_cli.errors import BagError, MessageTypeError
from softarm_cli.graph.command_topics import is_command
from softarm_cli.graph.message_types import message_class
from softarm_cli.ros.graph import Graph
from softarm_cli.ros.replay_time import ImageAnswers, Pace, ReplayClock

_QUEUE_DEPTH = 1000
_CHECK_PERIOD_S = 0.5
_MATCHING_S = 3.0
_NODE_START_S = 120.0
_CHANGE_STATE = 'lifecycle_msgs/srv/ChangeState'
_LATCHED = ('tf_static', 'robot_description')  # by convention, whatever the bag states
_ELSEWHERE = 'play under other names with --namespace, or into another graph with --domain'

_log = logging.getLogger(__name__)


def obstacle(graph: Graph, sent: list, replay: Replay) -> str | None:
    """Return the reason for which these topics may not be sent now; None if they may."""
    if not replay.namespace:
        for driver in _drivers(graph):
            return (
                f'the driver {driver} runs, and a replay could move its arm: end it, {_ELSEWHERE}'
            )
    for connection in sent:
        topic = replay.sent_as(connection.topic)
        if is_command(connection.topic, connection.msgtype) and (
            subscribers := graph.subscribers(topic)
        ):
            return (
                f'{", ".join(subscribers)} subscribes to the command {topic} and may move '
                f'something: end that node, {_ELSEWHERE}'
            )
        if not (replay.sensors and is_shared(topic)) and (publishers := graph.publishers(topic)):
            return (
                f'{topic} is published by {", ".join(publishers)} already: end that node, '
                f'choose other topics with --topics, {_ELSEWHERE}'
            )
    if replay.clock and (publishers := graph.publishers(CLOCK)):
        return (
            f'{CLOCK} is published by {", ".join(publishers)} already: end that node, or play into '
            'another graph with --domain'
        )
    return None


def play(
    bag: Path,
    replay: Replay = Replay(),  # noqa: B008
    stop: threading.Event | None = None,
    on_start: Callable[[Bag, dict[str, str]], None] = lambda bag, left_out: None,
    on_message: Callable[[float], None] = lambda elapsed_s: None,
    is_quiet: bool = False,
) -> int:
    """Publish the messages of a bag at their recorded intervals; return their number.

    Args:
        bag: Folder of the bag.
        replay: Options.
        stop: Ends the replay early when set.
        on_start: Callback before the first message with the bag and the reasons for omitted topics.
        on_message: Callback after each message with its recorded time since the first [s].
        is_quiet: See `open_bag`.

    Raises:
        BagError: If the bag cannot be read, or may not be played into this graph; earlier
            messages have been sent then.
    """
    stop = stop or threading.Event()
    with open_bag(bag, is_quiet) as opened:
        sent, left_out = choose(opened, replay)
        check_namespaces(opened, replay, sent)
        with Graph(replay.domain) as graph:
            graph.discover()
            _refuse(graph, sent, replay)
            on_start(opened, left_out)
            publishers = {
                connection.id: _publisher(graph, connection, replay) for connection in sent
            }
            made_clock = replay.clock and CLOCK not in {c.topic for c in sent}
            clock = ReplayClock(graph.node) if made_clock else None
            _wait_for_nodes(graph, sent, replay, stop)
            _wait_for_subscribers(graph, [p for p in publishers.values() if p is not None])
            answers = ImageAnswers(graph, sent, replay) if replay.clock else None
            count = _send(graph, opened, sent, publishers, replay, stop, on_message, clock, answers)
            for publisher in filter(None, publishers.values()):
                publisher.wait_for_all_acked(Duration(seconds=1))
            return count


def _send(
    graph: Graph,
    bag: Bag,
    sent: list[Connection],
    publishers: dict[int, Publisher | None],
    replay: Replay,
    stop: threading.Event,
    on_message: Callable[[float], None],
    clock: ReplayClock | None,
    answers: ImageAnswers | None,
) -> int:
    checked_s = time.monotonic()
    pace, count = Pace(replay.rate), 0
    frames = CameraFrames(bag, sent) if replay.sensors else None

    def wait(at_ns: int) -> None:
        nonlocal checked_s
        while not stop.is_set() and (left_s := pace.left_s(at_ns)) > 0:
            stop.wait(min(_CHECK_PERIOD_S, left_s))
            checked_s = _check_again(graph, sent, replay, checked_s)

    for connection, at_ns, raw in bag.messages(sent):
        pace.start(at_ns)
        for tick_ns in clock.ticks(at_ns) if clock is not None else ():
            wait(tick_ns)
            clock.publish(tick_ns)
        wait(at_ns)
        if stop.is_set():
            break
        checked_s = _check_again(graph, sent, replay, checked_s)
        publisher = publishers[connection.id]
        if publisher is not None and not (frames and frames.left_out(connection, at_ns, raw)):
            publisher.publish(bytes(raw))
            count += 1
            if answers is not None:
                pace.stood(answers.wait_after(connection, raw, stop))
        on_message(pace.elapsed_s(at_ns))
    return count


def _wait_for_nodes(
    graph: Graph, sent: list[Connection], replay: Replay, stop: threading.Event
) -> None:
    """Wait until each node of `replay.wait_for` subscribes to a topic of the replay."""
    topics = [replay.sent_as(connection.topic) for connection in sent]

    def missing() -> list[str]:
        subscribers = {node for topic in topics for node in graph.subscribers(topic)}
        return sorted(set(replay.wait_for) - subscribers)

    ready = graph.holds(
        lambda: stop.is_set() or not missing(),
        _NODE_START_S if replay.wait_for else 0.0,
        lambda: _refuse(graph, sent, replay),
    )
    if replay.wait_for and not ready:
        raise BagError(
            f'waited {_NODE_START_S:.0f} s for {", ".join(missing())}, which subscribes to none '
            'of the topics: see its error above'
        )


def _check_again(graph: Graph, sent: list, replay: Replay, checked_s: float) -> float:
    if time.monotonic() - checked_s < _CHECK_PERIOD_S:
        return checked_s
    _refuse(graph, sent, replay)
    return time.monotonic()


def _refuse(graph: Graph, sent: list, replay: Replay) -> None:
    if reason := obstacle(graph, sent, replay):
        raise BagError(reason)


def _drivers(graph: Graph) -> list[str]:
    """Return the lifecycle nodes that subscribe to set points."""
    can_be_activated = {
        name.rpartition('/')[0] for name, kind in graph.services().items() if kind == _CHANGE_STATE
    }
    subscribers = {
        node
        for topic, kind in graph.topics().items()
        if is_command(topic, kind)
        for node in graph.subscribers(topic)
    }
    return sorted(subscribers & can_be_activated)


def _publisher(graph: Graph, connection: Connection, replay: Replay) -> Publisher | None:
    profile = QoSProfile(depth=_QUEUE_DEPTH)
    offered = getattr(connection.ext, 'offered_qos_profiles', ())
    if (
        offered
        and offered[0].reliability == QosReliability.BEST_EFFORT
        and not replay.sensors  # nodes in simulated time need every message
    ):
        profile.reliability = ReliabilityPolicy.BEST_EFFORT
    latched = offered and offered[0].durability == QosDurability.TRANSIENT_LOCAL
    if latched or connection.topic.rpartition('/')[2] in _LATCHED:
        profile.durability = DurabilityPolicy.TRANSIENT_LOCAL
    try:
        return graph.node.create_publisher(
            message_class(connection.msgtype), replay.sent_as(connection.topic), profile
        )
    except MessageTypeError as error:
        _log.warning('%s is not replayed: %s', connection.topic, error)
        return None


def _wait_for_subscribers(graph: Graph, publishers: list) -> None:
    """Wait until subscribers are matched; earlier messages would be lost."""
    connected = [p for p in publishers if graph.node.count_subscribers(p.topic_name)]
    graph.holds(lambda: all(p.get_subscription_count() for p in connected), _MATCHING_S)
