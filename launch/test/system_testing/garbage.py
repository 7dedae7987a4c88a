"""Garbage for every topic, service and action that the nodes of a running graph offer."""

import math
import time
from dataclasses import dataclass

from lifecycle_msgs.srv import ChangeState
from rclpy.action import get_action_server_names_and_types_by_node
from rclpy.qos import DurabilityPolicy, QoSProfile

from softarm_cli.graph.message_types import message_class

OTHERS = {'/tf', '/tf_static', '/rosout', '/parameter_events', '/clock', '/diagnostics'}
"""Topics that are not ours."""
OF_EVERY_NODE = (
    'parameter',
    'parameters',
    'type_description',
    'get_state',
    'get_available',
    'get_transition',
    'loggers',
    'logger_levels',
)


@dataclass(frozen=True)
class Kind:
    """One kind of garbage: the value of every field, and the length of every sequence."""

    number: float
    integer: int
    text: str
    length: int
    seconds: int


KINDS = (
    Kind(math.nan, 0, '', 0, 0),
    Kind(math.nan, 1, 'nonsense', 3, 1),
    Kind(math.inf, -1, 'soft_arm_base_link', 6, 2**31 - 1),
    Kind(-math.inf, 2**31 - 1, 'no such frame \n', 1, -1),
    Kind(1e300, -(2**31), 'x' * 2000, 500, 2**31 - 1),
    Kind(-1e-300, 255, '/', 2, 1),
)


def message(type_of_message: type, kind: Kind):
    """A message that is nothing but garbage."""
    made = type_of_message()
    for name, declared in made.get_fields_and_field_types().items():
        setattr(made, name, _value(declared, getattr(made, name), kind))
    return made


def _value(declared: str, default, kind: Kind):
    if declared.startswith('sequence<'):
        inner = declared.removeprefix('sequence<').removesuffix('>').partition(',')[0]
        return [_single(inner, kind) for _ in range(kind.length)]
    if declared.endswith(']'):
        return [_single(declared.partition('[')[0], kind) for _ in range(len(default))]
    return _single(declared, kind)


def _single(declared: str, kind: Kind):
    if declared == 'builtin_interfaces/Time':
        return message_class('builtin_interfaces/msg/Time')(sec=kind.seconds)
    if '/' in declared:
        return message(message_class(declared.replace('/', '/msg/')), kind)
    if declared.startswith(('string', 'wstring')):
        return kind.text
    if declared == 'boolean':
        return bool(kind.integer % 2)
    if declared == 'double':
        return kind.number
    if declared == 'float':
        return (
            kind.number
            if math.isinf(kind.number) or math.isnan(kind.number)
            else math.copysign(1e38, kind.number)
        )
    if declared in ('octet', 'byte'):
        return bytes([kind.integer % 256])
    bits = int(declared.lstrip('uint'))
    low, high = (0, 2**bits) if declared[0] == 'u' else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    return min(max(kind.integer, low), high - 1)


class Storm:
    """Publishes and asks garbage of every node of a graph.

    Attributes:
        topics, services, actions: Those that were found, with their types.
    """

    def __init__(self, graph):
        self._graph = graph
        self.topics, self.services, self.actions = {}, {}, {}
        for name, namespace in graph.get_node_names_and_namespaces():
            if name not in graph.pids():
                continue  # of the test itself
            self.topics |= dict(graph.get_subscriber_names_and_types_by_node(name, namespace))
            self.services |= dict(graph.get_service_names_and_types_by_node(name, namespace))
            self.actions |= dict(get_action_server_names_and_types_by_node(graph, name, namespace))
        self.topics = {
            t: kinds[0] for t, kinds in self.topics.items() if t not in OTHERS and '/_' not in t
        }
        self.services = {
            s: kinds[0]
            for s, kinds in self.services.items()
            if '/_' not in s and not any(word in s for word in OF_EVERY_NODE)
        }
        self.actions = {a: kinds[0] for a, kinds in self.actions.items()}

    def publish(self) -> None:
        """Publish every kind of garbage on every topic."""
        graph = self._graph
        for topic, kind in self.topics.items():
            publisher = graph.create_publisher(
                message_class(kind),
                topic,
                QoSProfile(depth=50, durability=DurabilityPolicy.TRANSIENT_LOCAL),
            )
            graph.wait(
                lambda publisher=publisher: publisher.get_subscription_count() > 0,
                f'{topic} has a subscriber',
            )
            for one in KINDS:
                publisher.publish(message(message_class(kind), one))
            end_s = time.monotonic() + 0.3
            graph.wait(lambda end_s=end_s: time.monotonic() > end_s, 'a pause')
            graph.called(lambda publisher=publisher: graph.destroy_publisher(publisher))

    def ask(self) -> None:
        """Call every action, and services with more than a boolean, with every garbage."""
        graph = self._graph
        for name, kind in self.services.items():
            service = message_class(kind)
            fields = service.Request.get_fields_and_field_types().values()
            if all(declared in ('boolean', 'uint8') for declared in fields):
                continue  # it is what people ask for
            for one in KINDS:
                request = message(service.Request, one)
                if service is ChangeState:
                    request.transition.id = 99
                graph.call(service, name, request)
        for name, kind in self.actions.items():
            action = message_class(kind)
            for one in KINDS:
                handle, _ = graph.send_goal(action, name, message(action.Goal, one))
                if handle.accepted:
                    graph.result(graph.called(handle.cancel_goal_async), f'{name} is cancelled')
                    graph.result(graph.called(handle.get_result_async), f'{name} ends')
