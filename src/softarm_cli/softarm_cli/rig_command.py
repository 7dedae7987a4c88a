"""`softarm rig`: make a rig of one's own, and list the rigs with what they lack."""

import argparse
import json

from soft_arm_description.calibration import CalibrationError
from soft_arm_description.command_line import CommandLine, known_robot
from soft_arm_description.robot import RobotFileError
from softarm_cli.errors import RigError

_EXAMPLES = """examples:
  softarm rig new bench_2
  softarm rig new bench_3 --robot my_arm.yaml
  softarm rig list
"""


def main(argv: list[str]) -> int:
    """Entry point; returns the exit code."""
    parser = CommandLine(
        prog='softarm rig',
        description="Make a rig of one's own, and list the rigs with what they lack.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar='new|list')
    new = commands.add_parser(
        'new', help="copy a rig's parameters, make an empty calibration, and say what to do next"
    )
    new.add_argument('name', help='of the new rig: small letters, digits and _')
    new.add_argument(
        '--from',
        dest='source',
        default='lab',
        help='rig whose parameters are copied (default: %(default)s)',
    )
    new.add_robot()
    new.set_defaults(action=_new)
    listing = commands.add_parser(
        'list', help='every rig: real or virtual, what it lacks, and the command that makes it'
    )
    listing.add_argument(
        '--robot',
        type=known_robot,
        help='robot file, or name of a shipped robot, that they are to run (default: their own)',
    )
    listing.add_json()
    listing.set_defaults(action=_list)
    return parser.answer(
        argv, lambda options: options.action(options), RigError, RobotFileError, CalibrationError
    )


def _new(options) -> int:
    from soft_arm_description.robot import load_robot
    from softarm_cli.rigs import (
        calibrations_of,
        command_for,
        launch_command,
        launch_folder,
        new_rig,
    )

    made = new_rig(options.name, options.source, options.robot)
    own = next((path for path in made if path.name == 'robot.yaml'), None)
    file = str(own) if own else options.robot
    robot = load_robot(file)
    print(f'rig {options.name} is made:')
    for path in made:
        print(f'  {path}')
    print(
        f'\nNext:\n  write the addresses of your devices into {launch_folder() / "config" / options.name}'
    )
    for calibration in calibrations_of(robot):
        print(f'  {command_for(calibration, options.name, file)}\n      ({calibration.advice})')
    print(f'  {launch_command(options.name, robot, file)}')
    return 0


def _list(options) -> int:
    from soft_arm_description.robot import load_robot
    from softarm_cli.rigs import all_rigs, calibrations_of, command_for

    found, lacks = all_rigs(), {}
    for rig in found:
        robot = options.robot or rig.robot
        needed = calibrations_of(load_robot(robot))
        lacks[rig.name] = {
            c.name: command_for(c, rig.name, robot)
            for c in needed
            if c.name not in rig.calibrations
        }
    if options.json:
        rows = [
            {
                'name': rig.name,
                'devices': rig.devices,
                'config': str(rig.config) if rig.config else None,
                'calibrations': rig.calibrations,
                'refused': rig.refused,
                'missing': lacks[rig.name],
            }
            for rig in found
        ]
        print(json.dumps(rows))
        return 0
    for rig in found:
        where = rig.config or 'no folder in launch/config'
        print(
            f'{rig.name}: {rig.devices} devices, {where}; calibrated: {", ".join(rig.calibrations) or "nothing"}'
        )
        for why in rig.refused.values():
            print(f'    refused: {why}')
        for name, command in lacks[rig.name].items():
            print(f'    lacks {name}: {command}')
    return 0
