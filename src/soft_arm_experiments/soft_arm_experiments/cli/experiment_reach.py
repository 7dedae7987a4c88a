"""`softarm experiment reach`: closed-loop accuracy of any bellows arm all over its workspace."""

import json
import sys
from argparse import Namespace

from tqdm import tqdm

from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_description.calibration import load_calibration
from soft_arm_description.options import add_rig, add_robot
from soft_arm_description.rig import load_rig
from soft_arm_experiments.cli.calibrate_virtual import calibrated_rig
from soft_arm_experiments.cli.rig_options import add_tip_sensor, tip_source_of
from soft_arm_io.command_line import CommandLine, positive_count, seed_number
from soft_arm_kinematics.arm import load_bellows_arm
from soft_arm_vision.calibration import extrinsics


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm experiment reach',
        description='Move the tip of a bellows arm to random targets of its workspace, in closed '
        'loop and in simulated time, and compare the true tip with each target at the end of the '
        'move. A move that fails counts with the error that it leaves. Nothing needs to run.',
        epilog='example: softarm experiment reach --robot my_arm.yaml --plant-seed 101 102 103',
    )
    add_robot(parser)
    add_rig(parser)
    parser.add_argument(
        '--plant-seed',
        type=seed_number,
        nargs='+',
        default=[1],
        help='virtual arms, one after the other (default: 1)',
    )
    parser.add_option('--targets', positive_count, 12, 'of each arm')
    add_tip_sensor(parser)
    parser.add_json()
    return parser.answer(argv, _run)


def _run(options: Namespace) -> int:
    # Slow to import.
    from soft_arm_experiments.arm.in_process_rig import in_process_rig
    from soft_arm_experiments.arm.reach import reach, reach_poses, summary

    rig = calibrated_rig(options.rig, options.robot, options.network)
    arm = load_bellows_arm(options.robot, str(rig.folder))
    dynamics = load_calibration(load_rig(str(rig.folder)), Dynamics, arm.robot).values
    camera_m = extrinsics.load(rig, arm.robot).T_base_camera[:3, 3]
    moves = {}
    total = len(options.plant_seed) * options.targets
    with tqdm(total=total, unit='move', file=sys.stderr, desc=arm.robot.name) as progress:
        for seed in options.plant_seed:
            poses_m = reach_poses(arm, camera_m, options.targets, seed)
            with in_process_rig(
                rig,
                arm,
                dynamics,
                seed,
                tip_source=tip_source_of(options),
                network=options.network,
                camera_file=options.camera_file,
            ) as virtual:
                moves[seed] = reach(virtual, arm, poses_m, progress.update)
    by_seed = {str(seed): summary(done) for seed, done in moves.items()}
    every = summary([move for done in moves.values() for move in done])
    if options.json:
        del every['steps']
        print(json.dumps({'robot': arm.robot.name, **every, 'plant_seeds': by_seed}))
        return 0
    print('| plant seed | moves | reached | mean | p95 | largest | median time |')
    print('|---|---|---|---|---|---|---|')
    for name, values in [*by_seed.items(), ('all', every)]:
        print(
            f'| {name} | {values["moves"]} | {values["reached"]} | '
            + ' | '.join(f'{1e3 * values[key]:.2f} mm' for key in ('mean_m', 'p95_m', 'max_m'))
            + f' | {values["median_duration_s"]:.1f} s |'
        )
    return 0
