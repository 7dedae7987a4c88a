"""`softarm calibrate grasp`: measure how the free finger closes, which is what a contact is told from."""

import json
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tqdm import tqdm

from soft_arm_control.errors import ControlError
from soft_arm_control.free_closing import save
from soft_arm_control.free_closing_fit import identify
from soft_arm_control.grasp import GraspSettings
from soft_arm_description.calibration import CalibrationError, calibration_path
from soft_arm_description.command_line import CommandLine, seed_number, whole_number_in
from soft_arm_description.robot import RobotFileError, load_robot

ALIVE_S = 60.0


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = CommandLine(
        prog='softarm calibrate grasp',
        description='Close the free finger a few times from vacuum to near its highest pressure and keep how it did. Take every object '
        'away first. Without --use-running a virtual cell is started for it.',
    )
    parser.add_robot('four_piece_finger')
    parser.add_rig()
    parser.add_argument('--plant-seed', type=seed_number, default=1, help='virtual finger to start (default: %(default)s)')
    parser.add_argument('--closings', type=whole_number_in(2, 1000), default=4, help='how many (default: %(default)s, at least 2)')
    parser.add_argument('--use-running', action='store_true', help='use the cell that runs in this ROS domain')
    parser.add_argument('--dry-run', action='store_true', help='do not save')
    parser.add_json()
    return parser.answer(argv, _run, ControlError, RobotFileError, CalibrationError)


def _run(options) -> int:
    from soft_arm_control.ros.closing_measurement import ClosingMeasurement  # ROS only when it is needed
    from soft_arm_control.ros.rig_process import VirtualCell, free_domain

    robot, path = load_robot(options.robot), calibration_path(options.rig, 'free_closing')
    with ExitStack() as stack:
        check = lambda: None  # noqa: E731 - what a rig of our own replaces
        if not options.use_running:
            os.environ['ROS_DOMAIN_ID'] = str(free_domain(int(os.environ.get('ROS_DOMAIN_ID', '0'))))
            log = Path(stack.enter_context(tempfile.TemporaryDirectory())) / 'cell.log'
            check = stack.enter_context(VirtualCell(options.plant_seed, log)).check
        measurement = stack.enter_context(ClosingMeasurement(robot))
        progress = stack.enter_context(tqdm(total=options.closings, unit='closing', file=sys.stderr, desc='waiting for the cell'))
        measurement.wait_until_ready(ALIVE_S, check)
        progress.set_description('closings')
        closings = []
        for _ in range(options.closings):
            closings.append(measurement.close_once(check))
            progress.update()
    free = identify(closings)
    if not options.dry_run:
        save(path, free, robot, GraspSettings().rate_pa_s, options.closings)
    values = {
        'closings': options.closings,
        'time_constant_low_s': float(free.time_constants_s[0]),
        'time_constant_high_s': float(free.time_constants_s[-1]),
        'excess_limit': float(free.excess_limit),
        'deficit_limit_rad': float(free.deficit_limit_rad),
    }
    if options.json:
        print(json.dumps(values | {'file': None if options.dry_run else str(path)}))
        return 0
    for name, value in values.items():
        print(f'{name:24s} {value:12.4f}')
    print('not saved' if options.dry_run else f'saved in {path}')
    return 0
