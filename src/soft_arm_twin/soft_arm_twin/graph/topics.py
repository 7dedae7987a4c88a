"""Topics that a system listens to, and how old what it heard is."""

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
        take: Is called with each message and its time of arrival [s], monotonic.
        delivery: `stream`: the newest counts; `latched`: its publisher keeps the last; `report`:
            none may be lost.
    """

    name: str
    type_name: str
    take: Callable[[Any, float], None]
    delivery: Delivery = 'stream'


class Feed:
    """Remembers when something was last heard.

    Args:
        name: What it is, for people.
        limit_s: Age beyond which it is out of date [s].
    """

    def __init__(self, name: str, limit_s: float):
        self.name, self.limit_s = name, limit_s
        self.heard_s: float | None = None

    def age(self, now_s: float) -> Age:
        """Return its age at a monotonic time [s]."""
        age_s = None if self.heard_s is None else max(now_s - self.heard_s, 0.0)
        return Age(self.name, age_s, self.limit_s)
