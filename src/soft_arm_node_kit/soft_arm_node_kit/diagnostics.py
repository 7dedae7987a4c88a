"""Diagnostics of a node: one status at 1 Hz on /diagnostics, and measured rates."""

import os
import socket
import time
from collections import deque
from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

from soft_arm_node_kit import qos

OK = DiagnosticStatus.OK
WARN = DiagnosticStatus.WARN
ERROR = DiagnosticStatus.ERROR
STALE = DiagnosticStatus.STALE


class Reporter:
    """Publishes a node's status once a second of the wall clock, also while simulated time stands.

    Args:
        node: The node.
        hardware_id: Device or robot that the node serves.
        status: Returns level, message and values by name, with the unit in the name. The value
            `ready` is False while the node cannot do its work although nothing is wrong: it still
            compiles, or waits for another node; `remedy` is what the user can do about the message.
            `pid` and `host` are added, which distinguish two processes with one node name.
    """

    def __init__(self, node: Node, hardware_id: str, status: Callable[[], tuple[bytes, str, dict]]):
        self._node, self._hardware_id, self._status = node, hardware_id, status
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', qos.STATE)
        self._timer = node.create_timer(
            1.0, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def _publish(self) -> None:
        level, message, values = self._status()
        values = {**values, 'pid': os.getpid(), 'host': socket.gethostname()}
        status = DiagnosticStatus(
            level=level,
            name=self._node.get_fully_qualified_name().lstrip('/'),
            message=message,
            hardware_id=self._hardware_id,
            values=[
                KeyValue(key=k, value=f'{v:.6g}' if isinstance(v, float) else str(v))
                for k, v in values.items()
            ],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)


class RateMeter:
    """Rate of events over the last `window_s` seconds of a clock.

    Args:
        clock: Returns the present time [s]; a node passes its own `now_s`.
        window_s: Time over which events are counted [s].
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, window_s: float = 2.0):
        self._clock, self._window_s = clock, window_s
        self._times_s: deque[float] = deque()

    def tick(self) -> None:
        """Count one event now."""
        self._times_s.append(self._clock())

    @property
    def rate_hz(self) -> float:
        """Events per second [Hz]; 0 if there was none within the window."""
        now_s = self._clock()
        if self._times_s and now_s < self._times_s[-1]:
            self._times_s.clear()  # simulated time has restarted
        while self._times_s and now_s - self._times_s[0] > self._window_s:
            self._times_s.popleft()
        return len(self._times_s) / self._window_s

    @property
    def age_s(self) -> float | None:
        """Time since the last event [s]; None if there was none within the window."""
        return self._clock() - self._times_s[-1] if self._times_s else None
