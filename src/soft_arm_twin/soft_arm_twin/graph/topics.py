"""Subscribed topics of a system, and the age of their data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from soft_arm_twin.source import Age

Delivery = Literal['stream', 'latched', 'report']


@dataclass(frozen=True)
class Topic:
    """One topic.

    Attributes:
        name: Full name.
        type_name: Type, such as `soft_arm_msgs/msg/ChamberPressures`.
        take: Callback with each message and its time of arrival, monotonic [s].
        delivery: `stream`: only the newest matters; `latched`: the publisher keeps the last;
            `report`: none may be lost.
    """

    name: str
    type_name: str
    take: Callable[[Any, float], None]
    delivery: Delivery = 'stream'


class Feed:
    """Time at which data was last received.

    Args:
        name: Displayed name.
        limit_s: Age beyond which the data is stale [s].
    """

    def __init__(self, name: str, limit_s: float):
        self.name, self.limit_s = name, limit_s
        self.received_s: float | None = None

    def age(self, now_s: float) -> Age:
        """Return the age at a monotonic time [s]."""
        age_s = None if self.received_s is None else max(now_s - self.received_s, 0.0)
        return Age(self.name, age_s, self.limit_s)
