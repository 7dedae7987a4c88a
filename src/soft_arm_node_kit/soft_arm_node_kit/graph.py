"""Who else takes part in the ROS graph: other publishers of a topic that must have one, and nodes that emulate a rig's devices."""

import ipaddress
import threading
import time

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node, NodeNameNonExistentError
from rclpy.qos import QoSProfile

from soft_arm_node_kit import qos

FIND_S = (
    3.2  # in which DDS discovers the nodes that run already: it repeats its announcements every 3 s
)
POLL_S = 0.02
UNNAMED = 'a node whose name is not known yet'
ARM_EMULATION, CELL_EMULATION = (
    'soft_arm_msgs/srv/PlaceRing',
    'soft_arm_msgs/srv/PlaceObject',
)  # services of emulated devices only


class TopicTakenError(RuntimeError):
    """Another node publishes a topic that must have one publisher; one line that names the node.

    DDS tells of a killed node for up to 20 s more, so whoever restarts its successor should try
    again.
    """


class OnlyPublisher:
    """Publisher of a topic that must have no other, such as the commands of an actuator.

    Making one takes `FIND_S`, in which other nodes are discovered. Meanwhile a publisher of the
    hidden topic `<topic>/_claim` tells nodes that start at the same time; of these the one with the
    smallest identifier goes on. `others` finds who comes later.

    Raises:
        TopicTakenError: If another node publishes the topic or claims it with a smaller identifier.
    """

    def __init__(self, node: Node, message_type, topic: str, profile: QoSProfile):
        self._node, self._topic = node, topic
        end_s, never = time.monotonic() + FIND_S, threading.Event()
        self._claim, claimed = self._create(message_type, f'{topic}/_claim', profile)
        while time.monotonic() < end_s and all(
            name == UNNAMED for _, name in self._publishers(topic)
        ):
            never.wait(POLL_S)
        self._refuse([name for _, name in self._publishers(topic)])
        self._refuse([name for gid, name in self._publishers(f'{topic}/_claim') if gid < claimed])
        self._publisher, self._gid = self._create(message_type, topic, profile)

    def publish(self, message) -> None:
        """Publish one message."""
        self._publisher.publish(message)

    def others(self) -> list[str]:
        """Full names of the other nodes that publish the topic."""
        return sorted({name for gid, name in self._publishers(self._topic) if gid != self._gid})

    def _create(self, message_type, topic, profile):
        """A publisher and its identifier, which is the one that was not there before."""
        before = dict(self._publishers(topic))
        publisher, own = (
            self._node.create_publisher(message_type, topic, profile),
            self._node.get_fully_qualified_name(),
        )
        return publisher, min(
            gid for gid, name in self._publishers(topic) if name == own and gid not in before
        )

    def _publishers(self, topic) -> list[tuple[tuple[int, ...], str]]:
        found = self._node.get_publishers_info_by_topic(topic)
        return [(tuple(e.endpoint_gid), _name(e)) for e in found]

    def _refuse(self, others: list[str]) -> None:
        if others:
            topic = self._node.resolve_topic_name(self._topic)
            raise TopicTakenError(
                f'{self._node.get_name()}: {others[0]} already publishes {topic}, which takes one publisher; end it'
            )


class DeviceWatch:
    """Tells whether the devices of the rig that runs are emulated, for programs that measure them.

    Args:
        node: Of the program; it must spin.
        emulation: Type of the service that only emulated devices of this kind offer.
        namespace: Of the rig's driver, such as `soft_arm`, if its device is measured too.
    """

    def __init__(self, node: Node, emulation: str, namespace: str | None = None):
        self._node, self._emulation, self._namespace = node, emulation, namespace
        self._links: dict[str, str] = {}  # of drivers: the device's address, as diagnostics say
        if namespace is not None:
            node.create_subscription(
                DiagnosticArray, '/diagnostics', self._on_diagnostics, qos.STATE
            )

    def mismatch(self, rig: str, devices: str) -> str:
        """Why a measurement of the running devices is none of a rig with `virtual` or `real` devices; empty when it is one."""
        emulated = self.emulated()
        if devices == 'real' and emulated:
            return f'rig {rig!r} is real, but {emulated}: start the real rig, or give --rig virtual'
        if devices == 'virtual' and not emulated:
            return f'rig {rig!r} is virtual, but nothing emulates the devices that run here: give the --rig that they belong to'
        return ''

    def emulated(self) -> str:
        """Why the devices count as emulated, in a few words; empty when nothing says so."""
        for name, namespace in self._node.get_node_names_and_namespaces():
            try:
                offered = self._node.get_service_names_and_types_by_node(name, namespace)
            except NodeNameNonExistentError:
                continue  # it has just ended
            if any(self._emulation in types for _, types in offered):
                return f'{namespace.rstrip("/")}/{name} emulates its devices'
        for name, link in self._links.items():
            if _on_this_machine(link):
                return f'the device of {name} is on this machine ({link}), as emulated ones are'
        return ''

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.startswith(f'{self._namespace}/') and status.name.endswith('_driver'):
                self._links[f'/{status.name}'] = status.hardware_id


def _name(endpoint) -> str:
    """Full name of an endpoint's node, which is discovered after the endpoint."""
    unknown = endpoint.node_name == '_NODE_NAME_UNKNOWN_'
    return UNNAMED if unknown else f'{endpoint.node_namespace.rstrip("/")}/{endpoint.node_name}'


def _on_this_machine(link: str) -> bool:
    """Whether a driver's link, such as `tcp 127.0.0.1:5020 unit 1`, is to a loopback address."""
    kind, _, rest = link.partition(' ')
    host = rest.split(' ')[0].rpartition(':')[0].strip('[]')
    try:
        return kind == 'tcp' and (host == 'localhost' or ipaddress.ip_address(host).is_loopback)
    except ValueError:
        return False
