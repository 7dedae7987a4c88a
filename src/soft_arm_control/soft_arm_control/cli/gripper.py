"""`softarm gripper`: grasp and release on a running cell, and put an object before the virtual finger."""

import json
import math

from soft_arm_control.errors import ControlError
from soft_arm_control.grasping.gripper import Evidence
from soft_arm_description.command_line import CommandLine, number_in

EVIDENCE = {
    'either': Evidence.NONE,
    'pressure': Evidence.PRESSURE,
    'shape': Evidence.SHAPE,
    'both': Evidence.BOTH,
}


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns 0, 1 where the goal was not reached, 2 for bad input or no cell."""
    return _parser().answer(argv, _act, ControlError)


def _act(options) -> int:
    from soft_arm_control.ros.gripper_client import GripperClient  # ROS only when it is needed

    with GripperClient() as client:
        if options.action == 'grasp':
            pressures_pa = 1e3 * options.grip_kpa, 1e3 * options.squeeze_kpa
            result = client.grasp(EVIDENCE[options.evidence], *pressures_pa, options.timeout_s)
        elif options.action == 'release':
            result = client.release(options.stay_open, options.timeout_s)
        else:
            result = client.place_object(math.nan if options.gap_m is None else options.gap_m)
    if options.json:
        print(
            json.dumps(
                {
                    k: None if isinstance(v, float) and math.isnan(v) else v
                    for k, v in result.items()
                }
            )
        )
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
        help="limit [s] (default: the node's)",
    )
    actions = parser.add_subparsers(dest='action', required=True)
    grasp = actions.add_parser(
        'grasp', parents=[timed], help='open by vacuum, close until contact, hold'
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
        help="added after contact [kPa] (default: the node's)",
    )
    grasp.add_argument(
        '--evidence',
        choices=EVIDENCE,
        default='either',
        help='what has to show the contact (default: %(default)s)',
    )
    release = actions.add_parser('release', parents=[timed], help='open by vacuum, then vent')
    release.add_argument('--stay-open', action='store_true', help='keep the vacuum')
    place = actions.add_parser('place', help='virtual cell: put an object before the finger')
    place.add_argument(
        '--gap-m',
        type=number_in(0.0, 10.0),
        help='from the straight finger to the object [m] (default: take it away)',
    )
    for action in (grasp, release, place):
        action.add_json()
    return parser
