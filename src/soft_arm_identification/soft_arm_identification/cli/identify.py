"""`softarm identify`: identify an arm from recordings of its motion."""

import json
import sys
from argparse import Namespace
from pathlib import Path

from soft_arm_description.options import known_robot
from soft_arm_description.robot import load_robot
from soft_arm_io.command_line import CommandLine, input_file, output_folder


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm identify',
        description='Identify an arm of bellows from recordings of its motion: geometry, pressure '
        'to length, stiffness, hysteresis, creep, swing and valves, each with its 95 %% interval, '
        'and what the motion cannot determine. Writes a rig with robot file and calibrations, a '
        'report and a picture. The last recording is held out as a test, or the end of the only '
        'one.',
        epilog='example: softarm identify recordings/*.npz --robot my_arm.yaml -o identified',
    )
    parser.add_argument(
        'recordings', type=input_file, nargs='+', metavar='RECORDING',
        help='recording (.npz) of softarm recording import',
    )  # fmt: skip
    parser.add_argument(
        '--robot', type=known_robot, required=True,
        help='robot file with rough values, or name of a shipped robot',
    )  # fmt: skip
    parser.add_option(
        '--devices', ('real', 'virtual'), 'real', 'on which devices the recordings were made'
    )
    parser.add_argument(
        '--output', '-o', type=output_folder, default=Path('out/identified'), metavar='FOLDER',
        help='folder of the rig (default: %(default)s)',
    )  # fmt: skip
    parser.add_json()
    return parser.answer(argv, _identify)


def _identify(options: Namespace) -> int:
    # Slow to import: after the arguments are checked.
    from tqdm import tqdm

    from soft_arm_identification.identify.identification import identify
    from soft_arm_identification.identify.result_files import report, save, summary
    from soft_arm_identification.recording import Recording

    recordings = [Recording.load(file) for file in options.recordings]
    with tqdm(unit='step', file=sys.stderr, disable=not sys.stderr.isatty()) as progress:
        found = identify(load_robot(options.robot), recordings, progress.update)
    save(found, options.output, options.devices)
    if options.json:
        json.dump(summary(found), sys.stdout, indent=2)
        print()
    else:
        print(report(found) + f'\nrig and report: {options.output}')
    return 0
