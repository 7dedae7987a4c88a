"""What a replay sends of a bag: never set points or ROS's own topics, unless asked for."""

from dataclasses import dataclass

from softarm_cli.bags.file import Bag
from softarm_cli.errors import BagError
from softarm_cli.graph.command_topics import is_command
from softarm_cli.graph.names import nearest

_OF_ROS = ('/rosout', '/parameter_events')


@dataclass(frozen=True)
class Replay:
    """What is sent, and how.

    Attributes:
        topics: Full names of the topics to send; empty: all but set points and ROS's own.
        commands: Whether set points are sent too.
        namespace: Prefix of every topic; empty: the names are those of the recording.
        domain: ROS domain to send into; None: that of the environment.
        rate: 2.0 is twice as fast.
    """

    topics: tuple[str, ...] = ()
    commands: bool = False
    namespace: str = ''
    domain: int | None = None
    rate: float = 1.0

    def sent_as(self, topic: str) -> str:
        """Return the name under which a topic of the bag is sent."""
        return f'/{self.namespace.strip("/")}{topic}' if self.namespace.strip('/') else topic


def choose(bag: Bag, replay: Replay) -> tuple[list, dict[str, str]]:
    """Return the connections that are sent, and why others are not, by topic.

    Raises:
        BagError: If a topic that is asked for is not in the bag, or none is left.
    """
    held = [connection.topic for connection in bag.connections]
    unknown = sorted(set(replay.topics) - set(held))
    if unknown:
        hint = nearest(unknown[0], held, f'softarm bag info {bag.path} lists all')
        raise BagError(f'{bag.path} holds no topic {unknown[0]}; {hint}')
    sent, left_out = [], {}
    for connection in bag.connections:
        topic = connection.topic
        if topic in replay.topics or (replay.commands and is_command(topic, connection.msgtype)):
            sent.append(connection)
        elif replay.topics:
            continue  # the user knows
        elif is_command(topic, connection.msgtype):
            left_out[topic] = 'a command'
        elif topic in _OF_ROS or '/_' in topic:
            left_out[topic] = "ROS's own"
        else:
            sent.append(connection)
    if not sent:
        raise BagError(
            f'{bag.path} holds nothing but {", ".join(left_out)}: '
            'name the topics to send with --topics'
        )
    return sent, left_out
