"""Kinematics of the robots of an assembly: slider values to poses."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from soft_arm_description.assembly import Assembly, MountedRobot
from soft_arm_description.robot import Robot
from soft_arm_description.segments import Coordinate
from soft_arm_kinematics import Arm, BellowsArm, make_arm
from soft_arm_twin.parts.bodies import pose

if TYPE_CHECKING:
    from soft_arm_kinematics.ik.inverse import IkSolution

PLANE_RANGE_RAD = np.pi / 2  # from the bending plane of the robot file
Values = Mapping[str, float]
"""Values of coordinates by name, in SI units."""


@dataclass(frozen=True, eq=False)
class ViewedRobot:
    """Robot of an assembly, moved without physics.

    Bellows are given by pressure. Pieces of fixed bending plane have one more coordinate, the
    direction phi of that plane: the gripper paper forces it.
    """

    mounted: MountedRobot

    @property
    def name(self) -> str:
        """Name in the assembly."""
        return self.mounted.name

    @property
    def robot(self) -> Robot:
        """Robot file."""
        return self.mounted.robot

    @cached_property
    def arm(self) -> Arm:
        """Kinematics."""
        return make_arm(self.robot)

    @cached_property
    def driven(self) -> tuple[Coordinate, ...]:
        """Driven coordinates: pressures [Pa]; theta, phi [rad], ell [m]; torques [N m]."""
        found = list(self.robot.coordinates)
        for segment, columns in zip(self.robot.segments, self.arm.columns, strict=True):
            if segment.kind == 'bellows':
                limits_pa = np.tile(segment.actuators.pressure_limits_pa, (len(columns), 1))
                if isinstance(self.arm, BellowsArm):  # its curve may be narrower
                    limits_pa = self.arm.pressure_limits_pa[:, columns].T
                for k, name, limits in zip(columns, segment.chambers, limits_pa, strict=True):
                    found[k] = Coordinate(name, 'Pa', *map(float, limits))
        return tuple(found)

    @cached_property
    def planes(self) -> tuple[Coordinate, ...]:
        """Coordinates phi [rad] of the adjustable bending planes."""
        return tuple(
            Coordinate(
                f'{s.name}_phi',
                'rad',
                s.phi_rad - PLANE_RANGE_RAD,
                s.phi_rad + PLANE_RANGE_RAD,
            )
            for s in self.robot.segments
            if s.kind == 'single_bend'
        )

    @cached_property
    def rest(self) -> dict[str, float]:
        """Values of all coordinates at rest."""
        rest = dict(zip((c.name for c in self.driven), self.arm.rest_q, strict=True))
        rest |= {c.name: min(max(0.0, c.low), c.high) for c in self.driven if c.unit == 'Pa'}
        return rest | {c.name: (c.low + c.high) / 2.0 for c in self.planes}

    def q(self, values: Values) -> np.ndarray:
        """Return q (n,) of the arm at values of `driven`."""
        found = np.array([values[c.name] for c in self.driven])
        if isinstance(self.arm, BellowsArm):
            return self.arm.lengths(found)
        for segment, columns in zip(self.robot.segments, self.arm.columns, strict=True):
            if segment.kind == 'bellows':
                curve = segment.actuators.curve
                found[columns] = np.interp(found[columns], curve.pressure_pa, curve.length_m)
        return found

    def values_of(self, solution: 'IkSolution') -> dict[str, float]:
        """Return the values of `driven` at a solution of the inverse kinematics."""
        found = dict(zip((c.name for c in self.driven), solution.q, strict=True))
        found |= dict(zip(self.robot.chambers, solution.pressures_pa, strict=True))
        return {c.name: float(np.clip(found[c.name], c.low, c.high)) for c in self.driven}

    def section_poses(self, values: Values) -> tuple[Robot, np.ndarray]:
        """Return the robot with these planes, and its section poses (m, 4, 4) in the base."""
        arm = self._with_planes([values.get(c.name, self.rest[c.name]) for c in self.planes])
        return arm.robot, arm.at(self.q(values)).section_poses

    def _with_planes(self, phis_rad: list[float]) -> Arm:
        """Return the arm whose pieces bend in the planes phi."""
        if phis_rad == [self.rest[c.name] for c in self.planes]:
            return self.arm
        given, segments = iter(phis_rad), []
        for segment in self.robot.segments:
            update = {'phi_deg': np.degrees(next(given))} if segment.kind == 'single_bend' else {}
            segments.append(segment.model_copy(update=update))
        return make_arm(self.robot.model_copy(update={'segments': tuple(segments)}))


def viewed_robots(assembly: Assembly) -> dict[str, ViewedRobot]:
    """Return the robots of an assembly by name, each after its parent."""
    return {mounted.name: ViewedRobot(mounted) for mounted in assembly.robots}


def world_poses(
    robots: Mapping[str, ViewedRobot], assembly: Assembly, values: Mapping[str, Values]
) -> dict[str, tuple[Robot, np.ndarray]]:
    """Return each robot with the poses (m, 4, 4) of its sections in the world.

    Bodies stand where the assembly file has them.
    """
    tips = {body.name: pose(body.position_m, body.rpy_deg) for body in assembly.bodies}
    found = {}
    for name, viewed in robots.items():
        mounted = viewed.mounted
        T_world_base = pose(mounted.position_m, mounted.rpy_deg)
        if mounted.mount is not None:
            T_world_base = tips[mounted.mount] @ T_world_base
        robot, poses = viewed.section_poses(values[name])
        found[name] = robot, T_world_base @ poses
        tips[name] = found[name][1][-1]
    return found
