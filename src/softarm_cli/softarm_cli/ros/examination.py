"""Examination of the running graph for a few seconds."""

import os
import time
from fnmatch import filter as matching

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock

from soft_arm_node_kit import qos
from soft_arm_node_kit.messages import seconds
from soft_arm_node_kit.node_names import domain_of
from softarm_cli.doctor.report import Diagnostic, Report, Topic
from softarm_cli.doctor.systems import systems_of
from softarm_cli.errors import MessageTypeError
from softarm_cli.graph.message_types import message_class
from softarm_cli.graph.running_nodes import NO_ANSWER
from softarm_cli.launching.logs import last_launch, running_launches
from softarm_cli.ros.graph import Graph
from softarm_cli.ros.node_states import lifecycle_states, unresponsive_nodes

_SAMPLE_S = 2.5  # at least two diagnostics of each node


def examine() -> Report:
    """Listen to the graph of this ROS domain; takes 7 s, and 4 s more if nodes do not answer."""
    with Graph() as graph:
        graph.discover()
        diagnostics: dict[str, Diagnostic] = {}

        def on_diagnostics(array: DiagnosticArray) -> None:
            for status in array.status:
                values = {pair.key: pair.value for pair in status.values}
                diagnostics[f'/{status.name}'] = Diagnostic(
                    int.from_bytes(status.level, 'little'),
                    status.message,
                    status.hardware_id,
                    values.get('remedy', ''),
                    values.get('idle') == 'True',
                )

        graph.node.create_subscription(
            DiagnosticArray,
            '/diagnostics',
            on_diagnostics,
            QoSProfile(depth=100),  # all nodes report at the same time
        )
        nodes, types = graph.nodes(), graph.topics()
        expected = {
            topic: rate_hz
            for system, namespace in systems_of({node.name for node in nodes})
            for name, rate_hz in system.rates_hz.items()
            for topic in matching(types, name if name[0] == '/' else f'{namespace}/{name}')
            if graph.publishers(topic)  # else the missing node is reported
        }
        arrivals_s: dict[str, list[float]] = {name: [] for name in expected}
        for name in expected:
            _listen(graph, name, types[name], arrivals_s[name])
        simulated_s: list[float] = []
        graph.node.create_subscription(
            Clock,
            '/clock',
            lambda message: simulated_s.append(seconds(message.clock)),
            qos.SENSOR,
        )
        graph.spin(_SAMPLE_S)
        topics = [
            Topic(
                name,
                _rate_hz(arrivals_s[name], simulated_s),
                rate_hz,
                tuple(graph.publishers(name)),
            )
            for name, rate_hz in sorted(expected.items())
        ]
        states = lifecycle_states(graph)
        silent = {name for name, state in states.items() if state == NO_ANSWER}
        unresponsive = sorted(silent.union(unresponsive_nodes(graph)))
    launches = running_launches(domain_of(os.environ))
    return Report(nodes, states, unresponsive, topics, diagnostics, launches, last_launch())


def _listen(graph: Graph, name: str, kind: str, arrivals_s: list[float]) -> None:
    try:
        message = message_class(kind)
    except MessageTypeError:
        return  # listed without a rate
    graph.node.create_subscription(
        message, name, lambda _: arrivals_s.append(time.monotonic()), qos.SENSOR, raw=True
    )


def _rate_hz(arrivals_s: list[float], simulated_s: list[float]) -> float | None:
    """Return the rate of a topic, in simulated time where it advances."""
    if len(arrivals_s) < 2:
        return None
    if len(simulated_s) > 1 and simulated_s[-1] > simulated_s[0]:
        return len(arrivals_s) / (simulated_s[-1] - simulated_s[0])
    return (len(arrivals_s) - 1) / (arrivals_s[-1] - arrivals_s[0])
