"""Commands for launch files: `robot_urdf` prints a URDF, `rig_folder` the folder of a rig."""

import os
import sys
from argparse import Namespace

from soft_arm_description.assembly import is_assembly, load_assembly
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_description.urdf import assembly_urdf, robot_urdf
from soft_arm_io.command_line import CommandLine


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = CommandLine(
        prog='robot_urdf', description='Print the URDF of a robot or assembly file.'
    )
    parser.add_argument(
        'robot',
        nargs='?',
        default='two_module_arm',
        help='name or path of the robot or assembly file (default: %(default)s)',
    )
    return parser.answer(argv, _print_urdf)


def _print_urdf(options: Namespace) -> int:
    name = options.robot
    is_one = is_assembly(name)
    text = assembly_urdf(load_assembly(name)) if is_one else robot_urdf(load_robot(name))
    try:
        print(text, flush=True)
    except (
        BrokenPipeError
    ):  # the reader has gone, and Python would flush to it once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


def rig_folder(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = CommandLine(prog='rig_folder', description='Print the folder of a rig.')
    parser.add_argument('rig', help='name of a rig, or path of its folder')
    return parser.answer(argv, _print_rig_folder)


def _print_rig_folder(options: Namespace) -> int:
    print(load_rig(options.rig).folder, end='')
    return 0
