"""A look at the running ROS graph: its nodes with their processes, its topics, and who publishes and hears them."""

import difflib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions

from softarm_cli.errors import GraphError

DISCOVERY_S = 3.5  # Fast DDS announces every 3 s
_SETTLED_S, _LONGEST_S = 0.5, 10.0
_DOMAINS = range(233)  # above, the ports of DDS run over
_EVERY_NODE_PUBLISHES = '/parameter_events'
_LISTENERS = ('/bag_recorder', '/rosbag2_recorder')  # they hear everything and do nothing


@dataclass(frozen=True)
class RunningNode:
    """One node of the graph; two of the same name are two of these.

    Attributes:
        name: Full name.
        pid: Its process on this machine; None where it is not known.
        elsewhere: Whether it runs on another machine.
    """

    name: str
    pid: int | None
    elsewhere: bool = False

    @property
    def where(self) -> str:
        """Its process, in words."""
        if self.elsewhere:
            return 'on another machine'
        return 'process unknown' if self.pid is None else f'pid {self.pid}'


class Graph:
    """A hidden node of its own beside whatever the process runs. Use it in a `with` statement, from one thread."""

    def __init__(self, domain: int | None = None):
        """Join the graph of a ROS domain; None is the domain of the environment."""
        if domain is not None and domain not in _DOMAINS:
            raise GraphError(f'ROS domain {domain} is outside [0, {_DOMAINS.stop - 1}]')
        self.domain, self._born_s = domain, time.monotonic()

    def __enter__(self):
        self._context = Context()
        rclpy.init(
            args=[],
            context=self._context,
            signal_handler_options=SignalHandlerOptions.NO,
            domain_id=self.domain,
        )
        self.name = f'/_softarm_{os.getpid()}'  # a leading underscore hides it from lists
        self.node = Node(
            self.name[1:],
            context=self._context,
            enable_rosout=False,
            start_parameter_services=False,
            use_global_arguments=False,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        return self

    def __exit__(self, *error):
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def spin(self, seconds: float) -> None:
        """Answer callbacks for a while."""
        self.spin_until(lambda: False, seconds)

    def spin_until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Answer callbacks until a condition holds; return whether it came to hold in time."""
        end_s = time.monotonic() + seconds
        while not condition():
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                return False
            self._executor.spin_once(timeout_sec=min(left_s, 0.1))
        return True

    def discover(self) -> None:
        """Wait until whoever runs has been found.

        That is 3.5 s after this object joined the graph, and longer on a busy machine: until
        nothing new has come for half a second and every node is known with its publishers, or 10 s
        more.
        """
        self.spin(self._born_s + DISCOVERY_S - time.monotonic())
        end_s, before, now = time.monotonic() + _LONGEST_S, None, self._shape()
        while time.monotonic() < end_s and (now != before or self._unknown_nodes()):
            self.spin(_SETTLED_S)
            before, now = now, self._shape()

    def topics(self) -> dict[str, str]:
        """Return the type of every topic, by name; of a topic with two types the first."""
        return {name: types[0] for name, types in self.node.get_topic_names_and_types()}

    def find_topic(self, name: str) -> tuple[str, str]:
        """Return full name and type of a topic, as soon as somebody publishes it.

        Raises:
            GraphError: If nobody does within the time that discovery takes; the message names the
                nearest.
        """
        full = f'/{name.lstrip("/")}'
        deadline_s = self._born_s + DISCOVERY_S - time.monotonic()
        if not self.spin_until(lambda: full in self.topics() and self.publishers(full), deadline_s):
            if full in self.topics():
                heard_by = ', '.join(self.subscribers(full))
                raise GraphError(f'nobody publishes {full}; it is heard by {heard_by or "nobody"}')
            raise GraphError(
                f'there is no topic {full}; {nearest(full, self.topics(), "softarm topic list shows all")}'
            )
        return full, self.topics()[full]

    def publishers(self, topic: str) -> list[str]:
        """Return the full names of the nodes that publish a topic, without this one."""
        return self._names(self.node.get_publishers_info_by_topic(topic))

    def subscribers(self, topic: str) -> list[str]:
        """Return the full names of the nodes that hear a topic, without recorders and the like."""
        names = self._names(self.node.get_subscriptions_info_by_topic(topic))
        return [name for name in names if not _is_hidden(name) and name not in _LISTENERS]

    def matching_qos(self, topic: str, depth: int) -> QoSProfile:
        """Return the strictest profile with which everybody who publishes a topic now is heard."""
        offered = [info.qos_profile for info in self.node.get_publishers_info_by_topic(topic)]
        return matching_qos(offered, depth)

    def services(self) -> dict[str, str]:
        """Return the type of every service, by name."""
        return {name: types[0] for name, types in self.node.get_service_names_and_types()}

    def nodes(self) -> list[RunningNode]:
        """Return every node that is not hidden, doubled ones as often as they run, by name."""
        own = next(
            (bytes(i.endpoint_gid) for i in self._node_endpoints() if self._full(i) == self.name),
            b'',
        )
        found = {(self._full(i), bytes(i.endpoint_gid)) for i in self._node_endpoints()}
        nodes = [_running_node(name, gid, own) for name, gid in found]
        without_endpoint = {
            _join(space, name) for name, space in self.node.get_node_names_and_namespaces()
        }
        nodes += [
            RunningNode(name, None) for name in without_endpoint - {name for name, _ in found}
        ]
        return sorted(
            (n for n in nodes if not _is_hidden(n.name)), key=lambda n: (n.name, n.pid or 0)
        )

    def _shape(self):
        return (
            self.node.get_topic_names_and_types(),
            self.node.get_service_names_and_types(),
            len(self._node_endpoints()),
        )

    def _unknown_nodes(self) -> Counter:
        """Nodes of which only the name has come yet."""
        names = Counter(
            _join(space, name) for name, space in self.node.get_node_names_and_namespaces()
        )
        return names - Counter(self._full(info) for info in self._node_endpoints())

    def _node_endpoints(self):
        return self.node.get_publishers_info_by_topic(_EVERY_NODE_PUBLISHES)

    def _names(self, infos) -> list[str]:
        return sorted({self._full(info) for info in infos} - {self.name})

    def _full(self, info) -> str:
        return _join(info.node_namespace, info.node_name)


def matching_qos(offered: Iterable[QoSProfile], depth: int) -> QoSProfile:
    """Return the strictest profile with which every publisher with one of the offered profiles is heard."""
    offered = list(offered)
    reliable = all(qos.reliability == ReliabilityPolicy.RELIABLE for qos in offered)
    latched = all(qos.durability == DurabilityPolicy.TRANSIENT_LOCAL for qos in offered)
    return QoSProfile(
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def nearest(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a hint at the known names that are most like one, or else the given text."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    close += [
        k for k in known if k.rsplit('/', 1)[-1] == name.rsplit('/', 1)[-1] and k not in close
    ][:3]
    return f'did you mean {" or ".join(close)}?' if close else otherwise


def _join(namespace: str, name: str) -> str:
    return f'{namespace.rstrip("/")}/{name}'


def _is_hidden(name: str) -> bool:
    return '/_' in name


def _running_node(name: str, gid: bytes, own: bytes) -> RunningNode:
    """Fast DDS puts the host's number and the low half of the process's into every identifier: `01 0f`, host, pid, .."""
    if own[:2] != b'\x01\x0f' or gid[:2] != own[:2]:
        return RunningNode(name, None)  # another DDS
    if gid[2:4] != own[2:4]:
        return RunningNode(name, None, elsewhere=True)
    return RunningNode(name, _pid(int.from_bytes(gid[4:6], 'little')))


def _pid(low: int) -> int | None:
    """Return the process with this low half of its number that has a DDS in memory; None if it is not exactly one."""
    numbers = (int(entry) for entry in os.listdir('/proc') if entry.isdigit())
    found = [pid for pid in numbers if pid & 0xFFFF == low and _has_dds(pid)]
    return found[0] if len(found) == 1 else None


def _has_dds(pid: int) -> bool:
    try:
        return 'fastrtps' in Path(f'/proc/{pid}/maps').read_text()
    except OSError:
        return False  # it has ended, or is another user's
