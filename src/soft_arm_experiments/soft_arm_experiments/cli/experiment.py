"""`softarm experiment bend|deflection|all`: repeat the arm paper's experiments and write a report.

Every experiment runs open loop first, then closed loop.
"""

import json
import os
import shutil
import signal
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tqdm import tqdm

from soft_arm_calibration.rig import Rig as ArmRig
from soft_arm_control.errors import ControlError
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_description.calibration import load_calibration
from soft_arm_description.options import add_rig, add_robot
from soft_arm_description.rig import Rig
from soft_arm_description.robot import Robot
from soft_arm_experiments.arm.experiments import experiment
from soft_arm_experiments.cli.calibrate_virtual import calibrated_rig
from soft_arm_experiments.cli.rig_options import add_tip_sensor, tip_source_of
from soft_arm_io.command_line import (
    CommandLine,
    output_folder,
    positive_count,
    seed_number,
)
from soft_arm_kinematics.arm import load_bellows_arm

ALIVE_S = 60.0
QUICK_STEPS = {'bend': 7, 'deflection': 9}
RECORDED = (
    '/soft_arm/pressure_command',
    '/soft_arm/pressures',
    '/soft_arm/tip_pose',
    '/soft_arm/configuration',
    '/soft_arm/target',
    '/soft_arm/virtual_rig/debug/tip_truth',
    '/camera/camera/color/camera_info',
    '/diagnostics',
    '/tf',
    '/tf_static',
)


def bend(argv: list[str] | None = None) -> int:
    """Entry point of `softarm experiment bend`."""
    return _main('bend', ('bend',), argv)


def deflection(argv: list[str] | None = None) -> int:
    """Entry point of `softarm experiment deflection`."""
    return _main('deflection', ('deflection',), argv)


def all_experiments(argv: list[str] | None = None) -> int:
    """Entry point of `softarm experiment all`."""
    return _main('all', ('bend', 'deflection'), argv)


def _main(command: str, names: tuple[str, ...], argv: list[str] | None) -> int:
    parser = CommandLine(
        prog=f'softarm experiment {command}',
        description="Repeat the arm paper's experiments, open loop, then closed loop, on the rig "
        'that runs in this ROS domain; if none runs, on a virtual rig that is started for them. '
        'With --in-process nothing is started and nothing else runs: the rig is simulated in this '
        'process, as fast as it can, and the same arguments give the same result.',
        epilog=f'example: softarm experiment {command} --in-process --plant-seed 7 --json',
    )
    parser.add_option('--plant-seed', seed_number, 1, 'virtual arm to start')
    add_tip_sensor(parser, 'with --in-process: ')
    parser.add_argument(
        '--steps', type=positive_count, help="number of targets (default: the paper's)"
    )
    add_rig(parser)
    add_robot(parser)
    parser.add_option(
        '--report', output_folder, Path('out'), 'folder of the reports', metavar='OUT_DIR'
    )
    parser.add_flag('--quick', 'fewer and shorter steps')
    parser.add_flag('--use-running', 'use the running rig, never start a virtual one')
    parser.add_flag('--in-process', 'simulate the rig in this process, without ROS')
    parser.add_argument(
        '--delays',
        type=Path,
        metavar='FILE',
        help='with --in-process: how late camera and valves are (default: the shipped file)',
    )
    parser.add_json()
    return parser.answer(argv, lambda options: _run(options, names))


