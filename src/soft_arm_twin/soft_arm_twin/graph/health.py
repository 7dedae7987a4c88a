"""Diagnostics and log of all nodes."""

import math
from typing import Any

from soft_arm_twin.graph.journal import Journal
from soft_arm_twin.graph.topics import Topic
from soft_arm_twin.source import Diagnostic, Level, Value

MAX_REPORT_AGE_S = 3.5  # nodes report once a second
_LEVELS: dict[int, Level] = {0: 'info', 1: 'warning', 2: 'error', 3: 'warning'}
# Heading, label, unit and scale of the values that the page shows, by their keys.
_SHOWN = {
    'round_trip_s': ('Latencies', 'round trip', 'ms', 1e3),
    'joint_age_s': ('Latencies', 'joint age', 'ms', 1e3),
    'image_to_command_p50_s': ('Latencies', 'image to command p50', 'ms', 1e3),
    'image_to_command_p99_s': ('Latencies', 'image to command p99', 'ms', 1e3),
    'gain_margin': ('Tip loop', 'gain margin', '', 1.0),
    'phase_margin_deg': ('Tip loop', 'phase margin', 'deg', 1.0),
    'payload_estimate_kg': ('Tip loop', 'payload estimate', 'g', 1e3),
    'payload_deviation_kg': ('Tip loop', 'payload standard deviation', 'g', 1e3),
}
_LOG_WARNING, _LOG_ERROR = 30, 40  # of rcl_interfaces/msg/Log


class Health:
    """Newest diagnostics of every node.

    Args:
        journal: Receives the log of the nodes.
    """

    def __init__(self, journal: Journal):
        self._journal = journal
        self._statuses: dict[str, tuple[float, Any]] = {}

    def topics(self) -> tuple[Topic, ...]:
        """Return the subscribed topics."""
        return (
            Topic('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray', self._take, 'report'),
            Topic('/rosout', 'rcl_interfaces/msg/Log', self._take_log, 'report'),
        )

    def _take(self, message: Any, now_s: float) -> None:
        for status in message.status:
            self._statuses[status.name] = now_s, status

    def _take_log(self, message: Any, _now_s: float) -> None:
        level: Level = 'info'
        if message.level >= _LOG_WARNING:
            level = 'error' if message.level >= _LOG_ERROR else 'warning'
        stamp_s = message.stamp.sec + 1e-9 * message.stamp.nanosec
        self._journal.add(level, message.name, message.msg, stamp_s)

    def diagnostics(self, now_s: float) -> tuple[Diagnostic, ...]:
        """Return one line for each node, the worst first."""
        found = []
        for name, (received_s, status) in self._statuses.items():
            if now_s - received_s > MAX_REPORT_AGE_S:
                text = f'silent for {now_s - received_s:.0f} s'
                found.append(Diagnostic('error', name, text, 'it ended or hangs: softarm doctor'))
                continue
            remedy = next((pair.value for pair in status.values if pair.key == 'remedy'), '')
            level = _LEVELS[int.from_bytes(status.level, 'little')]
            found.append(Diagnostic(level, name, status.message, remedy))
        order = ('error', 'warning', 'info')
        return tuple(sorted(found, key=lambda d: (order.index(d.level), d.name)))

    def hardware_ids(self) -> dict[str, str]:
        """Return the devices or robots served, by the node's name without its leading slash."""
        return {name: status.hardware_id for name, (_, status) in self._statuses.items()}

    def values(self) -> tuple[Value, ...]:
        """Return the latencies that nodes report, and the values of the tip loop."""
        found = []
        for name, (_, status) in sorted(self._statuses.items()):
            for pair in status.values:
                if pair.key in _SHOWN and (value := _number(pair.value)) is not None:
                    group, label, unit, scale = _SHOWN[pair.key]
                    found.append(Value(group, f'{name} {label}', scale * value, unit))
        return tuple(found)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
