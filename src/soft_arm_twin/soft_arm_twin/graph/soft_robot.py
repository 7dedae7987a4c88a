"""Soft robot in a graph: configuration, pressures, target, and tip pose measured by vision."""

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from soft_arm_description.poses import PoseError, tracked_pose
from soft_arm_description.robot import Robot
from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.segments.sections import arc_sections
from soft_arm_twin.graph.frames import LatestFrames
from soft_arm_twin.graph.topics import Feed, Topic
from soft_arm_twin.parts.joint_shape import JointShape
from soft_arm_twin.source import Age, Series, Value

MAX_JOINTS_AGE_S = MAX_PRESSURES_AGE_S = MAX_TIP_AGE_S = 0.5


class SoftRobot:
    """Soft robot with a robot file.

    Args:
        namespace: Namespace of its nodes, such as `/soft_arm`.
        robot: The robot file.
        frames: Transforms of the graph.
        name: Displayed name; robots of one namespace have different names.

    Attributes:
        shape: Converts joints to poses.
        joints: Values of the joints of its URDF [rad, m], (n,); None before the first.
        preview: Joints of a proposed configuration, (n,), or None.
        vision: Measured tip in the base frame: pose (4, 4), covariance (3, 3) [m^2].
        target_m: Target of the controller in the base frame [m], (3,).
        pressures_pa, commands_pa: Measured and commanded pressures [Pa] by chamber.
        pressures_stamp: Stamp of the newest measured pressures, on the driver's clock, or None.
        commander, command_received_s: Source and time of the last command, monotonic [s].
    """

    def __init__(self, namespace: str, robot: Robot, frames: LatestFrames, name: str = ''):
        self.namespace, self.robot, self.name = namespace, robot, name or namespace.strip('/')
        self._frames = frames
        self.shape = JointShape(robot)
        self._joints_feed = Feed(f'{self.name} joint_states', MAX_JOINTS_AGE_S)
        self._pressures_feed = Feed(f'{self.name} pressures', MAX_PRESSURES_AGE_S)
        self._tip_feed = Feed(f'{self.name} tip_pose', MAX_TIP_AGE_S)
        self.joints: np.ndarray | None = None
        self.preview: np.ndarray | None = None
        self.vision: tuple[np.ndarray, np.ndarray] | None = None
        self.target_m: np.ndarray | None = None
        self.pressures_pa: dict[str, float] = {}
        self.pressures_stamp: Any = None
        self.commands_pa: dict[str, float] = {}
        self.commander, self.command_received_s = '', -np.inf

    @property
    def is_arm(self) -> bool:
        """True if its tip can be moved to a target: it has more than one chamber."""
        return len(self.robot.chambers) > 1

    @property
    def shape_source(self) -> str:
        """Name of the age of its joint states."""
        return self._joints_feed.name

    @property
    def vision_source(self) -> str:
        """Name of the age of its measured tip pose."""
        return self._tip_feed.name

    def topics(self) -> tuple[Topic, ...]:
        """Return the subscribed topics."""
        at = self.namespace.rstrip('/')
        pressures = 'soft_arm_msgs/msg/ChamberPressures'
        pose = 'geometry_msgs/msg/PoseWithCovarianceStamped'
        found = [Topic(f'{at}/joint_states', 'sensor_msgs/msg/JointState', self._take_joints)]
        if self.robot.chambers:
            found += [
                Topic(f'{at}/pressures', pressures, self._take_pressures),
                Topic(f'{at}/pressure_command', pressures, self._take_command),
            ]
        if self.is_arm:
            found += [
                Topic(f'{at}/tip_pose', pose, self._take_tip),
                Topic(
                    f'{at}/target', 'visualization_msgs/msg/Marker', self._take_target, 'latched'
                ),
            ]
        return tuple(found)

    def _take_joints(self, message: Any, now_s: float) -> None:
        values = self.shape.model.values_of(dict(zip(message.name, message.position, strict=False)))
        if values is not None:
            self.joints, self._joints_feed.received_s = values, now_s

    def _take_pressures(self, message: Any, now_s: float) -> None:
        self.pressures_pa = self._by_chamber(message)
        self.pressures_stamp, self._pressures_feed.received_s = message.header.stamp, now_s

    def _take_command(self, message: Any, now_s: float) -> None:
        self.commands_pa = self._by_chamber(message)
        self.commander, self.command_received_s = message.source, now_s

    def _by_chamber(self, message: Any) -> dict[str, float]:
        given = dict(zip(message.names, message.pressures_pa, strict=False))
        return {
            name: float(given[name])
            for name in self.robot.chambers
            if name in given and np.isfinite(given[name])
        }

    def _take_tip(self, message: Any, now_s: float) -> None:
        covariance_m2 = np.reshape(message.pose.covariance, (6, 6))[:3, :3]
        if np.isfinite(covariance_m2).all():
            with contextlib.suppress(PoseError):
                self.vision = tracked_pose(message.pose.pose), covariance_m2
                self._tip_feed.received_s = now_s

    def _take_target(self, message: Any, _now_s: float) -> None:
        p = message.pose.position
        self.target_m = np.array([p.x, p.y, p.z])

    def base_pose(self) -> np.ndarray:
        """Return the pose of its base in the world, (4, 4); from its file before it is received."""
        received = self._frames.pose(self.robot.base.frame)
        return base_of_file(self.robot) if received is None else received

    def joints_of_arcs(
        self, theta_rad: Sequence[float], phi_rad: Sequence[float], ell_m: Sequence[float]
    ) -> np.ndarray:
        """Return the joints (n,) of arcs: bend, direction and length of each segment, (s,)."""
        segments = zip(self.robot.segments, theta_rad, phi_rad, ell_m, strict=True)
        return np.concatenate(
            [
                arc_sections(theta, phi, ell, s.sections, s.closing_twist)
                for s, theta, phi, ell in segments
            ]
        )

    def ages(self, now_s: float) -> tuple[Age, ...]:
        """Return the ages of the joint states and of all other received data."""
        rest = (self._pressures_feed, self._tip_feed)
        feeds = [self._joints_feed, *(feed for feed in rest if feed.received_s is not None)]
        return tuple(feed.age(now_s) for feed in feeds)

    def tip_m(self) -> np.ndarray | None:
        """Return the tip by the model in the base frame [m], (3,)."""
        return None if self.joints is None else self.shape.tip_pose(self.joints)[:3, 3]

    def values(self) -> tuple[Value, ...]:
        """Return its tip, its distances and its pressures."""
        tip_m, group = self.tip_m(), self.name
        seen_m = None if self.vision is None else self.vision[0][:3, 3]
        model, vision = self.shape_source, self.vision_source
        found = [
            Value(group, f'tip {axis} by model', _mm(tip_m, i), 'mm', source=model)
            for i, axis in enumerate('xyz')
        ]
        if self.is_arm:
            found += [
                Value(group, f'tip {axis} by vision', _mm(seen_m, i), 'mm', source=vision)
                for i, axis in enumerate('xyz')
            ]
            distance, error = _distance_mm(tip_m, seen_m), self.tip_error_mm()
            found.append(Value(group, 'model to vision', distance, 'mm', source=vision))
            found.append(Value(group, 'tip to target', error, 'mm', source=vision))
        for name, (low, high) in zip(
            self.robot.chambers, self.robot.pressure_limits_pa.T * 1e-3, strict=True
        ):
            measured, asked = self.pressures_pa.get(name), self.commands_pa.get(name)
            found.append(
                Value(
                    f'{group} pressures',
                    name,
                    _kpa(measured),
                    'kPa',
                    _kpa(asked),
                    float(low),
                    float(high),
                    self._pressures_feed.name,
                )
            )
        return tuple(found)

    def tip_error_mm(self) -> float | None:
        """Return the distance of the tip, by vision or else by the model, from the target [mm]."""
        seen_m = self.tip_m() if self.vision is None else self.vision[0][:3, 3]
        return _distance_mm(seen_m, self.target_m)

    def plots(self) -> tuple[Series, ...]:
        """Return the newest points of its running plots."""
        found = []
        received_s, plot = self._pressures_feed.received_s, f'{self.name}: pressures'
        if received_s is not None:
            for name in self.robot.chambers:
                at_pa, asked_pa = self.pressures_pa.get(name), self.commands_pa.get(name)
                found.append(Series(plot, name, 'kPa', received_s, _kpa(at_pa)))
                found.append(Series(plot, f'{name} set point', 'kPa', received_s, _kpa(asked_pa)))
        if received_s is not None and self.robot.chambers:
            low_pa, high_pa = self.robot.pressure_limits_pa
            for name, limit_pa in (('upper limit', high_pa.max()), ('lower limit', low_pa.min())):
                found.append(Series(plot, name, 'kPa', received_s, 1e-3 * float(limit_pa)))
        error_mm, seen_s = self.tip_error_mm(), self._tip_feed.received_s
        if error_mm is not None and seen_s is not None:
            found.append(Series(f'{self.name}: tip to target', 'error', 'mm', seen_s, error_mm))
        return tuple(found)


def base_of_file(robot: Robot) -> np.ndarray:
    """Return the pose (4, 4) of a robot's base in its parent frame, by its file."""
    return Arm(robot).base_pose


def _mm(point_m: np.ndarray | None, i: int) -> float | None:
    return None if point_m is None else 1e3 * float(point_m[i])


def _distance_mm(a_m: np.ndarray | None, b_m: np.ndarray | None) -> float | None:
    return None if a_m is None or b_m is None else 1e3 * float(np.linalg.norm(a_m - b_m))


def _kpa(pressure_pa: float | None) -> float | None:
    return None if pressure_pa is None else 1e-3 * pressure_pa
