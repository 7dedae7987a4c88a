"""`softarm calibrate grasp`: measure how the free finger closes, to detect contacts."""

import sys
from argparse import Namespace
from contextlib import ExitStack

from tqdm import tqdm

from soft_arm_control.grasping.gripper import GraspSettings
from soft_arm_control.grasping.no_load_fit import identify
from soft_arm_control.grasping.no_load_reference import values_of
from soft_arm_description.calibrate import Calibrated, calibration_parser, run_calibration
from soft_arm_description.calibration import Measurement
from soft_arm_description.rig import REAL, Rig
from soft_arm_description.robot import Robot
from soft_arm_io.command_line import seed_number, whole_number_in

ALIVE_S = 60.0


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = calibration_parser(
        'grasp',
        robot='four_piece_finger',
        description='Close the free finger a few times from vacuum to near its highest pressure, '
        'and save bend over pressure. Take every object away first. A real cell must be '
        'running; a virtual one is started for it unless --use-running is given.',
    )
    parser.add_argument(
        '--plant-seed', type=seed_number, help='virtual finger to start (default: 1)'
    )
    parser.add_option('--closings', whole_number_in(2, 1000), 4, 'number of closings, at least 2')
    parser.add_flag(
        '--use-running',
        'use the virtual cell that runs in this ROS domain (a real cell is always used so)',
    )
    return run_calibration(parser, argv, _measure)


def _measure(options: Namespace, rig: Rig, robot: Robot) -> Calibrated:
    # --help needs no ROS.
    from soft_arm_calibration.ros.closing_measurement import ClosingMeasurement
    from soft_arm_calibration.ros.rig_process import CELL, require_devices, rig_to_measure

    with ExitStack() as stack:
        check = stack.enter_context(rig_to_measure(options, rig, CELL))
        cell = stack.enter_context(ClosingMeasurement(robot))
        progress = stack.enter_context(
            tqdm(
                total=options.closings, unit='closing', file=sys.stderr, desc='waiting for the cell'
            )
        )
        cell.wait_until_ready(ALIVE_S, check)
        if rig.devices == REAL:
            require_devices(cell.devices, rig)
        progress.set_description('closings')
        closings = []
        for _ in range(options.closings):
            closings.append(cell.close_once(check))
            progress.update()
        require_devices(cell.devices, rig)  # by now every node has been discovered
        devices = cell.devices.devices
    reference, residuals = identify(closings)
    time_constants_s = reference.time_constants_s
    assert time_constants_s is not None  # `identify` always measures them
    measurement = Measurement(
        devices=devices,
        method=f'{options.closings} closings in free air at {GraspSettings().rate_pa_s:g} Pa/s; '
        'median of time constants, fitted bends, limits from the scatter',
        residuals=residuals,
        limits={'pressure_pa': tuple(reference.pressures_pa[[0, -1]].tolist())},
    )
    summary = {
        'closings': options.closings,
        'time_constant_low_s': float(time_constants_s[0]),
        'time_constant_high_s': float(time_constants_s[-1]),
        'excess_limit': float(reference.excess_limit),
        'deficit_limit_rad': float(reference.deficit_limit_rad),
    }
    text = '\n'.join(f'{name:24s} {value:12.4f}' for name, value in summary.items())
    return Calibrated(values_of(reference), measurement, text, summary)
