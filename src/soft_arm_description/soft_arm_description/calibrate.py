"""Common part of the commands `softarm calibrate ...`: options, saving and report."""

import json
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from soft_arm_description.calibration import Measurement, Values, save_calibration, saved
from soft_arm_description.options import add_rig, add_robot
from soft_arm_description.rig import Rig, load_rig
from soft_arm_description.robot import Robot, load_robot
from soft_arm_io.command_line import CommandLine, output_file


@dataclass(frozen=True)
class Calibrated:
    """Result of a calibration.

    Attributes:
        values: The numbers.
        measurement: Their origin; None: they are reported and not saved.
        text: Report for the terminal.
        summary: Report for `--json`; the key `file` is added.
        next_step: What to do once they are saved.
    """

    values: Values
    measurement: Measurement | None
    text: str
    summary: dict[str, Any] = field(default_factory=dict)
    next_step: str = ''


def calibration_parser(
    name: str,
    description: str,
    robot: str | None = 'two_module_arm',
    epilog: str | None = None,
) -> CommandLine:
    """Return a parser with the options of every calibration.

    Args:
        name: Name of the command.
        description, epilog: Texts of `--help`.
        robot: Default of `--robot`; None: the robot of the rig, without an option.
    """
    parser = CommandLine(prog=f'softarm calibrate {name}', description=description, epilog=epilog)
    add_rig(parser)
    if robot is not None:
        add_robot(parser, robot)
    parser.add_argument(
        '--output', type=output_file(), metavar='FILE', help='file (default: the file of the rig)'
    )
    parser.add_flag('--dry-run', 'measure and report, do not save')
    parser.add_json()
    return parser


def run_calibration(
    parser: CommandLine,
    argv: list[str] | None,
    measure: Callable[[Namespace, Rig, Robot], Calibrated],
) -> int:
    """Measure, save and report; return the exit status.

    Args:
        parser: From `calibration_parser`, with the options of the command.
        argv: The arguments; None: of this process.
        measure: Takes options, rig and robot.
    """

    def run(options: Namespace) -> int:
        rig = load_rig(options.rig)
        robot = load_robot(getattr(options, 'robot', rig.robot))
        result = measure(options, rig, robot)
        path, outcome = None, 'not saved'
        if result.measurement is not None and not options.dry_run:
            path = save_calibration(rig, result.values, robot, result.measurement, options.output)
            outcome = saved(path, rig)
        if options.json:
            print(json.dumps(result.summary | {'file': path and str(path)}))
            return 0
        print(result.text, outcome, sep='\n')
        if path is not None and result.next_step:
            print(result.next_step)
        return 0

    return parser.answer(argv, run)
