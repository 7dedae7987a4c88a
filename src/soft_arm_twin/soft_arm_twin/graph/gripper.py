"""The pneumatic controller of a gripper in a graph: set points, triggers and chamber pressure."""

from typing import Any

from soft_arm_twin.graph.topics import Feed, Topic
from soft_arm_twin.source import Age, Value

MAX_STATE_AGE_S = 0.5


class Gripper:
    """Pneumatics of a gripper.

    Args:
        namespace: Namespace of its driver, such as `/gripper`.
    """

    def __init__(self, namespace: str):
        self.namespace, self.name = namespace, namespace.strip('/')
        self._feed, self._state = Feed(f'{self.name} state', MAX_STATE_AGE_S), None

    def topics(self) -> tuple[Topic, ...]:
        """Return the subscribed topics."""
        name = f'{self.namespace.rstrip("/")}/state'
        return (Topic(name, 'soft_arm_msgs/msg/GripperState', self._take),)

    def _take(self, message: Any, now_s: float) -> None:
        self._state, self._feed.received_s = message, now_s

    def ages(self, now_s: float) -> tuple[Age, ...]:
        """Return the age of its state."""
        return (self._feed.age(now_s),)

    def values(self) -> tuple[Value, ...]:
        """Return both set points."""
        if self._state is None:
            return ()
        group, source, s = f'{self.name} pneumatics', self._feed.name, self._state
        return (
            Value(group, 'true pressure', 1e-3 * s.true_pressure_pa, 'kPa', source=source),
            Value(group, 'positive target', 1e-3 * s.positive_target_pa, 'kPa', source=source),
            Value(group, 'negative target', 1e-3 * s.negative_target_pa, 'kPa', source=source),
        )

    def lines(self) -> tuple[str, ...]:
        """Return both triggers as text."""
        if self._state is None:
            return ('no state of the gripper received yet',)
        on = {True: 'ON', False: 'off'}
        return (
            f'positive trigger {on[self._state.positive_trigger]}',
            f'negative trigger {on[self._state.negative_trigger]}',
        )
