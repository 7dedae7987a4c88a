"""Messages that a node ignores: counted, and told in one log line at most every few seconds."""

import contextlib
from collections.abc import Iterator

from rclpy.node import Node

from soft_arm_control.errors import MessageError

QUIET_S = 5.0


class UnusableMessages:
    """What a node has ignored: `last` says why, empty before the first."""

    def __init__(self, node: Node):
        self._node = node
        self.last, self.count = '', 0

    @contextlib.contextmanager
    def of(self, topic: str) -> Iterator[None]:
        """Ignore the message that is being used in the `with` block if that raises MessageError."""
        try:
            yield
        except MessageError as error:
            self.last, self.count = f'{topic} ignored: {error}', self.count + 1
            self._node.get_logger().warning(self.last, throttle_duration_sec=QUIET_S)
