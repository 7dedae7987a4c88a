"""`softarm ik explain`: why the best solution of a target is the best, drawn and in words."""

import argparse
import json
from pathlib import Path

import numpy as np

from soft_arm_description.options import add_rig, add_robot
from soft_arm_io.command_line import CommandLine, finite_number, plot_file, whole_number_in
from soft_arm_kinematics.arm import Arm, load_arm
from soft_arm_kinematics.cli.kinematics import SCORES, add_solver_options
from soft_arm_kinematics.errors import KinematicsError

APART = 0.1  # share of a coordinate's range by which rivals differ: nearer ones look the same


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = CommandLine(
        prog='softarm ik', description='Inverse kinematics, explained; needs no running nodes.'
    )
    explain = parser.add_subparsers(dest='name', required=True).add_parser(
        'explain',
        help='the best solution beside its rivals',
        description='Draw the best solution and its rivals side by side with their scores. A rival '
        f"is the next best that differs from those before it by {APART:.0%} of some coordinate's "
        'range.',
    )
    explain.add_argument(
        '--target-m',
        required=True,
        nargs=3,
        type=finite_number,
        metavar=('X', 'Y', 'Z'),
        help='tip position in the base frame [m]',
    )
    add_solver_options(explain)
    explain.add_argument(
        '--plot',
        type=plot_file,
        default=Path('ik_explain.png'),
        metavar='FILE',
        help='PNG to write (default: %(default)s)',
    )
    explain.add_argument(
        '--rivals',
        type=whole_number_in(0, 8),
        default=3,
        metavar='N',
        help='how many rivals (default: %(default)s)',
    )
    add_robot(explain)
    add_rig(explain)
    explain.add_json()
    return parser.answer(argv, _explain, KinematicsError)


def apart(arm: Arm, q: np.ndarray, count: int) -> list[int]:
    """Choose at most `count` rows of q (k, n): the first, then those that differ enough."""
    shares = q / np.diff(arm.q_limits, axis=0)[0]
    rows: list[int] = []
    for row, share in enumerate(shares):
        if len(rows) < count and all(
            np.abs(share - shares[other]).max() >= APART for other in rows
        ):
            rows.append(row)
    return rows


def _explain(args: argparse.Namespace) -> int:
    from soft_arm_kinematics.ik import InverseKinematics  # --help loads neither the compiler
    from soft_arm_kinematics.plots import draw_solutions  # nor Matplotlib

    arm = load_arm(args.robot, args.rig)
    result = InverseKinematics(arm).solve(args.target_m, args.axis, args.present_lengths_m)
    if not result.solutions:
        raise KinematicsError(result.message)
    ranks = apart(arm, np.array([s.q for s in result.solutions]), args.rivals + 1)
    shown = [result.solutions[rank] for rank in ranks]
    present = (
        arm.rest_q
        if args.present_lengths_m is None
        else np.clip(args.present_lengths_m, *arm.q_limits)
    )
    figure = draw_solutions(arm, result.target_m, shown, [rank + 1 for rank in ranks], present)
    figure.savefig(args.plot)
    if args.json:
        print(
            json.dumps(
                {
                    'plot': str(args.plot),
                    'solutions': [{key: getattr(s, key) for key in SCORES} for s in shown],
                }
            )
        )
        return 0
    for number, s in enumerate(shown):
        print(
            f'{"best" if number == 0 else f"rival {number}"}: score {s.score:.3f} = angle change '
            f'{s.score_angle_change:.3f}, bend growth {s.score_bend_growth:.3f}, stiffness '
            f'{s.score_stiffness:.3f}, each times its weight. {s.explanation}'
        )
    print(f'drawn in {args.plot}')
    return 0
