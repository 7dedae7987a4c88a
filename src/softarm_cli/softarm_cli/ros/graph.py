"""Running ROS graph: nodes with their processes, topics with publishers and subscribers."""

import os
import time
from collections import Counter
from collections.abc import Iterable

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from soft_arm_node_kit.graph import node_name
from soft_arm_node_kit.node_names import domain_of
from soft_arm_node_kit.session import Session
from softarm_cli.errors import GraphError
from softarm_cli.graph.names import nearest
from softarm_cli.graph.running_nodes import RunningNode, running_pids

DISCOVERY_S = 3.5  # Fast DDS announces every 3 s
_SETTLED_S = 0.5
_MAX_EXTRA_S = 10.0
_DOMAINS = range(233)  # limited by the ports of DDS
_EVERY_NODE_PUBLISHES = '/parameter_events'
_OBSERVERS = ('/bag_recorder', '/rosbag2_recorder', '/softarm_twin')


class Graph(Session):
    """Hidden node that inspects the graph. Use it in a `with` statement, from one thread.

    Attributes:
        name: Full name of the node.
        node: The node.
    """

    def __init__(self, domain: int | None = None):
        """Join the graph of a ROS domain; None is the domain of the environment."""
        if domain is not None and domain not in _DOMAINS:
            raise GraphError(f'ROS domain {domain} is outside [0, {_DOMAINS.stop - 1}]')
        name = f'_softarm_{os.getpid()}'  # a leading underscore hides it from lists
        super().__init__(name, domain=domain)
        self.name, self._born_s = f'/{name}', time.monotonic()

    def spin(self, seconds: float) -> None:
        """Run callbacks for a while."""
        self.holds(lambda: False, seconds)

    def discover(self) -> None:
        """Wait until all running nodes have been discovered.

        This takes 3.5 s from the time when this node joined the graph, and up to 10 s more on a
        busy machine: until the graph is constant for half a second and all endpoints are known.
        """
        self.spin(self._born_s + DISCOVERY_S - time.monotonic())
        end_s = time.monotonic() + _MAX_EXTRA_S
        before, now = None, self._state()
        while time.monotonic() < end_s and (now != before or self._unknown_nodes()):
            self.spin(_SETTLED_S)
            before, now = now, self._state()

    def topics(self) -> dict[str, str]:
        """Return the type of every topic by its name; of a topic with two types, the first."""
        return {name: types[0] for name, types in self.node.get_topic_names_and_types()}

    def find_topic(self, name: str) -> tuple[str, str]:
        """Return full name and type of a topic as soon as a node publishes it.

        Raises:
            GraphError: If no publisher is found within the time of discovery.
        """
        full = f'/{name.lstrip("/")}'
        left_s = self._born_s + DISCOVERY_S - time.monotonic()
        if self.holds(lambda: full in self.topics() and self.publishers(full), left_s):
            return full, self.topics()[full]
        if full in self.topics():
            subscribers = ', '.join(self.subscribers(full)) or 'no node'
            raise GraphError(f'no node publishes {full}; {subscribers} subscribes to it')
        hint = nearest(full, self.topics(), 'softarm topic list shows all')
        raise GraphError(f'unknown topic {full}; {hint}')

    def publishers(self, topic: str) -> list[str]:
        """Return the full names of the nodes that publish a topic, without this one."""
        return self._names(self.node.get_publishers_info_by_topic(topic))

    def subscribers(self, topic: str) -> list[str]:
        """Return the full names of the nodes that subscribe to a topic, without observers."""
        names = self._names(self.node.get_subscriptions_info_by_topic(topic))
        return [name for name in names if not _is_hidden(name) and name not in _OBSERVERS]

    def matching_qos(self, topic: str, depth: int) -> QoSProfile:
        """Return the strictest profile that matches all the present publishers of a topic."""
        offered = [info.qos_profile for info in self.node.get_publishers_info_by_topic(topic)]
        return matching_qos(offered, depth)

    def services(self) -> dict[str, str]:
        """Return the type of every service by its name."""
        return {name: types[0] for name, types in self.node.get_service_names_and_types()}

    def nodes(self) -> list[RunningNode]:
        """Return all visible nodes by name, including nodes of equal names."""
        pids = running_pids(domain_of(os.environ) if self._domain is None else str(self._domain))
        return [
            RunningNode(name, pid)
            for name, count in sorted(self._node_names().items())
            if not _is_hidden(name)
            for pid in (pids.get(name, []) + [None] * count)[:count]
        ]

    def _state(self) -> tuple:
        topics = self.node.get_topic_names_and_types()
        return topics, self.node.get_service_names_and_types(), len(self._node_endpoints())

    def _unknown_nodes(self) -> Counter[str]:
        """Return the nodes whose endpoints are unknown yet."""
        return self._node_names() - Counter(node_name(info) for info in self._node_endpoints())

    def _node_names(self) -> Counter[str]:
        names = self.node.get_node_names_and_namespaces()
        return Counter(f'{namespace.rstrip("/")}/{name}' for name, namespace in names)

    def _node_endpoints(self) -> list[TopicEndpointInfo]:
        return self.node.get_publishers_info_by_topic(_EVERY_NODE_PUBLISHES)

    def _names(self, infos: Iterable[TopicEndpointInfo]) -> list[str]:
        return sorted({node_name(info) for info in infos} - {self.name})


def matching_qos(offered: Iterable[QoSProfile], depth: int) -> QoSProfile:
    """Return the strictest profile that matches publishers with all the offered profiles."""
    offered = list(offered)
    reliable = all(qos.reliability == ReliabilityPolicy.RELIABLE for qos in offered)
    latched = all(qos.durability == DurabilityPolicy.TRANSIENT_LOCAL for qos in offered)
    return QoSProfile(
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def best_effort(depth: int) -> QoSProfile:
    """Return a profile that matches every publisher; messages may be lost."""
    return QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)


def _is_hidden(name: str) -> bool:
    return '/_' in name
