"""For component tests: a node that spins in a thread while the test waits for messages."""

import threading
from collections.abc import Callable
from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

DEADLINE_S = 300.0


class SpinningNode(Node):
    """Create everything, then `spin`; callbacks notify `changed`; `close` at the end."""

    def __init__(self, name: str, namespace: str) -> None:
        super().__init__(name, namespace=namespace)
        self.changed = threading.Condition()
        self._stopping = threading.Event()
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self)
        self._thread = threading.Thread(target=self._spin)

    def spin(self) -> None:
        """Start the thread."""
        self._thread.start()

    def _spin(self) -> None:
        while not self._stopping.is_set():
            self._executor.spin_once(timeout_sec=0.1)
            with self.changed:
                self.changed.notify_all()

    def wait(self, condition: Callable[[], object], what: str) -> None:
        """Wait until `condition()` is true; `what` names it when the deadline passes."""
        with self.changed:
            assert self.changed.wait_for(condition, DEADLINE_S), what

    def called(self, request: Callable[[], Any]) -> Any:
        """Return the future of `request()`, an action's request made in the executor's thread.

        Made in another thread, its response may arrive before rclpy knows the future, and is lost.
        """
        made = self._executor.create_task(request)
        self.wait(made.done, 'the request is sent')
        return made.result()

    def close(self) -> None:
        """End the thread and destroy the node."""
        self._stopping.set()
        self._thread.join()
        self._executor.shutdown()
        self.destroy_node()
