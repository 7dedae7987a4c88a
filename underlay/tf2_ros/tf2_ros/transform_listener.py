"""Fills a buffer from /tf and /tf_static."""

import contextlib
import threading

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage


class TransformListener:
    """Subscriber to /tf and /tf_static; with `spin_thread` it spins the node in a thread."""

    def __init__(self, buffer, node, *, spin_thread=False, qos=None, static_qos=None):
        self.buffer, self.node = buffer, node
        latched = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        # Reentrant: a callback that waits for a transform must not keep the transforms out.
        self.group = ReentrantCallbackGroup()
        self.tf_sub = node.create_subscription(
            TFMessage,
            '/tf',
            self._on_tf,
            QoSProfile(depth=100) if qos is None else qos,
            callback_group=self.group,
        )
        self.tf_static_sub = node.create_subscription(
            TFMessage,
            '/tf_static',
            self._on_tf_static,
            latched if static_qos is None else static_qos,
            callback_group=self.group,
        )
        self.executor = self.dedicated_listener_thread = None
        if spin_thread:
            self.executor = SingleThreadedExecutor(context=node.context)
            self.executor.add_node(node)
            self.dedicated_listener_thread = threading.Thread(target=self._spin, daemon=True)
            self.dedicated_listener_thread.start()

    def unregister(self):
        """Stop listening."""
        if self.executor is not None:
            self.executor.shutdown()
            self.dedicated_listener_thread.join()
        self.node.destroy_subscription(self.tf_sub)
        self.node.destroy_subscription(self.tf_static_sub)

    def _spin(self):
        with contextlib.suppress(ExternalShutdownException):  # the context may end first
            self.executor.spin()

    def _on_tf(self, message):
        for transform in message.transforms:
            self.buffer.set_transform(transform, 'default_authority')

    def _on_tf_static(self, message):
        for transform in message.transforms:
            self.buffer.set_transform_static(transform, 'default_authority')
