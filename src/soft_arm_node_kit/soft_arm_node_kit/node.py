"""Base classes of the nodes: parameters given at start are declared, and override QoS policies."""

import time
from collections.abc import Sequence
from typing import Any

import rclpy.lifecycle
import rclpy.node
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from soft_arm_node_kit import qos
from soft_arm_node_kit.qos import NamedProfile


class Node(rclpy.node.Node):
    """A node whose topics with a named QoS profile take overrides; see `qos` and `parameters`.

    Attributes:
        companions: Further nodes of the process, which `runner` runs with this one.
    """

    companions: Sequence[rclpy.node.Node] = ()

    def __init__(self, name: str, **options: Any):
        super().__init__(name, automatically_declare_parameters_from_overrides=True, **options)
        # Before the callback of rclpy, which would switch the node's clock.
        self.add_on_set_parameters_callback(self._refuse_changes)

    def _refuse_changes(self, parameters: list[Parameter]) -> SetParametersResult:
        """Refuse to change or delete a parameter: clock, timers and QoS are set up at start."""
        for parameter in parameters:
            name = parameter.name
            declared = self.get_parameter_or(name, parameter)
            if (parameter.type_, parameter.value) != (declared.type_, declared.value):
                reason = f'{name} is read when the node starts: restart it with -p {name}:=..'
                return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    def now_s(self) -> float:
        """Return the time of the node's clock [s]: simulated time with `use_sim_time`."""
        return float(self.get_clock().now().nanoseconds) * 1e-9

    def steady_s(self) -> float:
        """Return the time of the node's timers [s], for time-outs.

        Simulated time with `use_sim_time`, else a steady clock.
        """
        simulated = self.get_parameter('use_sim_time').value
        return self.now_s() if simulated else time.monotonic()

    def sensor_qos(self) -> NamedProfile:
        """Return the profile of a subscription of which nothing may be lost in simulated time.

        Then it asks for a reliable publisher, as virtual rigs and replays of sensors are.
        """
        return qos.ANSWERS if self.get_parameter('use_sim_time').value else qos.SENSOR

    def create_timer(
        self,
        timer_period_sec: float,
        callback: Any,
        callback_group: Any = None,
        clock: Clock | None = None,
        autostart: bool = True,
    ) -> Timer:
        """Create a timer: in simulated time with `use_sim_time`, else on a steady clock.

        A timer of rclpy's default clock, the system's, stands for an hour when that clock is set
        back by an hour.
        """
        if clock is None and not self.get_parameter('use_sim_time').value:
            clock = Clock(clock_type=ClockType.STEADY_TIME)
        return super().create_timer(timer_period_sec, callback, callback_group, clock, autostart)

    def create_publisher(
        self, msg_type: Any, topic: str, qos_profile: Any, **options: Any
    ) -> Publisher:
        """Create a publisher; parameters may override a named profile."""
        chosen = _with_overrides(qos_profile)
        if isinstance(qos_profile, NamedProfile) and self.get_parameter('use_sim_time').value:
            # Nothing expires by the wall clock then.
            chosen['qos_profile'].deadline = chosen['qos_profile'].lifespan = Duration()
        return super().create_publisher(msg_type, topic, **chosen, **options)

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Any, qos_profile: Any, **options: Any
    ) -> Subscription:
        """Create a subscription; parameters may override a named profile."""
        return super().create_subscription(
            msg_type, topic, callback, **_with_overrides(qos_profile), **options
        )


class LifecycleNode(Node, rclpy.lifecycle.LifecycleNode):
    """A node with a life cycle, such as a driver."""


def _with_overrides(profile: Any) -> dict[str, Any]:
    if isinstance(profile, NamedProfile):
        return profile.overridable()
    return {'qos_profile': profile}
