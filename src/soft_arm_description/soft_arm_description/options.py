"""Options of commands that name a robot, an assembly, a world or a rig, checked while parsed."""

import argparse
import os

from soft_arm_description.assembly import shipped_assemblies
from soft_arm_description.rig import RigError, load_rig
from soft_arm_description.robot import shipped_robots
from soft_arm_description.world import shipped_worlds
from soft_arm_io.command_line import CommandLine


def add_robot(parser: CommandLine, default: str = 'two_module_arm') -> None:
    """Add `--robot`, for `load_robot`."""
    parser.add_option(
        '--robot', known_robot, default, 'name of a shipped robot or path of a robot file'
    )


def add_rig(parser: CommandLine) -> None:
    """Add `--rig`, for `load_rig`."""
    parser.add_option('--rig', known_rig, 'virtual', 'name of a rig, or path of its folder')


def known_robot(text: str) -> str:
    """Name of a shipped robot, or path of an existing file."""
    return _known(text, [*shipped_robots()])


def known_robot_or_assembly(text: str) -> str:
    """Name of a shipped robot or assembly, or path of an existing file."""
    return _known(text, [*shipped_robots(), *shipped_assemblies()])


def known_world(text: str) -> str:
    """Name of a shipped world, or path of an existing file."""
    return _known(text, [*shipped_worlds()])


def known_rig(text: str) -> str:
    """Name of a rig, or path of its folder."""
    try:
        load_rig(text)
    except RigError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return os.path.abspath(text) if os.sep in text else text


def _known(text: str, shipped: list[str]) -> str:
    if text not in shipped and not os.path.isfile(text):
        raise argparse.ArgumentTypeError(
            f'{text!r}: No such file; give a path or one of {", ".join(sorted(shipped))}'
        )
    return text
