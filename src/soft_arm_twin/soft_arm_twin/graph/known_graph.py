"""State of a ROS graph: systems, transforms, diagnostics and events."""

from collections.abc import Callable
from typing import Any

from soft_arm_description.assembly import Assembly
from soft_arm_description.assembly_frames import robots_with_frames
from soft_arm_description.robot import Robot
from soft_arm_description.world import World
from soft_arm_twin.graph.frames import LatestFrames
from soft_arm_twin.graph.gripper import Gripper
from soft_arm_twin.graph.health import Health
from soft_arm_twin.graph.industrial_robot import IndustrialRobot
from soft_arm_twin.graph.journal import Journal
from soft_arm_twin.graph.soft_robot import SoftRobot
from soft_arm_twin.graph.topics import Topic
from soft_arm_twin.source import Age, Diagnostic, Series, TextBlock, Value

NOTHING = TextBlock(
    'Nothing runs yet',
    (
        'Start a rig: softarm launch launch/sim.launch.xml',
        'Robots in ROS domain ROS_DOMAIN_ID appear here when they start.',
    ),
)


class KnownGraph:
    """Systems of a graph. One thread changes it, others may read it.

    Args:
        clock: Time of the graph since 1970 [s].

    Attributes:
        version: Number of systems added so far.
        journal: Events.
        frames: Transforms.
        health: Diagnostics.
        soft_robots, industrial_robots, grippers: Systems, in the order of their discovery.
        assemblies: Assemblies with their worlds.
    """

    def __init__(self, clock: Callable[[], float]):
        self.version = 0
        self.journal, self.frames = Journal(clock), LatestFrames()
        self.health = Health(self.journal)
        self.soft_robots: list[SoftRobot] = []
        self.industrial_robots: list[IndustrialRobot] = []
        self.grippers: list[Gripper] = []
        self.assemblies: list[tuple[Assembly, World]] = []

    def add_robot(self, namespace: str, robot: Robot) -> SoftRobot:
        """Add a robot with its namespace."""
        self.soft_robots.append(SoftRobot(namespace, robot, self.frames))
        self.version += 1
        return self.soft_robots[-1]

    def add_assembly(self, namespace: str, assembly: Assembly, world: World) -> list[SoftRobot]:
        """Add the robots of an assembly, which use the topics of one namespace."""
        added = [
            SoftRobot(namespace, robot, self.frames, f'{namespace.strip("/")}/{name}')
            for name, robot in robots_with_frames(assembly).items()
        ]
        self.soft_robots = [*self.soft_robots, *added]
        self.assemblies = [*self.assemblies, (assembly, world)]
        self.version += 1
        return added

    def add_industrial_robot(self, namespace: str) -> IndustrialRobot:
        """Add an industrial robot with its controller."""
        self.industrial_robots.append(IndustrialRobot(namespace, self.journal))
        self.version += 1
        return self.industrial_robots[-1]

    def add_gripper(self, namespace: str) -> Gripper:
        """Add the pneumatics of a gripper."""
        self.grippers.append(Gripper(namespace))
        self.version += 1
        return self.grippers[-1]

    def _systems(self) -> tuple[SoftRobot | IndustrialRobot | Gripper, ...]:
        return (*self.soft_robots, *self.industrial_robots, *self.grippers)

    def topics(self) -> tuple[Topic, ...]:
        """Return all subscribed topics; systems may have topics in common."""
        tf = 'tf2_msgs/msg/TFMessage'
        return (
            Topic('/tf', tf, self._take_transforms, 'report'),
            Topic('/tf_static', tf, self._take_transforms, 'latched'),
            *self.health.topics(),
            *(topic for system in self._systems() for topic in system.topics()),
        )

    def _take_transforms(self, message: Any, _now_s: float) -> None:
        self.frames.take(message)

    def values(self) -> tuple[Value, ...]:
        """Return the numbers of all systems."""
        found = (value for system in self._systems() for value in system.values())
        return (*found, *self.health.values())

    def ages(self, now_s: float) -> tuple[Age, ...]:
        """Return the ages of all data."""
        ages = {age.name: age for system in self._systems() for age in system.ages(now_s)}
        return tuple(ages.values())

    def diagnostics(self, now_s: float) -> tuple[Diagnostic, ...]:
        """Return one line for each node, the worst first."""
        return self.health.diagnostics(now_s)

    def plots(self) -> tuple[Series, ...]:
        """Return the newest points of all running plots."""
        return tuple(series for robot in self.soft_robots for series in robot.plots())

    def texts(self) -> tuple[TextBlock, ...]:
        """Return the states as text."""
        if not self._systems():
            return (NOTHING,)
        systems: tuple[IndustrialRobot | Gripper, ...] = (*self.industrial_robots, *self.grippers)
        return tuple(TextBlock(system.name, system.lines()) for system in systems)
