"""`robot_urdf [ROBOT]`: print the URDF of a robot file, for launch files and robot_state_publisher."""

import argparse
import sys

from soft_arm_description.robot import RobotFileError, load_robot
from soft_arm_description.urdf import robot_urdf


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(prog='robot_urdf', description='Print the URDF of a robot file.')
    parser.add_argument('robot', nargs='?', default='two_module_arm', help='name or path of the robot file (default: %(default)s)')
    try:
        print(robot_urdf(load_robot(parser.parse_args(argv).robot)))
    except RobotFileError as error:
        print(f'robot_urdf: {error}', file=sys.stderr)
        return 2
    return 0
