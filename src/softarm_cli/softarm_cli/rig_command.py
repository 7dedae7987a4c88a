"""`softarm rig`: create a rig, and list all rigs with their missing calibrations."""

import argparse
import json
from typing import Any

from soft_arm_description.options import add_robot, known_rig, known_robot
from soft_arm_io.command_line import (
    CommandLine,
)

_EXAMPLES = """examples:
  softarm rig new bench_2
  softarm rig new bench_3 --robot my_arm.yaml
  softarm rig list
"""


def main(argv: list[str]) -> int:
    """Entry point; returns the exit code."""
    parser = CommandLine(
        prog='softarm rig',
        description='Create a rig, and list all rigs with their missing calibrations.',
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar='new|list')
    new = commands.add_parser(
        'new', help="copy a template into the user's folder of rigs, and print the next steps"
    )
    new.add_argument('name', help='name of the new rig: lower-case letters, digits and _')
    new.add_option(
        '--from',
        known_rig,
        'lab',
        'rig whose parameters are copied: name, or path of its folder',
        dest='template',
    )
    add_robot(new)
    new.set_defaults(action=_new)
    listing = commands.add_parser(
        'list',
        help='list every rig with its devices and the commands for missing calibrations',
    )
    listing.add_argument(
        '--robot',
        type=known_robot,
        help='robot for these rigs: file or name of a shipped robot (default: as in the rig)',
    )
    listing.add_json()
    listing.set_defaults(action=_list)
    return parser.answer(argv, lambda options: options.action(options))


def _new(options: argparse.Namespace) -> int:
    from soft_arm_description.robot import load_robot
    from softarm_cli.rigs import calibrate_command, launch_command, needed_calibrations, new_rig

    rig = new_rig(options.name, options.template, options.robot)
    print(f'created rig {rig.name}: {rig.folder}')
    for path in sorted(rig.folder.rglob('*.*')):
        print(f'  {path.relative_to(rig.folder)}')
    print(f'\nNext:\n  write the addresses of your devices into {rig.folder / "parameters"}')
    for needed in needed_calibrations(load_robot(rig.robot)):
        print(f'  {calibrate_command(needed, rig, rig.robot)}\n      ({needed.advice})')
    print(f'  {launch_command(rig)}')
    return 0


def _list(options: argparse.Namespace) -> int:
    from soft_arm_description.robot import load_robot
    from softarm_cli.rigs import all_rigs, calibrate_command, calibrations_of, needed_calibrations

    rows: list[dict[str, Any]] = []
    for rig in all_rigs():
        usable, refused = calibrations_of(rig)
        robot = options.robot or rig.robot
        missing = {
            needed.kind: calibrate_command(needed, rig, robot)
            for needed in needed_calibrations(load_robot(robot))
            if needed.kind not in usable and not rig.is_template
        }
        rows.append(
            {
                'name': rig.name,
                'folder': str(rig.folder),
                'devices': rig.devices,
                'is_template': rig.is_template,
                'calibrations': usable,
                'refused': refused,
                'missing': missing,
            }
        )
    if options.json:
        print(json.dumps(rows))
        return 0
    for row in rows:
        what = 'a template with ' if row['is_template'] else ''
        print(
            f'{row["name"]}: {what}{row["devices"]} devices, {row["folder"]}; '
            f'calibrated: {", ".join(row["calibrations"]) or "nothing"}'
        )
        for why in row['refused'].values():
            print(f'    refused: {why}')
        for name, command in row['missing'].items():
            print(f'    lacks {name}: {command}')
    return 0
