"""`softarm move`: move the tip to a point or along a path."""

import argparse
import json
import math
import signal
import sys
import time
from typing import Any

from soft_arm_control.cli.arguments import add_namespace
from soft_arm_control.errors import ControlError
from soft_arm_control.tip.goal import MAX_PAYLOAD_KG
from soft_arm_control.tip.path_file import COLUMNS, MAX_COORDINATE_M, MAX_TIME_S, read_path
from soft_arm_io.command_line import CommandLine, input_file, number_in

PRINT_PERIOD_S = 1.0  # if standard error is not a terminal


def main(argv: list[str] | None = None) -> int:
    """Run the command; return 0 at the target, 1 if not reached, 2 for bad input or no rig."""
    return _parser().answer(argv, _move)


def _parser() -> CommandLine:
    parser = CommandLine(
        prog='softarm move',
        description='Move the tip of the running arm to X Y Z [m] or along a path, in closed loop '
        'through the camera. The arm moves. Ctrl-C cancels the goal; the arm stops and holds its '
        'pressures until `softarm vent`.',
    )
    coordinate = number_in(-MAX_COORDINATE_M, MAX_COORDINATE_M)
    parser.add_argument(
        'target',
        nargs='*',
        type=coordinate,
        metavar='X Y Z',
        help='position of the tip [m], such as 0.02 -0.01 0.25',
    )
    parser.add_argument(
        '--path',
        type=input_file,
        metavar='FILE.csv',
        help=f'path to follow instead of X Y Z, with the columns {",".join(COLUMNS)}',
    )
    parser.add_argument(
        '--axis',
        nargs=3,
        type=number_in(-1e6, 1e6),
        metavar=('X', 'Y', 'Z'),
        help='wanted direction of the tip',
    )
    parser.add_argument(
        '--frame',
        default='',
        help="tf frame of the target and its axis, or of the path (default: the arm's base frame)",
    )
    parser.add_argument(
        '--tolerance-m',
        type=number_in(1e-6, 0.1),
        help="distance within which the target is reached [m] (default: the node's, 0.001)",
    )
    parser.add_argument(
        '--timeout-s',
        type=number_in(0.1, MAX_TIME_S),
        help="time limit [s] (default: the node's, 10)",
    )
    parser.add_flag('--open-loop', 'by the model alone: nothing needs to measure the tip')
    parser.add_option(
        '--velocity-scaling',
        number_in(0.01, 1.0),
        1.0,
        'share of the greatest velocity, at most 1',
        metavar='SHARE',
    )
    parser.add_option(
        '--payload-kg',
        number_in(0.0, MAX_PAYLOAD_KG),
        0.0,
        'mass at the tip, added to those in the robot file [kg]',
        metavar='MASS',
    )
    add_namespace(parser, 'soft_arm')
    parser.add_json()
    return parser


def _move(options: argparse.Namespace) -> int:
    if options.path is not None and (
        options.target
        or options.axis
        or options.tolerance_m
        or options.timeout_s
        or options.open_loop
        or options.velocity_scaling != 1.0
    ):
        raise ControlError(
            '--path FILE.csv has its own points and times: '
            'leave X Y Z, --axis, --tolerance-m, --timeout-s, --open-loop and '
            '--velocity-scaling out'
        )
    if options.path is None and len(options.target) != 3:
        raise ControlError(
            f'{len(options.target)} numbers: '
            'give X Y Z in metres, such as 0.02 -0.01 0.25, or --path FILE.csv'
        )
    if options.axis is not None and math.hypot(*options.axis) < 1e-9:
        raise ControlError('--axis 0 0 0 has no direction: give one such as 0 0 1, or leave it out')
    path = None if options.path is None else read_path(options.path)
    from soft_arm_control.ros.arm_client import ArmClient, tip_target  # ROS only when it is needed

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM cancels as Ctrl-C does
    progress = _Progress()
    with ArmClient(options.namespace) as arm:
        if path is None:
            result = arm.move(
                tip_target(options.target, options.axis, options.frame),
                options.tolerance_m or 0.0,
                options.timeout_s or 0.0,
                progress.show,
                options.open_loop,
                options.velocity_scaling,
                options.payload_kg,
            )
        else:
            times_s, points_m = path
            waypoints = [tip_target(point_m, frame=options.frame) for point_m in points_m]
            result = arm.follow(times_s, waypoints, progress.show, options.payload_kg)
    progress.end()
    if options.json:
        print(json.dumps(_fields(result)))
    elif not result.error_code:
        print(_reached(options.target, result) if path is None else _followed(path, result))
    if result.error_code:
        print(f'softarm move: {result.error_msg} (code {result.error_code})', file=sys.stderr)
    return 1 if result.error_code else 0


def _reached(target_m: list[float], result: Any) -> str:
    point = ', '.join(f'{1e3 * v:.1f}' for v in target_m)
    return (
        f'reached: tip {1e3 * result.error_m:.2f} mm from ({point}) mm, '
        f'settled after {result.settle_s:.2f} s; it is held there'
    )


def _followed(path: tuple[list[float], list[list[float]]], result: Any) -> str:
    times_s, _ = path
    return (
        f'followed {len(times_s)} waypoints in {times_s[-1]:g} s: '
        f'distance from the path {1e3 * result.error_mean_m:.2f} mm on average, '
        f'{1e3 * result.error_p95_m:.2f} mm at the 95th percentile'
    )


def _fields(result: Any) -> dict[str, Any]:
    """Return the fields of a result message, None for NaN."""
    fields = {}
    for name in result.get_fields_and_field_types():
        value = getattr(result, name)
        if name == 'position':
            value = [value.x, value.y, value.z]
        elif name == 'pressures_pa':
            value = list(value)
        fields[name] = None if isinstance(value, float) and math.isnan(value) else value
    return fields


class _Progress:
    """Print distance and phase on standard error.

    In a terminal this is one line that is overwritten, else a line every second.
    """

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._printed_s = -math.inf
        self._open = False

    def show(self, phase: str, error_m: float, elapsed_s: float) -> None:
        distance = 'not measured' if math.isnan(error_m) else f'{1e3 * error_m:.1f} mm away'
        line = f'{elapsed_s:5.1f} s  {phase}: {distance}'
        now_s = time.monotonic()
        if self._terminal:
            sys.stderr.write(f'\r{line:60}')
            sys.stderr.flush()
            self._open = True
        elif now_s - self._printed_s >= PRINT_PERIOD_S:
            sys.stderr.write(f'{line}\n')
            self._printed_s = now_s

    def end(self) -> None:
        """Clear the line."""
        if self._open:
            sys.stderr.write('\r' + ' ' * 60 + '\r')
