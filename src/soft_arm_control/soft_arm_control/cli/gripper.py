"""`softarm gripper`: grasp and release on a running cell; place a virtual object."""

import json
import math
from argparse import Namespace

from soft_arm_control.grasping.gripper import Evidence
from soft_arm_io.command_line import CommandLine, number_in

EVIDENCE = {
    'either': Evidence.NONE,
    'pressure': Evidence.PRESSURE,
    'shape': Evidence.SHAPE,
    'both': Evidence.BOTH,
}


def main(argv: list[str] | None = None) -> int:
    """Run the command; return 0, 1 if the goal was not reached, 2 for bad input or no cell."""
    return _parser().answer(argv, _act)


def _act(options: Namespace) -> int:
    from soft_arm_control.ros.gripper_client import GripperClient  # ROS only when it is needed

    with GripperClient() as client:
        if options.action == 'grasp':
            result = client.grasp(
                EVIDENCE[options.evidence],
                1e3 * options.grip_kpa,
                1e3 * options.squeeze_kpa,
                options.timeout_s,
            )
        elif options.action == 'release':
            result = client.release(options.stay_open, options.timeout_s)
        else:
            result = client.place_object(math.nan if options.gap_m is None else options.gap_m)
    if options.json:
        missing = {k for k, v in result.items() if isinstance(v, float) and math.isnan(v)}
        print(json.dumps({k: None if k in missing else v for k, v in result.items()}))
    else:
        for name, value in result.items():
            print(f'{name:20s} {value:.6g}' if isinstance(value, float) else f'{name:20s} {value}')
    return 1 if result['error_code'] else 0


def _parser() -> CommandLine:
    parser = CommandLine(
        prog='softarm gripper',
        description='Command the gripper of the cell that runs in this ROS domain. Ctrl-C cancels.',
    )
    timed = CommandLine(add_help=False)
    timed.add_argument(
        '--timeout-s',
        type=number_in(0.0, 3600.0),
        default=0.0,
        help="time limit [s] (default: the node's)",
    )
    actions = parser.add_subparsers(dest='action', required=True)
    grasp = actions.add_parser(
        'grasp', parents=[timed], help='open by vacuum, close until contact, hold the object'
    )
    grasp.add_argument(
        '--grip-kpa',
        type=number_in(0.0, 1000.0),
        default=0.0,
        help="highest pressure [kPa] gauge (default: the node's)",
    )
    grasp.add_argument(
        '--squeeze-kpa',
        type=number_in(0.0, 1000.0),
        default=0.0,
        help="pressure added after contact [kPa] (default: the node's)",
    )
    grasp.add_option('--evidence', EVIDENCE, 'either', 'required evidence of the contact')
    release = actions.add_parser('release', parents=[timed], help='open by vacuum, then vent')
    release.add_flag('--stay-open', 'keep the vacuum instead of venting')
    place = actions.add_parser('place', help='virtual cell: place an object in front of the finger')
    place.add_argument(
        '--gap-m',
        type=number_in(0.0, 10.0),
        help='distance from the straight finger to the object [m] (default: remove it)',
    )
    for action in (grasp, release, place):
        action.add_json()
    return parser
