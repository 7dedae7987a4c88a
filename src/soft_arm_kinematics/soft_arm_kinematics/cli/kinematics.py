"""`softarm kinematics fk|ik`: forward and inverse kinematics without a running graph."""

import argparse
import json
import re
import sys

import numpy as np

from soft_arm_description.calibration import CalibrationError
from soft_arm_description.robot import RobotFileError
from soft_arm_kinematics import pcc
from soft_arm_kinematics.arm import Arm, load_arm
from soft_arm_kinematics.errors import KinematicsError

SHOWN = 10  # solutions in the table unless asked otherwise


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = _parser()
    args = parser.parse_args(argv)
    try:
        return args.command(load_arm(args.robot, args.rig), args)
    except (KinematicsError, RobotFileError, CalibrationError) as error:
        print(f'softarm kinematics {args.name}: {error}', file=sys.stderr)
        return 2


def _parser():
    parser = argparse.ArgumentParser(prog='softarm kinematics', description='Forward and inverse kinematics; needs no running nodes.')
    commands = parser.add_subparsers(dest='name', required=True)
    fk = commands.add_parser('fk', help='pressures to tip pose', description='Pose of the tip at given pressures.')
    fk.add_argument('--pressures-pa', required=True, nargs='+', type=float, metavar='P', help='gauge pressure of every chamber [Pa]')
    fk.set_defaults(command=_fk)
    ik = commands.add_parser('ik', help='tip position to pressures', description='All ways to bring the tip to a target, best first.')
    ik.add_argument('--target-m', required=True, nargs=3, type=float, metavar=('X', 'Y', 'Z'), help='tip position in the base frame [m]')
    ik.add_argument('--axis', nargs=3, type=float, metavar=('X', 'Y', 'Z'), help='wanted direction of the tip axis (default: any)')
    ik.add_argument('--present-lengths-m', nargs='+', type=float, metavar='L', help='lengths now [m] (default: at ambient pressure)')
    ik.add_argument('--max-solutions', type=int, metavar='N', help=f'largest number (default: all with --json, else {SHOWN})')
    ik.set_defaults(command=_ik)
    for command in (fk, ik):
        # Python < 3.14 takes -30e3 for an option
        command._negative_number_matcher = re.compile(r'^-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$|^-inf$')
        command.add_argument('--robot', default='two_module_arm', help='name or path of the robot file (default: %(default)s)')
        command.add_argument('--rig', default='virtual', help='rig whose calibration is used (default: %(default)s)')
        command.add_argument('--json', action='store_true', help='print JSON')
    return parser


def _fk(arm: Arm, args) -> int:
    lengths_m = arm.lengths(args.pressures_pa)
    theta, phi, ell = arm.polar(lengths_m)
    poses = arm.fk_segments(lengths_m)
    segments = [
        {
            'name': name,
            'theta_rad': float(theta[i]),
            'phi_rad': float(phi[i]),
            'ell_m': float(ell[i]),
            'tip_m': poses[i, :3, 3].tolist(),
            'tip_q_xyzw': pcc.q_xyzw(poses[i]).tolist(),
        }
        for i, name in enumerate(arm.robot.segment_names)
    ]
    if args.json:
        print(
            json.dumps(
                {
                    'robot': arm.robot.name,
                    'frame': arm.robot.base.frame,
                    'tip_m': segments[-1]['tip_m'],
                    'tip_q_xyzw': segments[-1]['tip_q_xyzw'],
                    'lengths_m': lengths_m.tolist(),
                    'segments': segments,
                }
            )
        )
        return 0
    print('chamber   ' + ' '.join(f'{name:>9}' for name in arm.robot.chambers))
    print('[kPa]     ' + ' '.join(f'{p / 1e3:9.2f}' for p in args.pressures_pa))
    print('[mm]      ' + ' '.join(f'{length * 1e3:9.2f}' for length in lengths_m))
    print('\nsegment    theta [deg]  phi [deg]  ell [mm]   tip x, y, z [mm]')
    for s in segments:
        x, y, z = np.array(s['tip_m']) * 1e3
        print(
            f'{s["name"]:10} {np.rad2deg(s["theta_rad"]):11.2f} {np.rad2deg(s["phi_rad"]):10.2f} {s["ell_m"] * 1e3:9.2f}   '
            f'{x:.2f}, {y:.2f}, {z:.2f}'
        )
    return 0


def _ik(arm: Arm, args) -> int:
    if args.max_solutions is not None and args.max_solutions < 1:
        raise KinematicsError(f'--max-solutions {args.max_solutions}: give at least 1')
    from soft_arm_kinematics.inverse import InverseKinematics  # the compiler it loads is not needed for fk

    limit = args.max_solutions if args.max_solutions or args.json else SHOWN
    result = InverseKinematics(arm).solve(args.target_m, args.axis, args.present_lengths_m, limit)
    if args.json:
        arrays = 'lengths_m', 'pressures_pa', 'theta_rad', 'phi_rad', 'ell_m'
        scalars = 'residual_m', 'score', 'score_angle_change', 'score_bend_growth', 'score_stiffness', 'pressure_margin_pa', 'explanation'
        print(
            json.dumps(
                {
                    'robot': arm.robot.name,
                    'frame': arm.robot.base.frame,
                    'target_m': result.target_m.tolist(),
                    'reachable': result.reachable,
                    'nearest_m': result.nearest_m.tolist(),
                    'distance_m': result.distance_m,
                    'message': result.message,
                    'solutions': [
                        {key: getattr(s, key).tolist() for key in arrays} | {key: getattr(s, key) for key in scalars}
                        for s in result.solutions
                    ],
                }
            )
        )
    if not result.solutions:
        raise KinematicsError(result.message)
    if not args.json:
        print('     score   angle    bend   stiff  margin [kPa]   pressures [kPa]: ' + ' '.join(arm.robot.chambers))
        for i, s in enumerate(result.solutions, start=1):
            print(
                f'{i:3} {s.score:6.3f} {s.score_angle_change:7.3f} {s.score_bend_growth:7.3f} {s.score_stiffness:7.3f} '
                f'{s.pressure_margin_pa / 1e3:13.2f}   ' + ' '.join(f'{p / 1e3:7.2f}' for p in s.pressures_pa)
            )
        print(f'\nbest: {result.solutions[0].explanation}')
    return 0
