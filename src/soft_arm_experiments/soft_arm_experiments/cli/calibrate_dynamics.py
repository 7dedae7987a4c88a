"""`softarm calibrate dynamics`: identify valves, delays, lag, hysteresis and creep."""

import json
import sys
from argparse import Namespace
from contextlib import ExitStack

from tqdm import tqdm

from soft_arm_control.errors import ControlError
from soft_arm_control.tip.identification import identify
from soft_arm_description.calibration import Measurement, save_calibration, saved
from soft_arm_description.command_line import CommandLine, seed_number
from soft_arm_description.rig import REAL, load_rig
from soft_arm_experiments.arm.steps import STEPS, step_limits_pa, stepped_chamber
from soft_arm_kinematics.arm import load_bellows_arm
from soft_arm_kinematics.errors import KinematicsError

ALIVE_S = 60.0
NAME = 'calibrate_dynamics'  # of the node


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm calibrate dynamics',
        description='Move one chamber in steps and slow loops and identify the dynamics of '
        'valves, bellows, arm and camera. The arm moves for one minute and a half. A real rig must '
        'be running; a virtual one is started for it unless --use-running is given.',
    )
    parser.add_robot()
    parser.add_rig()
    parser.add_argument('--plant-seed', type=seed_number, help='virtual arm to start (default: 1)')
    parser.add_network()
    parser.add_argument(
        '--use-running',
        action='store_true',
        help='use the virtual rig that runs in this ROS domain (a real rig is always used so)',
    )
    parser.add_argument('--dry-run', action='store_true', help='do not save')
    parser.add_json()
    return parser.answer(argv, _run, ControlError, KinematicsError)


def _run(options: Namespace) -> int:
    # --help needs no ROS.
    from soft_arm_experiments.ros.dynamics_measurement import measure
    from soft_arm_experiments.ros.rig_process import (
        VirtualRig,
        require_devices,
        rig_to_measure,
        time_is_simulated,
    )
    from soft_arm_experiments.ros.rig_session import NAMESPACE, RigSession

    rig = load_rig(options.rig)
    arm = load_bellows_arm(options.robot, options.rig)
    file = 'rig' if rig.devices == REAL else 'sim'
    launch = f'launch/{file}.launch.xml rig:={rig.argument}'
    with ExitStack() as stack:
        # A virtual rig is started without the nodes that need the dynamics.
        check = stack.enter_context(
            rig_to_measure(
                options,
                rig,
                NAMESPACE,
                launch,
                VirtualRig,
                control='false',
                use_sim_time='true',
                program=NAME,
                **({'network': str(options.network.resolve())} if options.network else {}),
            )
        )
        starts_rig = not options.use_running and rig.devices != REAL
        session = stack.enter_context(
            RigSession(
                arm.robot,
                NAME,
                plant_seed=(options.plant_seed or 1) if starts_rig else None,
                check=check,
                use_sim_time=starts_rig or (rig.devices != REAL and time_is_simulated()),
            )
        )
        progress = stack.enter_context(
            tqdm(total=STEPS + 1, unit='part', file=sys.stderr, desc='waiting for the rig')
        )
        session.wait_until_ready(ALIVE_S, control=False)
        if rig.devices == REAL:
            require_devices(session.devices, rig)
        progress.set_description('steps and loops')
        chamber = stepped_chamber(arm)
        dynamics, residuals = identify(*measure(session, arm, progress.update))
        require_devices(session.devices, rig)  # by now every node has been discovered
        measurement = Measurement(
            devices=session.devices.devices,
            method='steps and slow loops of one chamber; least squares',
            residuals=residuals,
            limits={'step_pa': step_limits_pa(arm, chamber)},
        )
    path = None
    if not options.dry_run:
        path = save_calibration(rig, dynamics, arm.robot, measurement)
    values = dynamics.model_dump()
    if options.json:
        print(json.dumps({'values': values, 'residuals': residuals, 'file': path and str(path)}))
        return 0
    for name, value in (values | residuals).items():
        numbers = value if isinstance(value, tuple) else (value,)
        print(f'{name:26s}', *(f'{number:12.4f}' for number in numbers))
    print('not saved' if options.dry_run else saved(path, rig))
    return 0
