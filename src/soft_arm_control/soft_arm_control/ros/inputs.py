"""Subscriptions of a node that check stamps, count rates and ignore invalid messages."""

from collections.abc import Callable
from functools import partial
from typing import Any

from soft_arm_control.errors import MessageError
from soft_arm_control.ros.conversions import recent_s
from soft_arm_node_kit.diagnostics import RateMeter
from soft_arm_node_kit.node import Node

MIN_LOG_PERIOD_S = 5.0


class Inputs:
    """Inputs of a node.

    Attributes:
        rates: Rate of the usable messages of each topic.
        ignored: Number of messages that were ignored.
        fault: Reason of the last ignored message; empty without one.
    """

    def __init__(self, node: Node):
        self._node = node
        self.rates: dict[str, RateMeter] = {}
        self.ignored, self.fault = 0, ''

    def subscribe(
        self, kind: type, topic: str, use: Callable[[float, Any], None], profile: Any
    ) -> None:
        """Pass stamp [s] and message to `use`; it raises MessageError for an unusable message."""
        self.rates[topic] = RateMeter(self._node.now_s)
        self._node.create_subscription(kind, topic, partial(self._receive, topic, use), profile)

    def values(self) -> dict[str, float]:
        """Return rates [Hz] and the number of ignored messages for the diagnostics."""
        names = {topic: topic.split('/')[-1].removesuffix('_info') for topic in self.rates}
        rates = {f'{names[topic]}_hz': meter.rate_hz for topic, meter in self.rates.items()}
        return rates | {'ignored_messages': self.ignored}

    def explained(self, reason: str) -> str:
        """Append the fault to a reason for not being ready, if there are both."""
        return f'{reason}; {self.fault}' if reason and self.fault else reason

    def _receive(self, topic: str, use: Callable[[float, Any], None], message: Any) -> None:
        try:
            use(recent_s(message.header.stamp, self._node.now_s()), message)
            self.rates[topic].tick()
        except MessageError as error:
            self.ignored, self.fault = self.ignored + 1, f'{topic} ignored: {error}'
            self._node.get_logger().warning(self.fault, throttle_duration_sec=MIN_LOG_PERIOD_S)
