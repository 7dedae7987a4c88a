"""`softarm kinematics fk|ik|workspace`: kinematics without a running graph."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from soft_arm_description.options import add_rig, add_robot
from soft_arm_io.command_line import CommandLine, finite_number, positive_count
from soft_arm_kinematics.arm import Arm, BellowsArm, load_arm
from soft_arm_kinematics.cli.workspace import add_workspace_options, print_workspace
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments import pcc

if TYPE_CHECKING:
    from soft_arm_kinematics.ik import IkResult

COMPILED_FROM = 20_000  # poses; for fewer, loading the compiler takes longer than answering
# Times its range that a coordinate may lie outside its limits with --beyond-limits.
MAX_EXCESS_RANGES = 100.0
SHOWN_UNITS = {  # of tables, and what a value in SI units is multiplied by
    'm': ('mm', 1e3),
    'rad': ('deg', 180.0 / np.pi),
    'Pa': ('kPa', 1e-3),
    'N m': ('mN m', 1e3),
}
SHOWN = 10  # solutions in the table unless asked otherwise
SCORES = (
    'score',
    'score_angle_change',
    'score_bend_growth',
    'score_stiffness',
    'pressure_margin_pa',
    'explanation',
)


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    return _parser().answer(argv, lambda args: args.command(load_arm(args.robot, args.rig), args))


def _parser() -> CommandLine:
    parser = CommandLine(
        prog='softarm kinematics',
        description='Forward and inverse kinematics; needs no running nodes.',
    )
    commands = parser.add_subparsers(dest='name', required=True)
    fk = commands.add_parser(
        'fk',
        help='configuration to tip pose',
        description='Pose of the tip at given pressures, lengths or coordinates.',
    )
    given = fk.add_mutually_exclusive_group(required=True)
    given.add_argument(
        '--pressures-pa',
        nargs='+',
        type=finite_number,
        metavar='P',
        help='gauge pressure of every chamber [Pa]',
    )
    given.add_argument(
        '--lengths-m',
        nargs='+',
        metavar='L',
        help='length of every bellows [m], or - for a JSON array of such vectors on standard '
        'input; answers {"poses": [4x4 ...], "actuator_radius_m": h, "within_limits": [true ...]}',
    )
    given.add_argument(
        '--actuation',
        nargs='+',
        metavar='X',
        help="the robot's coordinates in their SI units, or - as for --lengths-m",
    )
    fk.add_flag(
        '--beyond-limits', 'also take values outside the limits: a pose of the geometry alone'
    )
    fk.add_flag('--arcs-only', 'leave out the rigid ends of the segments')
    fk.set_defaults(command=_fk)
    ik = commands.add_parser(
        'ik',
        help='tip position to pressures',
        description='All ways to bring the tip to a target, best first.',
    )
    ik.add_argument(
        '--target-m',
        required=True,
        nargs='+',
        metavar='X',
        help='tip position x y z in the base frame [m], or - for a JSON array of targets on '
        'standard input; answers {"results": [...]}',
    )
    ik.add_argument(
        '--axis',
        nargs=3,
        type=finite_number,
        metavar=('X', 'Y', 'Z'),
        help='wanted direction of the tip axis (default: any)',
    )
    ik.add_argument(
        '--present-lengths-m',
        nargs='+',
        type=finite_number,
        metavar='L',
        help='lengths now [m] (default: at ambient pressure)',
    )
    ik.add_argument(
        '--max-solutions',
        type=positive_count,
        metavar='N',
        help=f'largest number (default: all with --json, else {SHOWN})',
    )
    ik.set_defaults(command=_ik)
    workspace = commands.add_parser(
        'workspace',
        help='what the tip can reach',
        description='Volume, boundary and plot of the positions that the tip reaches; takes a few '
        'seconds.',
    )
    add_workspace_options(workspace)
    workspace.set_defaults(command=print_workspace)
    for command in (fk, ik, workspace):
        add_robot(command)
        add_rig(command)
        command.add_json()
    return parser


def _fk(arm: Arm, args: argparse.Namespace) -> int:
    if args.arcs_only:
        arm = without_rigid_parts(arm)
    vectors = args.lengths_m or args.actuation
    if args.lengths_m and not isinstance(arm, BellowsArm):
        raise KinematicsError(
            f'robot {arm.robot.name} has no lengths ({_kinds(arm)}): give --actuation, '
            f'{arm.coordinates_text}'
        )
    if vectors == ['-']:
        radii = [s.actuators.centre_radius_m for s in arm.robot.segments if s.kind == 'bellows']
        rows = _rows_of(sys.stdin.read(), arm.n_actuators)
        within_limits = check_limits(arm, rows, beyond=True)
        if not within_limits.all():
            count, first = np.count_nonzero(~within_limits), int(np.argmin(within_limits))
            sys.stderr.write(
                f'{count} of {len(rows)} vectors lie outside the limits, the first is vector '
                f'{first}: see within_limits\n'
            )
        poses = _poses(arm, rows)
        answer = {
            'poses': poses.tolist(),
            'actuator_radius_m': radii[0] if len(set(radii)) == 1 else radii or None,
        }
        print(json.dumps(answer | {'within_limits': within_limits.tolist()}))
        return 0
    if args.pressures_pa and not arm.is_pressure_driven:
        raise KinematicsError(
            f'pressures alone do not set robot {arm.robot.name} ({_kinds(arm)}): give --actuation, '
            f'{arm.coordinates_text}'
        )
    q = arm.q_at(args.pressures_pa) if args.pressures_pa else arm.checked(_numbers(vectors))
    inside = bool(check_limits(arm, q, args.beyond_limits))
    shape = arm.at(q)
    segments = [
        {
            'name': name,
            'theta_rad': float(shape.theta_rad[i]),
            'phi_rad': float(shape.phi_rad[i]),
            'ell_m': float(shape.ell_m[i]),
            'tip_m': shape.segment_poses[i, :3, 3].tolist(),
            'tip_q_xyzw': pcc.q_xyzw(shape.segment_poses[i]).tolist(),
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
                    _q_key(arm): q.tolist(),
                    'within_limits': inside,
                    'segments': segments,
                }
            )
        )
        return 0
    for coordinate, value in zip(arm.robot.coordinates, q, strict=True):
        unit, factor = SHOWN_UNITS[coordinate.unit]
        print(f'{coordinate.name:16} {value * factor:9.2f} {unit}')
    print('\nsegment    theta [deg]  phi [deg]  ell [mm]   tip x, y, z [mm]')
    for s in segments:
        x, y, z = np.round(np.array(s['tip_m']) * 1e3, 2) + 0.0  # no -0.00
        print(
            f'{s["name"]:10} {np.rad2deg(s["theta_rad"]):11.2f} {np.rad2deg(s["phi_rad"]):10.2f} '
            f'{s["ell_m"] * 1e3:9.2f}   '
            f'{x:.2f}, {y:.2f}, {z:.2f}'
        )
    return 0


def check_limits(arm: Arm, q: np.ndarray, beyond: bool) -> np.ndarray:
    """Test whether each q (..., n) is inside the limits, (...).

    Raises:
        KinematicsError: If a value is outside and `beyond` is not set, or is further outside than
            `MAX_EXCESS_RANGES` times its range.
    """
    low, high = arm.q_limits
    excess = np.maximum(low - q, q - high) / (high - low)
    outside = excess > (MAX_EXCESS_RANGES if beyond else 1e-6)
    if outside.any():
        index = tuple(np.argwhere(outside)[0])
        c, vector = (
            arm.robot.coordinates[index[-1]],
            f'vector {index[0]}: ' if len(index) > 1 else '',
        )
        remedy = (
            'give a value nearer to them'
            if beyond
            else 'give a value inside, or --beyond-limits for a pose of the geometry alone'
        )
        raise KinematicsError(
            f'{vector}{c.name} is {q[index]:.7g} {c.unit}, outside its limits '
            f'{low[index[-1]]:.7g}..{high[index[-1]]:.7g} {c.unit}: {remedy}'
        )
    return (excess <= 1e-6).all(axis=-1)


def _q_key(arm: Arm) -> str:
    return 'lengths_m' if isinstance(arm, BellowsArm) else 'actuation'


def _kinds(arm: Arm) -> str:
    return ', '.join(sorted({segment.kind for segment in arm.robot.segments}))


def _poses(arm: Arm, rows: np.ndarray) -> np.ndarray:
    if len(rows) < COMPILED_FROM:
        return arm.at(rows).tip_pose
    from soft_arm_kinematics.backends.fast_fk import fk_batch  # loads the compiler

    return fk_batch(arm, rows)


def _ik(arm: Arm, args: argparse.Namespace) -> int:
    from soft_arm_kinematics.ik import InverseKinematics  # loads the compiler

    limit = args.max_solutions if args.max_solutions or args.json else SHOWN
    solver = InverseKinematics(arm)
    if args.target_m == ['-']:
        targets_m = _rows_of(sys.stdin.read(), 3)
        print(
            json.dumps(
                {
                    'results': [
                        _answer(arm, solver.solve(t, args.axis, args.present_lengths_m, limit))
                        for t in targets_m
                    ]
                }
            )
        )
        return 0
    result = solver.solve(_numbers(args.target_m), args.axis, args.present_lengths_m, limit)
    if args.json:
        print(json.dumps(_answer(arm, result)))
    if not result.solutions:
        raise KinematicsError(result.message)
    if not args.json:
        units = [SHOWN_UNITS[c.unit] for c in arm.robot.coordinates]
        coordinates = zip(arm.robot.coordinates, units, strict=True)
        print(
            '     score   angle    bend   stiff  margin [kPa]   '
            + (
                'pressures [kPa]: ' + ' '.join(arm.robot.chambers)
                if arm.is_pressure_driven
                else 'coordinates: '
                + ', '.join(f'{c.name} [{unit}]' for c, (unit, _) in coordinates)
            )
        )
        for i, s in enumerate(result.solutions, start=1):
            margin = '-' if s.pressure_margin_pa is None else f'{s.pressure_margin_pa / 1e3:.2f}'
            values = (
                s.pressures_pa / 1e3
                if arm.is_pressure_driven
                else s.q * [factor for _, factor in units]
            )
            print(
                f'{i:3} {s.score:6.3f} {s.score_angle_change:7.3f} {s.score_bend_growth:7.3f} '
                f'{s.score_stiffness:7.3f} {margin:>13}   '
                + ' '.join(f'{value:7.2f}' for value in values)
            )
        print(f'\nbest: {result.solutions[0].explanation}')
    return 0


def _answer(arm: Arm, result: 'IkResult') -> dict[str, Any]:
    arrays = (_q_key(arm), 'pressures_pa', 'theta_rad', 'phi_rad', 'ell_m')
    return {
        'robot': arm.robot.name,
        'frame': arm.robot.base.frame,
        'target_m': result.target_m.tolist(),
        'reachable': result.reachable,
        'nearest_m': result.nearest_m.tolist(),
        'distance_m': result.distance_m,
        'message': result.message,
        'solutions': [
            {key: getattr(s, key).tolist() for key in arrays}
            | {key: getattr(s, key) for key in ('residual_m', *SCORES)}
            for s in result.solutions
        ],
    }


def without_rigid_parts(arm: Arm) -> Arm:
    """The same arm with rigid ends of length 0."""
    segments = tuple(s.model_copy(update={'rigid_length_m': 0.0}) for s in arm.robot.segments)
    robot = arm.robot.model_copy(update={'segments': segments})
    return BellowsArm(robot, arm.curve) if isinstance(arm, BellowsArm) else Arm(robot)


def _rows_of(text: str, size: int) -> np.ndarray:
    """Vectors (m, size) of a JSON array, m >= 0."""
    try:
        rows = json.loads(text)
    except ValueError as error:
        raise KinematicsError(
            f'standard input is not JSON ({error}): give an array of vectors of {size} numbers'
        ) from error
    if not isinstance(rows, list):
        raise KinematicsError(
            f'standard input is not an array: give an array of vectors of {size} numbers'
        )
    for i, row in enumerate(rows):
        if (
            not isinstance(row, list)
            or len(row) != size
            or not all(type(v) in (int, float) for v in row)
        ):
            raise KinematicsError(
                f'vector {i} of standard input is {json.dumps(row)[:60]}: give {size} numbers'
            )
    rows = np.array(rows, dtype=float).reshape(-1, size)
    if not np.isfinite(rows).all():
        i = int(np.argmin(np.isfinite(rows).all(axis=1)))
        raise KinematicsError(
            f'vector {i} of standard input is {rows[i].tolist()}: give finite numbers'
        )
    return rows


def _numbers(words: list[str]) -> np.ndarray:
    numbers = []
    for word in words:
        try:
            numbers.append(finite_number(word))
        except argparse.ArgumentTypeError as error:
            raise KinematicsError(f'{error}: give numbers, or - alone for standard input') from None
    return np.array(numbers)
