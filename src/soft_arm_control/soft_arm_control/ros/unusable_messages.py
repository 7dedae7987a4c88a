"""Count the messages that a node ignores, and log the reason at most every few seconds."""

import contextlib
from collections.abc import Iterator

from rclpy.node import Node

from soft_arm_control.errors import MessageError

QUIET_S = 5.0  # shortest time between two log lines


class UnusableMessages:
    """Ignored messages of a node: their `count`, and the reason of the `last` one or empty."""

    def __init__(self, node: Node):
        self._node = node
        self.last = ''
        self.count = 0

    @contextlib.contextmanager
    def of(self, topic: str) -> Iterator[None]:
        """Ignore the message of a topic if the `with` block raises MessageError."""
        try:
            yield
        except MessageError as error:
            self.last = f'{topic} ignored: {error}'
            self.count += 1
            self._node.get_logger().warning(self.last, throttle_duration_sec=QUIET_S)
