"""Queries of the ROS graph: other publishers of a topic, and emulated devices."""

import ipaddress
import threading
import time
from typing import Any, Literal

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node, NodeNameNonExistentError
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.topic_endpoint_info import TopicEndpointInfo

from soft_arm_node_kit import qos

DISCOVERY_S = 3.2  # DDS repeats its announcements every 3 s
POLL_PERIOD_S = 0.02
UNNAMED = 'a node whose name is not known yet'
# Types of services that only emulated devices offer.
ARM_EMULATION = 'soft_arm_msgs/srv/PlaceRing'
CELL_EMULATION = 'soft_arm_msgs/srv/PlaceObject'


class TopicTakenError(RuntimeError):
    """Another node publishes a topic that must have one publisher.

    DDS keeps a killed node in the graph for up to 20 s, so a supervisor should try again.
    """


class OnlyPublisher:
    """Publisher of a topic that must have no other publisher, such as an actuator's commands.

    The constructor waits `DISCOVERY_S` for the discovery of other nodes. Meanwhile a publisher of
    the hidden topic `<topic>/_claim` is visible to nodes that start at the same time; of these, the
    one with the smallest identifier wins. `others` names publishers that appear later.

    Raises:
        TopicTakenError: If another node publishes the topic or claims it with a smaller identifier.
    """

    def __init__(self, node: Node, message_type: Any, topic: str, profile: QoSProfile):
        self._node, self._topic = node, topic
        end_s = time.monotonic() + DISCOVERY_S
        never = threading.Event()
        self._claim, claimed = self._create(message_type, f'{topic}/_claim', QoSProfile(depth=1))
        while time.monotonic() < end_s and all(
            name == UNNAMED for _, name in self._publishers(topic)
        ):
            never.wait(POLL_PERIOD_S)
        self._refuse([name for _, name in self._publishers(topic)])
        self._refuse([name for gid, name in self._publishers(f'{topic}/_claim') if gid < claimed])
        self._publisher, self._gid = self._create(message_type, topic, profile)

    def publish(self, message: Any) -> None:
        """Publish one message."""
        self._publisher.publish(message)

    def others(self) -> list[str]:
        """Full names of the other nodes that publish the topic."""
        return sorted({name for gid, name in self._publishers(self._topic) if gid != self._gid})

    def _create(
        self, message_type: Any, topic: str, profile: QoSProfile
    ) -> tuple[Publisher, tuple[int, ...]]:
        """Create a publisher; return it and its identifier, the one that is new in the graph."""
        before = dict(self._publishers(topic))
        publisher = self._node.create_publisher(message_type, topic, profile)
        own = self._node.get_fully_qualified_name()
        return publisher, min(
            gid for gid, name in self._publishers(topic) if name == own and gid not in before
        )

    def _publishers(self, topic: str) -> list[tuple[tuple[int, ...], str]]:
        found = self._node.get_publishers_info_by_topic(topic)
        return [(tuple(e.endpoint_gid), node_name(e)) for e in found]

    def _refuse(self, others: list[str]) -> None:
        if others:
            topic = self._node.resolve_topic_name(self._topic)
            raise TopicTakenError(
                f'{self._node.get_name()}: {others[0]} already publishes {topic}, '
                'which must have one publisher: end that node'
            )


class DeviceWatch:
    """Detection of emulated devices in the running graph, for programs that measure them.

    Args:
        node: The program's node; it must spin.
        emulation: Type of the service that only emulated devices of this kind offer.
        namespace: Namespace of the rig's driver, such as `soft_arm`, if its device is measured too.
    """

    def __init__(self, node: Node, emulation: str, namespace: str | None = None):
        self._node, self._emulation, self._namespace = node, emulation, namespace
        self._links: dict[str, str] = {}  # device addresses by the driver's name
        if namespace is not None:
            node.create_subscription(
                DiagnosticArray, '/diagnostics', self._on_diagnostics, qos.STATE
            )

    def mismatch(self, rig: str, devices: str) -> str:
        """Return the reason why the running devices cannot be the rig's; empty if they can.

        Args:
            rig: Name of the rig.
            devices: Devices of the rig, `virtual` or `real`.
        """
        emulated = self.emulated()
        if devices == 'real' and emulated:
            return f'rig {rig!r} is real, but {emulated}: start the real rig, or give --rig virtual'
        if devices == 'virtual' and not emulated:
            return (
                f'rig {rig!r} is virtual, but the running devices are not emulated: '
                'give the --rig that they belong to'
            )
        return ''

    @property
    def devices(self) -> Literal['virtual', 'real']:
        """`virtual` if the devices that run are emulated, else `real`."""
        return 'virtual' if self.emulated() else 'real'

    def emulated(self) -> str:
        """Return the evidence that the devices are emulated; empty if there is none."""
        for name, namespace in self._node.get_node_names_and_namespaces():
            try:
                offered = self._node.get_service_names_and_types_by_node(name, namespace)
            except NodeNameNonExistentError:
                continue  # it has just ended
            if any(self._emulation in types for _, types in offered):
                return f'{namespace.rstrip("/")}/{name} emulates its devices'
        for name, link in self._links.items():
            if on_this_machine(link):
                return f'the device of {name} is on this machine ({link}), as emulated ones are'
        return ''

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.startswith(f'{self._namespace}/') and status.name.endswith('_driver'):
                self._links[f'/{status.name}'] = status.hardware_id


def node_name(endpoint: TopicEndpointInfo) -> str:
    """Return the full name of an endpoint's node; DDS discovers it after the endpoint."""
    unknown = endpoint.node_name == '_NODE_NAME_UNKNOWN_'
    return UNNAMED if unknown else f'{endpoint.node_namespace.rstrip("/")}/{endpoint.node_name}'


def on_this_machine(link: str) -> bool:
    """Return whether a driver's link, such as `tcp 127.0.0.1:5020 unit 1`, is on the loopback."""
    kind, _, rest = link.partition(' ')
    host = rest.split(' ')[0].rpartition(':')[0].strip('[]')
    try:
        return kind == 'tcp' and (host == 'localhost' or ipaddress.ip_address(host).is_loopback)
    except ValueError:
        return False
