"""Assembly files: robots mounted on bodies and on each other's tips.

The assembly sets the pose of each robot; the `base` of a robot file gives only its flange.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, model_validator

from soft_arm_description.rigid_bodies import AT_ORIGIN, RigidBody, with_mesh_paths
from soft_arm_description.robot import Robot, RobotFileError, load_robot, shipped_robots
from soft_arm_description.segments.values import Name, Position, Rotation, Text, check_unique
from soft_arm_description.shipped import file_path, load_model, shipped_files
from soft_arm_io.errors import InputError
from soft_arm_io.fields import Strict
from soft_arm_io.yaml_file import YamlFileError, read_yaml, shown, shown_path


class AssemblyFileError(InputError):
    """An assembly file that cannot be used; one line with file, key, value and remedy."""


class Mount(Strict):
    """One robot of an assembly file: a robot file, and where its base frame stands."""

    name: Name
    robot: Annotated[str, Field(min_length=1, max_length=1000)]
    mount: Name | None = None  # a body, or a robot on whose tip it stands; None: the world
    position_m: Position = AT_ORIGIN
    rpy_deg: Rotation = AT_ORIGIN


class AssemblyFile(Strict):
    """Content of an assembly file."""

    schema_version: Literal[1]
    name: Name
    description: Text
    bodies: Annotated[tuple[RigidBody, ...], Field(max_length=200)] = ()
    robots: Annotated[tuple[Mount, ...], Field(min_length=1, max_length=100)]
    self_contact: StrictBool = True

    @model_validator(mode='after')
    def _check(self) -> Self:
        known = [body.name for body in self.bodies]
        check_unique('body or robot', known + [robot.name for robot in self.robots])
        for robot in self.robots:
            if robot.mount is not None and robot.mount not in known:
                raise ValueError(
                    f'{robot.name} is mounted on {robot.mount!r}, which is neither a body nor a '
                    f'robot before it in the list: give one of {", ".join(known)[:100]}, or leave '
                    '`mount` out for the world'
                )
            known.append(robot.name)
        return self


@dataclass(frozen=True)
class MountedRobot:
    """A robot of an assembly.

    Attributes:
        name: Its name in the assembly.
        robot: The robot.
        mount: Name of a body, or of a robot on whose tip it stands; None: the world.
        position_m, rpy_deg: Place of its base frame in the body's, the tip's or the world's frame.
    """

    name: str
    robot: Robot
    mount: str | None
    position_m: tuple[float, float, float]
    rpy_deg: tuple[float, float, float]


@dataclass(frozen=True)
class Assembly:
    """Bodies, with absolute paths of their meshes, and robots, each after what it stands on.

    Without self-contact they touch the objects and the ground of a world, but not each other.
    """

    name: str
    description: str
    bodies: tuple[RigidBody, ...]
    robots: tuple[MountedRobot, ...]
    self_contact: bool = True


def shipped_assemblies() -> dict[str, Path]:
    """Assembly files that come with this package, by name."""
    return shipped_files('assemblies')


def load_assembly(name_or_path: str | Path) -> Assembly:
    """Read an assembly file and the robot files that it names.

    Args:
        name_or_path: Name of a shipped assembly, such as `squid`, or path of a YAML file.

    Raises:
        AssemblyFileError: If the file, or a robot or mesh that it names, is missing or has a
            missing, unknown or impossible value.
    """
    content = load_model(AssemblyFile, 'assembly', name_or_path, AssemblyFileError)
    try:
        return make_assembly(content, file_path('assembly', name_or_path).parent)
    except AssemblyFileError as error:
        raise AssemblyFileError(f'{shown_path(name_or_path)}: {error}') from error


def make_assembly(content: AssemblyFile, folder: Path) -> Assembly:
    """Return the assembly of a file's content; paths in it begin at a folder.

    Raises:
        AssemblyFileError: If a robot or mesh that it names cannot be used.
    """
    try:
        bodies = with_mesh_paths(content.bodies, folder)
    except FileNotFoundError as error:
        raise AssemblyFileError(str(error)) from error
    robots = []
    for i, entry in enumerate(content.robots):
        shipped = shipped_robots()
        path = shipped.get(entry.robot, folder / entry.robot)
        if not os.path.isfile(path):
            raise AssemblyFileError(
                f'robots.{i}.robot: {shown(entry.robot)} is not a file: give a path from the '
                f'folder of this one, or one of {", ".join(sorted(shipped))[:100]}'
            )
        try:
            robot = load_robot(path)
        except RobotFileError as error:
            raise AssemblyFileError(f'robots.{i}.robot: {error}') from error
        robots.append(MountedRobot(entry.name, robot, entry.mount, entry.position_m, entry.rpy_deg))
    return Assembly(content.name, content.description, bodies, tuple(robots), content.self_contact)


def as_assembly(robot: Robot | Assembly | str | Path) -> Assembly:
    """Return an assembly; of a robot, with that robot alone, where its file says.

    Args:
        robot: Robot or assembly, or the name or path of the file of one.

    Raises:
        RobotFileError, AssemblyFileError: If the file cannot be used.
    """
    if isinstance(robot, Assembly):
        return robot
    if not isinstance(robot, Robot):
        if is_assembly(robot):
            return load_assembly(robot)
        robot = load_robot(robot)
    base = robot.base
    alone = MountedRobot(robot.name, robot, None, base.position_m, base.rpy_deg)
    return Assembly(robot.name, robot.description, (), (alone,))


def is_assembly(name_or_path: str | Path) -> bool:
    """Return whether a name or path denotes an assembly, not a robot."""
    if str(name_or_path) in shipped_assemblies():
        return True
    try:
        content = read_yaml(name_or_path)
    except (OSError, ValueError, YamlFileError):
        return False  # load_robot says what is wrong
    return isinstance(content, dict) and 'robots' in content
