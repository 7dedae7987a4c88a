"""Robots of an assembly in a world, simulated in real time and driven by name."""

from collections.abc import Iterable

import numpy as np

from soft_arm_description.assembly import Assembly
from soft_arm_description.assembly_frames import robots_with_frames
from soft_arm_description.segments import TendonSegment
from soft_arm_description.world import World
from soft_arm_physics import PhysicsError, Simulation
from soft_arm_sim.real_time import RealTimeSimulation


class RunningSimulation(RealTimeSimulation):
    """Simulation in real time; every method is thread-safe.

    Args:
        assembly: The robots and their mounts.
        world: Their surroundings.
        time_step_s: Time step [s].

    Attributes:
        robots: The robots by their names in the assembly, with the frames that it gives them.

    Raises:
        PhysicsError: If it cannot be simulated, or two robots have tendon segments of one name.
    """

    def __init__(self, assembly: Assembly, world: World, time_step_s: float = 0.001):
        self.robots = robots_with_frames(assembly)
        super().__init__(Simulation(assembly, world, time_step_s=time_step_s))
        self._actuation: dict[str, np.ndarray] = {}
        self._tendons: dict[str, tuple[str, int]] = {}  # robot, first coordinate of each segment
        for name, robot in self._simulation.robots.items():
            rest = robot.rest_u
            columns = [c.name for c in robot.coordinates]
            for segment in robot.robot.segments:
                if not isinstance(segment, TendonSegment) or segment.tendons is not None:
                    continue
                if segment.name in self._tendons:
                    raise PhysicsError(
                        f'robots {self._tendons[segment.name][0]} and {name} both have a tendon '
                        f'segment {segment.name}: give each its own name'
                    )
                first = columns.index(segment.coordinates[0].name)
                self._tendons[segment.name] = name, first
                rest[first + 2] = np.mean(segment.length_limits_m)  # as `Arm.rest_q`
            self._actuation[name] = robot.actuate(rest)
        self._simulation.step(time_step_s)  # compile now, not in the thread

    def view(self) -> Simulation:
        """Return a copy of the simulation, which can be moved to other `positions`."""
        with self.lock:
            return self._simulation.copy()

    def positions(self) -> np.ndarray:
        """Return MuJoCo's positions of all joints, (nq,); see `check` for errors."""
        self.check()
        with self.lock:
            return self._simulation.data.qpos.copy()

    def bend(self, arcs: Iterable[tuple[str, float, float, float]]) -> None:
        """Set arcs of tendon segments: name, bend [rad], direction [rad] and length [m] of each.

        Raises:
            PhysicsError: If a segment is unknown or a value outside its limits; no arc is changed.
        """
        wanted = {name: values.copy() for name, values in self._actuation.items()}
        for segment, *arc in arcs:
            if segment not in self._tendons:
                known = ', '.join(self._tendons) or 'none'
                raise PhysicsError(f'no tendon segment {segment[:40]!r}: there are {known}')
            name, first = self._tendons[segment]
            wanted[name][first : first + 3] = arc
        self._set(wanted)

    def drive(self, robot: str, values: dict[str, float]) -> None:
        """Set coordinates of a robot, such as pressures [Pa] gauge or torques [N m], by name.

        Raises:
            PhysicsError: If a coordinate is unknown or a value outside its limits; none is changed.
        """
        columns = [c.name for c in self._simulation.robots[robot].coordinates]
        wanted = self._actuation[robot].copy()
        for name, value in values.items():
            if name not in columns:
                known = ', '.join(columns)[:100]
                raise PhysicsError(f'{robot} has no coordinate {name[:40]!r}: it has {known}')
            wanted[columns.index(name)] = value
        self._set({robot: wanted})

    def contacts(self) -> tuple[int, float]:
        """Return the number of contacts, and the largest contact force [N]."""
        with self.lock:
            found = self._simulation.contacts()
        return len(found), max((float(np.linalg.norm(c.force_n)) for c in found), default=0.0)

    def _set(self, wanted: dict[str, np.ndarray]) -> None:
        robots = self._simulation.robots
        with self.lock:
            try:
                for name, values in wanted.items():
                    robots[name].actuate(values)
            except PhysicsError:
                for name in wanted:
                    robots[name].actuate(self._actuation[name])
                raise
            self._actuation |= wanted
