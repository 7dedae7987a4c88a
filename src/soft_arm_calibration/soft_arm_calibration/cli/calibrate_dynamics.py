"""`softarm calibrate dynamics`: identify valves, delays, lag, swing, hysteresis and creep."""

import sys
from argparse import Namespace
from contextlib import ExitStack

from tqdm import tqdm

from soft_arm_calibration.cli.camera_options import add_network
from soft_arm_calibration.steps import STEPS, middle_modes, step_limits_pa, stepped_chamber
from soft_arm_control.tip.identification import identify
from soft_arm_description.calibrate import Calibrated, calibration_parser, run_calibration
from soft_arm_description.calibration import Measurement
from soft_arm_description.rig import REAL, Rig
from soft_arm_description.robot import Robot
from soft_arm_io.command_line import seed_number
from soft_arm_kinematics.arm import load_bellows_arm

ALIVE_S = 60.0
NAME = 'calibrate_dynamics'  # of the node


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = calibration_parser(
        'dynamics',
        description='Move one chamber in steps and slow loops and identify the dynamics of '
        'valves, bellows, arm and camera. The arm moves for one minute and a half. A real rig must '
        'be running; a virtual one is started for it unless --use-running is given.',
    )
    parser.add_argument('--plant-seed', type=seed_number, help='virtual arm to start (default: 1)')
    add_network(parser)
    parser.add_flag(
        '--use-running',
        'use the virtual rig that runs in this ROS domain (a real rig is always used so)',
    )
    return run_calibration(parser, argv, _measure)


def _measure(options: Namespace, rig: Rig, robot: Robot) -> Calibrated:
    # --help needs no ROS.
    from soft_arm_calibration.ros.dynamics_measurement import measure
    from soft_arm_calibration.ros.rig_process import (
        SIM,
        require_devices,
        rig_to_measure,
        time_is_simulated,
    )
    from soft_arm_calibration.ros.rig_session import RigSession

    arm = load_bellows_arm(options.robot, options.rig)
    seed = 1 if options.plant_seed is None else options.plant_seed
    with ExitStack() as stack:
        # A virtual rig is started without the nodes that need the dynamics.
        check = stack.enter_context(
            rig_to_measure(
                options,
                rig,
                SIM,
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
                plant_seed=seed if starts_rig else None,
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
        dynamics, residuals = identify(*measure(session, arm, progress.update), middle_modes(arm))
        require_devices(session.devices, rig)  # by now every node has been discovered
        measurement = Measurement(
            devices=session.devices.devices,
            method='steps and slow loops of one chamber; least squares',
            residuals=residuals,
            limits={'step_pa': step_limits_pa(arm, chamber)},
        )
    values, lines = dynamics.model_dump(), []
    for name, value in (values | residuals).items():
        numbers = value if isinstance(value, tuple) else (value,)
        lines.append(' '.join([f'{name:26s}', *(f'{number:12.4f}' for number in numbers)]))
    summary = {'values': values, 'residuals': residuals}
    return Calibrated(dynamics, measurement, '\n'.join(lines), summary)
