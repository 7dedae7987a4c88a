"""`softarm vent`: vent the arm, and the gripper if asked."""

import json
import sys
from argparse import Namespace

from soft_arm_control.cli.arguments import add_namespace
from soft_arm_control.errors import ControlError
from soft_arm_io.command_line import CommandLine


def main(argv: list[str] | None = None) -> int:
    """Run the command; return 0 if all is vented, 1 if a driver failed, 2 for no driver."""
    parser = CommandLine(
        prog='softarm vent',
        description='Set every valve of the arm that runs in this ROS domain to ambient pressure. '
        'Nothing moves again until the driver is activated. '
        'This is not an emergency stop: see docs/explanation/safety.md.',
    )
    add_namespace(parser, 'soft_arm')
    parser.add_flag(
        '--gripper', 'vent the gripper in the namespace `gripper` too: it drops what it holds'
    )
    parser.add_json()
    return parser.answer(argv, _vent)


def _vent(options: Namespace) -> int:
    from soft_arm_control.ros.arm_client import ArmClient  # ROS only when it is needed

    namespaces = [options.namespace]
    if options.gripper and options.namespace != 'gripper':
        namespaces.append('gripper')
    answers = {}
    problems = []
    for namespace in namespaces:
        launch = 'cell' if namespace == 'gripper' else 'sim'
        launch_file = f'launch/{launch}.launch.xml'
        try:
            with ArmClient(namespace, launch_file) as client:
                answers[namespace] = client.vent()
        except ControlError as error:
            problems.append(error)  # vent the other one all the same
    if options.json:
        fields = ('vented', 'message')
        print(json.dumps({k: dict(zip(fields, v, strict=True)) for k, v in answers.items()}))
    else:
        for namespace, (vented, message) in answers.items():
            print(f'{namespace}: {message}', file=sys.stdout if vented else sys.stderr)
    if problems:
        raise problems[0]
    return 0 if all(vented for vented, _ in answers.values()) else 1
