"""`softarm calibrate dynamics`: identify valve lag, rate limit, delays and mechanical lag from step responses."""

import datetime
import json
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from tqdm import tqdm

from soft_arm_control.errors import ControlError, ExperimentError
from soft_arm_control.tip.dynamics import identify, save_dynamics
from soft_arm_description.calibration import REAL, CalibrationError, calibration_path, devices_of
from soft_arm_description.command_line import CommandLine, seed_number
from soft_arm_description.robot import RobotFileError
from soft_arm_kinematics.arm import load_bellows_arm
from soft_arm_kinematics.errors import KinematicsError

ALIVE_S = 60.0


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = CommandLine(
        prog='softarm calibrate dynamics',
        description='Step one chamber up and down and identify how fast the rig is. The arm moves. A real rig must be running; '
        'a virtual one is started for it unless --use-running is given.',
    )
    parser.add_robot()
    parser.add_rig()
    parser.add_argument('--plant-seed', type=seed_number, help='virtual arm to start (default: 1)')
    parser.add_argument(
        '--use-running',
        action='store_true',
        help='virtual rig: use the one that runs in this ROS domain, as a real rig always is',
    )
    parser.add_argument('--dry-run', action='store_true', help='do not save')
    parser.add_json()
    return parser.answer(
        argv, _run, ControlError, KinematicsError, RobotFileError, CalibrationError
    )


def _run(options) -> int:
    from soft_arm_experiments.ros.dynamics_measurement import (
        STEPS,
        measure,
        stepped_chamber,
    )  # ROS only when it is needed
    from soft_arm_experiments.ros.rig_process import VirtualRig, free_domain, require_driver
    from soft_arm_experiments.ros.rig_session import NAMESPACE, RigSession

    devices = devices_of(options.rig)
    running = options.use_running or devices == REAL
    if running and options.plant_seed is not None:
        raise ControlError(
            f'--plant-seed is of a virtual rig that is started here, not of rig {options.rig!r} that runs: leave it out'
        )
    arm, path, check = (
        load_bellows_arm(options.robot, options.rig),
        calibration_path(options.rig, 'dynamics'),
        lambda: None,
    )
    with ExitStack() as stack:
        if running:
            require_driver(
                options.rig,
                NAMESPACE,
                f'launch/{"rig" if devices == REAL else "sim"}.launch.xml rig:={options.rig}',
            )
        else:
            os.environ['ROS_DOMAIN_ID'] = str(
                free_domain(int(os.environ.get('ROS_DOMAIN_ID', '0')))
            )
            log = Path(stack.enter_context(tempfile.TemporaryDirectory())) / 'rig.log'
            seed = 1 if options.plant_seed is None else options.plant_seed
            rig = VirtualRig(
                seed, log, rig=options.rig, robot=options.robot, control='false'
            )  # what controls needs the dynamics
            check = stack.enter_context(rig).check
        session = stack.enter_context(RigSession(arm.robot, 'calibrate_dynamics'))
        progress = stack.enter_context(
            tqdm(total=STEPS, unit='step', file=sys.stderr, desc='waiting for the rig')
        )
        session.wait_for(
            lambda: len(session.pressures.stamps_s) > 5 and len(session.rings.stamps_s) > 5,
            ALIVE_S,
            lambda: 'measured pressures and ring poses',
            check,
        )
        if devices == REAL:
            _check_devices(session, options.rig, devices)
        progress.set_description('steps')
        dynamics, residuals = identify(
            measure(session, arm, progress.update), lambda p: _tips_m(arm, stepped_chamber(arm), p)
        )
        _check_devices(session, options.rig, devices)  # by now every node has been discovered
    if not options.dry_run:
        save_dynamics(
            path,
            dynamics,
            residuals,
            arm.robot.kinematic_fingerprint,
            datetime.date.today(),
            devices,
        )
    if options.json:
        print(
            json.dumps(
                {
                    'values': vars(dynamics),
                    'residuals': residuals,
                    'file': None if options.dry_run else str(path),
                }
            )
        )
        return 0
    for name, value in (*vars(dynamics).items(), *residuals.items()):
        print(f'{name:24s} {value:12.4f}')
    print('not saved' if options.dry_run else f'saved in {path}')
    return 0


def _check_devices(session, rig: str, devices: str) -> None:
    if mismatch := session.devices.mismatch(rig, devices):
        raise ExperimentError(f'{mismatch}; nothing was saved')


def _tips_m(arm, chamber, pressures_pa):
    every_pa = np.zeros((len(pressures_pa), arm.n_actuators))
    every_pa[:, chamber] = pressures_pa
    return arm.tip(arm.lengths(arm.clip_pressures(every_pa)))
