"""`softarm vent`: vent the arm, and the gripper if asked."""

import json
import sys

from soft_arm_control.cli.arguments import add_namespace
from soft_arm_control.errors import ControlError
from soft_arm_description.command_line import CommandLine


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns 0 when all is vented, 1 where a driver could not, 2 for bad input or no driver."""
    parser = CommandLine(
        prog='softarm vent',
        description='Ask every valve of the arm that runs in this ROS domain for ambient pressure. Nothing moves again until the driver is '
        'activated. This is no emergency stop: see docs/explanation/safety.md.',
    )
    add_namespace(parser, 'soft_arm')
    parser.add_argument(
        '--gripper',
        action='store_true',
        help='vent the gripper too, in the namespace `gripper`: what it holds falls',
    )
    parser.add_json()
    return parser.answer(argv, _vent, ControlError)


def _vent(options) -> int:
    from soft_arm_control.ros.arm_client import ArmClient  # ROS only when it is needed

    answers, problems = {}, []
    rigs = {
        options.namespace: 'launch/cell.launch.xml'
        if options.namespace == 'gripper'
        else 'launch/sim.launch.xml'
    }
    if options.gripper:
        rigs['gripper'] = 'launch/cell.launch.xml'
    for namespace, launch_file in rigs.items():
        try:
            with ArmClient(namespace, launch_file) as client:
                answers[namespace] = client.vent()
        except ControlError as error:
            problems.append(error)  # the others are vented all the same
    if options.json:
        print(
            json.dumps(
                {
                    namespace: {'vented': vented, 'message': message}
                    for namespace, (vented, message) in answers.items()
                }
            )
        )
    else:
        for namespace, (vented, message) in answers.items():
            print(f'{namespace}: {message}', file=sys.stdout if vented else sys.stderr)
    if problems:
        raise problems[0]
    return 0 if all(vented for vented, _ in answers.values()) else 1
