"""`softarm calibrate virtual`, and `virtual_rig_for`, which sim.launch.xml runs."""

import io
import json
import sys
from argparse import Namespace
from contextlib import redirect_stderr
from pathlib import Path
from typing import TextIO

from tqdm import tqdm

from soft_arm_calibration.cli.camera_options import add_network
from soft_arm_description.options import add_rig
from soft_arm_description.rig import VIRTUAL, Rig, RigError, load_rig
from soft_arm_description.robot import load_robot
from soft_arm_io.command_line import CommandLine, input_file


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm calibrate virtual',
        description='Make all calibrations of a bellows arm on a virtual rig, in simulated time: '
        'curves, extrinsics of the camera, dynamics.',
        epilog='example: softarm rig new my_rig --from virtual --robot my_arm.yaml; '
        'softarm calibrate virtual --rig my_rig',
    )
    add_rig(parser)
    add_network(parser)
    parser.add_json()
    return parser.answer(argv, _calibrate)


def virtual_rig_for(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='virtual_rig_for',
        description='Print the folder of a rig. For a virtual template of another robot, print the '
        'folder of a cached rig that is calibrated for this robot; calibrate it first if needed.',
    )
    parser.add_argument('rig', help='name of a rig, or path of its folder')
    parser.add_argument('robot', help='name of a shipped robot or path of a robot file')
    parser.add_argument(
        'network',
        nargs='?',
        type=lambda text: input_file(text) if text else None,
        help='exported network for its ring, see --network; empty: the shipped one',
    )
    return parser.answer(argv, _print_folder)


def _calibrate(options: Namespace) -> int:
    from soft_arm_experiments.arm.virtual_calibration import PARTS, calibrate  # slow to import

    rig = load_rig(options.rig)
    if rig.is_template or rig.devices != VIRTUAL:
        raise RigError(
            f'rig {rig.name!r} is {"a template" if rig.is_template else "real"}: give a virtual '
            'rig of your own, `softarm rig new NAME --from virtual --robot FILE`'
        )
    with tqdm(total=PARTS, file=sys.stderr, desc='calibrating', unit='part') as progress:
        paths = calibrate(rig, load_robot(rig.robot), progress.update, options.network)
    if options.json:
        print(json.dumps([str(path) for path in paths]))
    else:
        print(*(f'saved in {path}' for path in paths), sep='\n')
    return 0


def calibrated_rig(rig_name: str, robot_name: str, network: Path | None = None) -> Rig:
    """Return a rig; for a virtual template of another robot, one calibrated for this robot.

    Another robot is one that moves differently, by its masses or stiffnesses for instance.
    The progress of its calibration is shown on standard error.

    Raises:
        InputError: If the rig or the robot cannot be used.
    """
    rig, robot = load_rig(rig_name), load_robot(robot_name)
    if (
        rig.is_template
        and rig.devices == VIRTUAL
        and all(segment.kind == 'bellows' for segment in robot.segments)
        and load_robot(rig.robot).plant_fingerprint != robot.plant_fingerprint
    ):
        from soft_arm_experiments.arm.virtual_calibration import PARTS, rig_for  # slow to import

        what = f'calibrating the virtual rig for {robot.name}, once'
        with tqdm(total=PARTS, file=sys.stderr, desc=what, unit='part', delay=0.1) as progress:
            return rig_for(rig, robot_name, progress.update, network)
    return rig


def _print_folder(options: Namespace) -> int:
    with _terminal() as terminal, redirect_stderr(terminal):
        rig = calibrated_rig(options.rig, options.robot, options.network)
    print(rig.folder, end='')
    return 0


def _terminal() -> TextIO:
    """Return the terminal of the user, or a buffer without one.

    A launch captures both standard streams of a command, and ros2 launch treats output on standard
    error as a failure.
    """
    try:
        return open('/dev/tty', 'w')
    except OSError:
        return io.StringIO()
