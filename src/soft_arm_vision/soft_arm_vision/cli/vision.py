"""`softarm vision`: cylinders in clouds and data sets of rings."""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from soft_arm_vision.cloud_file import read_cloud
from soft_arm_vision.errors import VisionError
from soft_arm_vision.scene_cylinder import find_cylinder


def main(argv: list[str]) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(prog='softarm vision', description='Cylinders in clouds and data sets of rings.')
    commands = parser.add_subparsers(required=True, metavar='fit|draw')
    fit = commands.add_parser('fit', help='fit one cylinder to a cloud')
    fit.add_argument('cloud', type=Path, help='.pcd, .ply or .npy, in metres')
    fit.add_argument('--radius-m', type=_length, help='known radius (default: it is estimated)')
    fit.add_argument('--height-m', type=_length, help='known height: much higher or lower walls are refused')
    fit.add_argument(
        '--viewpoint-m', type=float, nargs=3, metavar=('X', 'Y', 'Z'), help='camera: only the side that it sees is wall (default: any side)'
    )
    fit.add_argument('--seed', type=int, default=0, help='of the random choices (default: %(default)s)')
    fit.add_argument('--json', action='store_true', help='print JSON')
    fit.set_defaults(action=_fit)
    draw = commands.add_parser('draw', help='draw a labelled data set of the ring with the virtual camera')
    draw.add_argument('folder', type=Path)
    draw.add_argument('--robot', default='two_module_arm', help='whose arm and ring (default: %(default)s)')
    draw.add_argument('--domain', choices=('training', 'held_out'), default='held_out', help='family of scenes (default: %(default)s)')
    draw.add_argument('--frames', type=int, default=200, help='(default: %(default)s)')
    draw.add_argument('--seed', type=int, default=0, help='(default: %(default)s)')
    draw.add_argument('--scale', type=float, default=1.0, help="of the picture, relative to the camera's (default: %(default)s)")
    draw.add_argument('--ringless-share', type=float, default=0.15, help='of the frames (default: %(default)s)')
    draw.set_defaults(action=_draw)
    options = parser.parse_args(argv)
    try:
        return options.action(options)
    except VisionError as error:
        print(f'softarm vision: {error}', file=sys.stderr)
        return 2


def _length(text: str) -> float:
    value = float(text)
    if not 1e-3 <= value <= 10.0:
        raise argparse.ArgumentTypeError(f'{text} m is outside [0.001, 10] m')
    return value


def _fit(options) -> int:
    viewpoint = None if options.viewpoint_m is None else np.array(options.viewpoint_m)
    found = find_cylinder(
        read_cloud(options.cloud), radius_m=options.radius_m, height_m=options.height_m, viewpoint=viewpoint, seed=options.seed
    )
    if options.json:
        plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in vars(found).items()}
        names = {'centre': 'centre_m', 'covariance': 'covariance_m_rad'}
        print(json.dumps({names.get(k, k): v for k, v in plain.items()}))
        return 0
    std_mm = 1e3 * np.sqrt(np.diag(found.covariance)[:3])
    given = 'given' if found.radius_std_m is None else f'+- {1e3 * found.radius_std_m:.2f} mm'
    print(f'centre  {_millimetres(found.centre)} mm, +- {" ".join(f"{s:.2f}" for s in std_mm)}')
    print(f'axis    {" ".join(f"{a:.4f}" for a in found.axis)}')
    print(f'radius  {1e3 * found.radius_m:.2f} mm, {given}')
    print(f'height  {1e3 * found.height_m:.1f} mm seen')
    print(f'inliers {found.inliers}, {100 * found.inlier_share:.0f} % of the part they were found in')
    return 0


def _millimetres(point: np.ndarray) -> str:
    return ' '.join(f'{1e3 * x:.2f}' for x in point)


def _draw(options) -> int:
    from soft_arm_vision.data_factory import write_ring_set  # OpenGL and MuJoCo: only where they are needed

    count = write_ring_set(
        options.folder, options.robot, options.domain, options.frames, seed=options.seed, scale=options.scale,
        ringless_share=options.ringless_share,
    )  # fmt: skip
    print(f'{count} frames in {options.folder}')
    return 0
