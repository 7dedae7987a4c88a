"""A node that spins in a thread of its own while a test waits for what it hears."""

import threading

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

DEADLINE_S = 60.0


class SpinningNode(Node):
    """`spin` when all is created; `changed` tells after every callback, `close` at the end."""

    def __init__(self, name, namespace):
        super().__init__(name, namespace=namespace)
        self.changed, self._stopping, self._executor = (
            threading.Condition(),
            threading.Event(),
            SingleThreadedExecutor(),
        )
        self._executor.add_node(self)
        self._thread = threading.Thread(target=self._spin)

    def spin(self):
        self._thread.start()

    def _spin(self):
        while not self._stopping.is_set():
            self._executor.spin_once(timeout_sec=0.1)
            with self.changed:
                self.changed.notify_all()

    def wait(self, condition, what):
        with self.changed:
            assert self.changed.wait_for(condition, DEADLINE_S), what

    def called(self, request):
        """The future of a request of an action, made where the executor spins: elsewhere an answer may overtake it, and is dropped."""
        made = self._executor.create_task(request)
        self.wait(made.done, 'the request is sent')
        return made.result()

    def close(self):
        self._stopping.set()
        self._thread.join()
        self._executor.shutdown()
        self.destroy_node()
