"""Base classes of the nodes: rclpy's, whose parameters and QoS are set at start as `parameters` and `qos` say."""

from typing import Any

import rclpy.lifecycle
import rclpy.node
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription

from soft_arm_node_kit.qos import NamedProfile


class _WithOverrides:
    """Mixin: parameters given at start are declared, and override the policies of named QoS profiles."""

    def __init__(self, name: str, **options: Any):
        super().__init__(name, automatically_declare_parameters_from_overrides=True, **options)

    def create_publisher(
        self, msg_type: Any, topic: str, qos_profile: Any, **options: Any
    ) -> Publisher:
        if isinstance(qos_profile, NamedProfile):
            return super().create_publisher(msg_type, topic, **qos_profile.overridable(), **options)
        return super().create_publisher(msg_type, topic, qos_profile, **options)

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Any, qos_profile: Any, **options: Any
    ) -> Subscription:
        if isinstance(qos_profile, NamedProfile):
            options |= qos_profile.overridable()
            return super().create_subscription(msg_type, topic, callback, **options)
        return super().create_subscription(msg_type, topic, callback, qos_profile, **options)


class Node(_WithOverrides, rclpy.node.Node):
    """A node without a life cycle."""


class LifecycleNode(_WithOverrides, rclpy.lifecycle.LifecycleNode):
    """A node with a life cycle, such as a driver."""
