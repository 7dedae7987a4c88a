"""Selection of the topics of a replay: without set points and internal topics by default."""

from dataclasses import dataclass

from rosbags.interfaces import Connection

from softarm_cli.bags.file import Bag
from softarm_cli.errors import BagError
from softarm_cli.graph.command_topics import is_command

CLOCK = '/clock'
IMAGE = 'sensor_msgs/msg/Image'
_INFO, _TF = 'sensor_msgs/msg/CameraInfo', 'tf2_msgs/msg/TFMessage'
_CHAMBERS = 'soft_arm_msgs/msg/ChamberPressures'
_STATIC = '/tf_static'
_INTERNAL = ('/rosout', '/parameter_events', '/clock_answers')


@dataclass(frozen=True)
class Replay:
    """Options of a replay.

    Attributes:
        topics: Full names of the topics to send; empty: all but set points and internal topics.
        commands: True to include set points.
        namespace: Prefix of every topic; empty: recorded names.
        domain: ROS domain; None: the domain of the environment.
        rate: Speed relative to the recording.
        clock: True to publish /clock: recorded, or else the time of recording.
        sensors: True to send only measurements and `topics`: pressures, images, camera infos, and
            frames of the cameras.
        wait_for: Full names of nodes that must subscribe before the first message.
    """

    topics: tuple[str, ...] = ()
    commands: bool = False
    namespace: str = ''
    domain: int | None = None
    rate: float = 1.0
    clock: bool = False
    sensors: bool = False
    wait_for: tuple[str, ...] = ()

    def sent_as(self, topic: str) -> str:
        """Return the name under which a topic of the bag is sent."""
        if topic == CLOCK:  # common to all namespaces
            return topic
        return f'/{self.namespace.strip("/")}{topic}' if self.namespace.strip('/') else topic


def choose(bag: Bag, replay: Replay) -> tuple[list[Connection], dict[str, str]]:
    """Return the connections to send, and the reasons for omitted topics.

    Raises:
        BagError: If a requested topic is not in the bag, or no topic is left.
    """
    held = [connection.topic for connection in bag.connections]
    unknown = sorted(set(replay.topics) - set(held))
    if unknown:
        raise bag.missing(unknown[0])
    sent, left_out = [], {}
    for connection in bag.connections:
        topic, kind = connection.topic, connection.msgtype
        if topic in replay.topics or (replay.commands and is_command(topic, kind)):
            sent.append(connection)
        elif topic == CLOCK:
            if replay.clock:
                sent.append(connection)
            elif not replay.topics:
                left_out[topic] = 'no --clock'
        elif replay.topics and not replay.sensors:
            continue  # omitted on request
        elif is_command(topic, kind):
            left_out[topic] = 'a command'
        elif topic in _INTERNAL or '/_' in topic:
            left_out[topic] = 'internal to ROS'
        elif replay.sensors and not _is_measured(topic, kind):
            continue  # computed by other nodes
        else:
            sent.append(connection)
    if not [connection for connection in sent if connection.topic != CLOCK]:
        what = 'no pressures and no images' if replay.sensors else 'nothing'
        held_only = f' but {", ".join(left_out)}' if left_out else ''
        raise BagError(f'{bag.path} holds {what}{held_only}: name the topics to send with --topics')
    return sent, left_out


def _is_measured(topic: str, kind: str) -> bool:
    if '/debug/' in topic:
        return False
    return kind in (IMAGE, _INFO, _CHAMBERS) or (kind == _TF and topic.endswith(_STATIC))


def is_shared(topic: str) -> bool:
    """Return whether several nodes publish parts of a topic by design."""
    return topic.endswith(_STATIC)


class CameraFrames:
    """Filter for the static transforms of cameras; other transforms come from running nodes.

    Args:
        bag: An open bag.
        sent: Connections to send.
    """

    def __init__(self, bag: Bag, sent: list[Connection]):
        self._bag, self._frames = bag, set()
        for connection in sent:
            if connection.msgtype == _INFO:
                for _, _, info in bag.decoded([connection]):
                    self._frames.add(info.header.frame_id)
                    break

    def left_out(self, connection: Connection, at_ns: int, raw: bytes) -> bool:
        """Return whether a message holds static transforms of other frames only, or is damaged."""
        if not is_shared(connection.topic):
            return False
        message = self._bag.decode(connection, at_ns, raw)
        return message is None or not {t.child_frame_id for t in message.transforms} & self._frames


def check_namespaces(bag: Bag, replay: Replay, sent: list[Connection]) -> None:
    """Raise BagError if an awaited node is in a namespace without pressures."""
    places = {
        replay.sent_as(connection.topic).rpartition('/')[0]
        for connection in sent
        if connection.msgtype == _CHAMBERS
    }
    for node in replay.wait_for if places else ():
        place = node.rpartition('/')[0]
        if place not in places:
            held = ', '.join(sorted(places))
            raise BagError(
                f'{bag.path} holds pressures in {held}, not in {place or "/"}, where '
                f'{node.rpartition("/")[2]} runs: start it in the namespace of the bag'
            )
