"""Examine the running graph: listen to it for a few seconds, and report."""

import os
import time

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock

from soft_arm_node_kit import qos
from softarm_cli.doctor.report import Diagnostic, Report, Topic, process_stat
from softarm_cli.errors import MessageTypeError
from softarm_cli.graph.message_types import message_class
from softarm_cli.graph.running_nodes import NO_ANSWER
from softarm_cli.launching.logs import last_launch, running_launches
from softarm_cli.ros.graph import Graph
from softarm_cli.ros.node_states import lifecycle_states, unresponsive_nodes

_SAMPLE_S = 2.5  # two diagnostics of each node


def examine() -> Report:
    """Listen to the graph of this ROS domain; takes 7 s, and 4 s more if nodes do not answer."""
    with Graph() as graph:
        graph.discover()
        diagnostics: dict[str, Diagnostic] = {}

        def on_diagnostics(array: DiagnosticArray) -> None:
            for status in array.status:
                level = int.from_bytes(status.level, 'little')
                diagnostics[status.name] = Diagnostic(level, status.message, status.hardware_id)

        graph.node.create_subscription(
            DiagnosticArray,
            '/diagnostics',
            on_diagnostics,
            QoSProfile(depth=100),  # all nodes report at the same time
        )
        nodes, types = graph.nodes(), graph.topics()
        expected: dict[str, float] = {}
        for system, namespace in Report(nodes, {}, [], [], {}, [], None).systems():
            expected |= system.expected_rates_hz(namespace, types)
        # What nobody publishes has no rate: that its node is missing is reported.
        expected = {n: hz for n, hz in expected.items() if n in types and graph.publishers(n)}
        arrivals_s: dict[str, list[float]] = {name: [] for name in expected}
        for name in expected:
            _listen(graph, name, types[name], arrivals_s[name])
        simulated_s: list[float] = []  # times of /clock, where it runs
        graph.node.create_subscription(
            Clock,
            '/clock',
            lambda message: simulated_s.append(message.clock.sec + 1e-9 * message.clock.nanosec),
            qos.SENSOR,
        )
        before_s = {node.pid: _cpu_s(node.pid) for node in nodes if node.pid}
        graph.spin(_SAMPLE_S)
        busy = {pid: (_cpu_s(pid) - used_s) / _SAMPLE_S for pid, used_s in before_s.items()}
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
    domain = int(os.environ.get('ROS_DOMAIN_ID') or 0)
    launches = running_launches(domain)
    return Report(nodes, states, unresponsive, topics, diagnostics, launches, last_launch(), busy)


def _listen(graph: Graph, name: str, kind: str, arrivals_s: list[float]) -> None:
    try:
        message = message_class(kind)
    except MessageTypeError:
        return  # listed without a rate
    graph.node.create_subscription(
        message, name, lambda _: arrivals_s.append(time.monotonic()), qos.SENSOR, raw=True
    )


def _rate_hz(arrivals_s: list[float], simulated_s: list[float]) -> float | None:
    """Return the rate of a topic, in simulated time where that goes on."""
    if len(arrivals_s) < 2:
        return None
    if len(simulated_s) > 1 and simulated_s[-1] > simulated_s[0]:
        return len(arrivals_s) / (simulated_s[-1] - simulated_s[0])
    return (len(arrivals_s) - 1) / (arrivals_s[-1] - arrivals_s[0])


def _cpu_s(pid: int) -> float:
    """Return the processor time that a process has used [s]."""
    fields = process_stat(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK') if fields else 0.0
