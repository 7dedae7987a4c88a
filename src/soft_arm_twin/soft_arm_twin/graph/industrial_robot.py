"""An industrial robot in a graph: its controller's state and events; its links move by tf."""

from typing import Any

import numpy as np

from soft_arm_twin.errors import TwinError
from soft_arm_twin.graph.journal import Journal
from soft_arm_twin.graph.topics import Feed, Topic
from soft_arm_twin.parts.urdf_model import UrdfModel
from soft_arm_twin.source import Age, Level, Value

MAX_JOINTS_AGE_S = 1.0
_LEVELS: dict[int, Level] = {1: 'info', 2: 'warning', 3: 'error'}


class IndustrialRobot:
    """Industrial robot with its controller.

    Args:
        namespace: Namespace of its bridge, such as `/abb`.
        journal: Receives the event log of the controller.

    Attributes:
        model: Robot description; None before it is received.
        state: Newest `soft_arm_msgs/msg/ControllerState`, or None.
        joints_rad: Joint angles by name.
    """

    def __init__(self, namespace: str, journal: Journal):
        self.namespace, self.name = namespace, namespace.strip('/')
        self._journal, self._joints_feed = journal, Feed(f'{self.name} joints', MAX_JOINTS_AGE_S)
        self.model: UrdfModel | None = None
        self.state, self.joints_rad = None, dict[str, float]()

    @property
    def source(self) -> str:
        """Name of the age of its joint states."""
        return self._joints_feed.name

    def topics(self) -> tuple[Topic, ...]:
        """Return the subscribed topics."""
        at, own = self.namespace.rstrip('/'), 'soft_arm_msgs/msg'
        return (
            Topic(f'{at}/joint_states', 'sensor_msgs/msg/JointState', self._take_joints),
            Topic(f'{at}/robot_description', 'std_msgs/msg/String', self._take_urdf, 'latched'),
            Topic(f'{at}/controller_state', f'{own}/ControllerState', self._take_state, 'latched'),
            Topic(f'{at}/event_log', f'{own}/ControllerEvent', self._take_event, 'report'),
        )

    def _take_joints(self, message: Any, now_s: float) -> None:
        values = [float(v) for v in message.position]
        if np.isfinite(values).all():
            self.joints_rad = dict(zip(message.name, values, strict=False))
            self._joints_feed.received_s = now_s

    def _take_urdf(self, message: Any, _now_s: float) -> None:
        try:
            self.model = UrdfModel(message.data)
        except TwinError as error:
            self._journal.add('error', self.name, str(error))

    def _take_state(self, message: Any, _now_s: float) -> None:
        self.state = message

    def _take_event(self, message: Any, _now_s: float) -> None:
        stamp_s = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        level, text = _LEVELS.get(message.level, 'info'), f'{message.code} {message.title}'
        self._journal.add(level, f'{self.name} controller', text, stamp_s)

    def ages(self, now_s: float) -> tuple[Age, ...]:
        """Return the ages of its data."""
        return (self._joints_feed.age(now_s),)

    def values(self) -> tuple[Value, ...]:
        """Return joint angles and speed."""
        found = [
            Value(self.name, name, float(np.degrees(angle)), 'deg', source=self.source)
            for name, angle in self.joints_rad.items()
        ]
        if self.state is not None and np.isfinite(self.state.speed_ratio):
            found.append(Value(self.name, 'speed', 100.0 * self.state.speed_ratio, '%'))
        return tuple(found)

    def lines(self) -> tuple[str, ...]:
        """Return the state of the controller as text."""
        if self.state is None:
            return ('no state of the controller received yet',)
        s = self.state
        running = 'runs' if s.program_running else 'is stopped'
        lines = (
            f'link {s.link or "unknown"}; controller {s.control_state or "unknown"}',
            f'mode {s.operation_mode or "unknown"}; the program {running}',
        )
        return (*lines, s.error) if s.error else lines
