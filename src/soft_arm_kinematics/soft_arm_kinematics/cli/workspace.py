"""`softarm kinematics workspace`: what the tip can reach."""

import argparse
import json

import numpy as np

from soft_arm_io.command_line import CommandLine, number_in, plot_file
from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.errors import KinematicsError


def add_workspace_options(parser: CommandLine) -> None:
    """Add the options of `print_workspace`."""
    parser.add_argument('--plot', type=plot_file, metavar='FILE', help='draw it (PNG)')
    parser.add_argument(
        '--points-m',
        nargs='+',
        type=number_in(-100.0, 100.0),
        metavar='X',
        help='points x y z ... [m] whose distance to the boundary is printed',
    )


def print_workspace(arm: Arm, args: argparse.Namespace) -> int:
    """Print and draw the reachable positions of an arm; return the exit status."""
    from soft_arm_kinematics.workspace import reachable_set  # loads the compiler

    if args.plot:  # says at once if Matplotlib is missing
        from soft_arm_kinematics.plots import draw_workspace
    points_m = np.array(args.points_m or [])
    if points_m.size % 3:
        raise KinematicsError(f'--points-m has {points_m.size} numbers: give x y z for each point')
    reachable = reachable_set(arm)
    distances_m = reachable.distance_m(points_m.reshape(-1, 3))
    if args.plot:
        draw_workspace(arm, reachable).savefig(args.plot)
    low, high = reachable.limits_m
    if args.json:
        print(
            json.dumps(
                {
                    'robot': arm.robot.name,
                    'frame': arm.robot.base.frame,
                    'volume_m3': reachable.volume_m3,
                    'volume_error_m3': reachable.volume_error_m3,
                    'cell_m': reachable.cell_m,
                    'limits_m': [low.tolist(), high.tolist()],
                    'boundary_points': len(reachable.boundary_m),
                    'distances_m': distances_m.tolist(),
                }
            )
        )
        return 0
    print(
        f'volume {reachable.volume_text} (two standard errors); cells of '
        f'{reachable.cell_m * 1e3:.2f} mm'
    )
    print(
        f'x, y, z from {np.round(low * 1e3, 1).tolist()} to {np.round(high * 1e3, 1).tolist()} mm'
    )
    for point_m, distance_m in zip(points_m.reshape(-1, 3), distances_m, strict=True):
        print(
            f'{np.round(point_m * 1e3, 2).tolist()} mm: {abs(distance_m) * 1e3:.1f} mm '
            f'{"inside" if distance_m > 0 else "outside"}'
        )
    return 0
