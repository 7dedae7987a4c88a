"""Node that spins in a thread, for tests of the graph."""

import threading

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

DEADLINE_S = 300.0


class SpinningNode:
    """Use it in a `with` statement.

    Attributes:
        node: The node; give it publishers and timers before it is entered, by `build`.
        heard: Messages by topic, of `hears`.
    """

    def __init__(
        self,
        name: str,
        namespace: str = '',
        hears: dict[str, type] | None = None,
        build=lambda node: None,
        lifecycle: bool = False,
    ):
        self._context = Context()
        rclpy.init(args=[], context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self.node = (LifecycleNode if lifecycle else Node)(
            name, namespace=namespace, context=self._context
        )
        hears = hears or {}
        self.heard, self._changed = {topic: [] for topic in hears}, threading.Condition()
        for topic, kind in hears.items():
            self.node.create_subscription(
                kind, topic, lambda message, topic=topic: self._keep(topic, message), 1000
            )
        build(self.node)

    def __enter__(self):
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._stopping.set()
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def _spin(self):
        while not self._stopping.is_set():
            self._executor.spin_once(timeout_sec=0.05)

    def _keep(self, topic, message):
        with self._changed:
            self.heard[topic].append(message)
            self._changed.notify_all()

    def wait_for(self, topic, count=1):
        """Wait until so many messages of a topic were heard."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.heard[topic]) >= count, DEADLINE_S), (
                f'{topic}: {len(self.heard[topic])} of {count}'
            )


def publisher(topic: str, kind: type, make, rate_hz: float = 50.0):
    """For `build`: publish what `make()` returns at a rate."""

    def build(node):
        out = node.create_publisher(kind, topic, 10)
        node.create_timer(1.0 / rate_hz, lambda: out.publish(make()))

    return build