def _run(options: Namespace, names: tuple[str, ...]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up as after Ctrl-C
    from soft_arm_experiments.arm.experiment_runner import ExperimentRunner, Pace
    from soft_arm_experiments.arm.report import (  # slow to import: matplotlib, then ROS
        settling_table,
        table,
        write_overview,
        write_report,
    )

    given = options.pose_noise or options.delays or options.camera_file != 'virtual'
    if given and not options.in_process:
        raise ControlError(
            '--pose-noise, --delays and --camera-file are for a rig in this process: --in-process'
        )
    calibrated = calibrated_rig(options.rig, options.robot, options.network)
    arm = load_bellows_arm(options.robot, calibrated.argument)
    dynamics = load_calibration(calibrated, Dynamics, arm.robot).values
    steps = {
        name: options.steps or (QUICK_STEPS[name] if options.quick else None) for name in names
    }
    experiments = [experiment(arm, name, steps[name]) for name in names]
    pace = Pace(step_s=1.5, table_7_deg=(90.0,), lap=False) if options.quick else Pace()
    total_s = sum(pace.duration_s(e.name, len(e.points_m)) for e in experiments)
    folder = options.report / f'{"_".join(names)}_{options.plant_seed}'
    session: Any = None
    with ExitStack() as stack:
        if options.in_process:
            from soft_arm_experiments.arm.in_process_rig import in_process_rig
            from soft_arm_sim.delays import load_delays

            rig: ArmRig = stack.enter_context(
                in_process_rig(
                    calibrated,
                    arm,
                    dynamics,
                    options.plant_seed,
                    tip_source=tip_source_of(options),
                    network=options.network,
                    camera_file=options.camera_file,
                    delays=load_delays(options.delays) if options.delays else None,
                )
            )
        else:
            rig = session = _on_graph(stack, options, calibrated, folder, arm.robot)
        progress = stack.enter_context(
            tqdm(
                total=round(total_s),
                unit='s',
                file=sys.stderr,
                desc='starting',
                bar_format='{desc}{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} s',
            )
        )
        if session is not None:
            session.wait_until_ready(ALIVE_S)

        def on_time(seconds: float) -> None:
            # Repeated steps are not part of the total.
            progress.update(min(round(seconds, 1), progress.total - progress.n))

        runner = ExperimentRunner(rig, arm, dynamics, pace, on_time)
        results = []
        for e in experiments:
            progress.set_description(e.name)
            results.append(runner.run(e))
    values = {result.experiment.name: result.as_json() for result in results}
    if len(names) == 1:
        report = write_report(results[0], folder)
        values = values[names[0]]
    else:
        report = write_overview(
            results,
            [write_report(result, folder / result.experiment.name) for result in results],
            folder,
        )
    (folder / 'result.json').write_text(json.dumps(values, indent=1) + '\n')
    if options.json:
        print(json.dumps(values))
        return 0
    print(table(results))
    for result in results:
        if result.responses:
            print('\n' + settling_table(result))
    print(f'\nreport: {report}')
    return 0


def _on_graph(
    stack: ExitStack, options: Namespace, calibrated: Rig, folder: Path, robot: Robot
) -> Any:
    """Return the `RigSession` of a ROS graph, recorded."""
    from soft_arm_calibration.ros.rig_process import child
    from soft_arm_calibration.ros.rig_session import RigSession

    seed, check, simulated = _rig(stack, options, calibrated, folder)
    bag = folder / 'bag'
    shutil.rmtree(bag, ignore_errors=True)  # bag of an earlier run
    record = ['softarm', 'bag', 'record', *RECORDED, '-o', str(bag)]
    stack.enter_context(child(record, folder / 'bag.log'))
    domain = os.environ.get('ROS_DOMAIN_ID', '0')
    print(f'to watch it live, run: softarm twin --domain {domain}', file=sys.stderr)
    return stack.enter_context(
        RigSession(robot, plant_seed=seed, check=check, use_sim_time=simulated)
    )


def _rig(
    stack: ExitStack, options: Namespace, calibrated: Rig, folder: Path
) -> tuple[int | None, Callable[[], None], bool]:
    """Use the running rig, or start a virtual one in lockstep in a free ROS domain.

    Returns:
        The plant seed, None for a running rig; a function that raises if the rig has ended; and
        whether the rig's time is simulated.
    """
    from soft_arm_calibration.ros.rig_process import (
        SIM,
        driver_is_running,
        free_domain,
        time_is_simulated,
        virtual_launch,
    )

    domain = int(os.environ.get('ROS_DOMAIN_ID', '0'))
    if driver_is_running('soft_arm'):
        print(
            f'a rig is already running in ROS domain {domain}: using it; --plant-seed, '
            '--tip-source and --network are ignored',
            file=sys.stderr,
        )
        return None, lambda: None, time_is_simulated()
    if options.use_running:
        raise ControlError(
            f'no rig is running in ROS domain {domain}: start one with '
            '`softarm launch launch/sim.launch.xml`, or leave out --use-running'
        )
    os.environ['ROS_DOMAIN_ID'] = str(free_domain(domain))
    given = {'network': str(options.network.resolve())} if options.network else {}
    check = stack.enter_context(
        virtual_launch(
            SIM,
            options.plant_seed,
            folder / 'rig.log',
            rig=calibrated.argument,
            robot=options.robot,
            tip_source=options.tip_source,
            use_sim_time='true',
            program='experiment',
            **given,
        )
    )
    return options.plant_seed, check, True
