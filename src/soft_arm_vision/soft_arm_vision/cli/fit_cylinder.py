"""`softarm vision fit`: fit one cylinder to a point cloud."""

import json
from argparse import Namespace

import numpy as np

from soft_arm_io.command_line import (
    CommandLine,
    finite_number,
    input_file,
    number_in,
    seed_number,
)
from soft_arm_vision.clouds.scene_cylinder import RADIUS_LIMITS_M, SceneCylinder, find_cylinder

UNITS_M = {'m': 1.0, 'mm': 1e-3}


def main(argv: list[str]) -> int:
    """Entry point; returns the exit code."""
    parser = CommandLine(prog='softarm vision fit', description='Fit one cylinder to a cloud.')
    parser.add_argument(
        'cloud',
        type=input_file,
        help='.pcd, .ply or .npy file; results are in the coordinates of its stored points',
    )
    parser.add_argument(
        '--unit',
        choices=UNITS_M,
        default='m',
        help='unit of length of the cloud; options and results are in metres (default: m)',
    )
    parser.add_argument(
        '--radius-m',
        type=number_in(*RADIUS_LIMITS_M),
        help='known radius (default: the radius is estimated)',
    )
    parser.add_argument(
        '--height-m',
        type=number_in(1e-3, 10.0),
        help='known height: walls that are much higher or lower are rejected',
    )
    parser.add_argument(
        '--viewpoint-m',
        type=finite_number,
        nargs=3,
        metavar=('X', 'Y', 'Z'),
        help='position of the camera, which separates outside and inside of a hollow body '
        '(default: the origin; needed for a PCD file whose VIEWPOINT is not at the origin)',
    )
    parser.add_option('--seed', seed_number, 0, 'seed of the random choices')
    parser.add_json()
    return parser.answer(argv, _fit)


def _fit(options: Namespace) -> int:
    from soft_arm_vision.clouds.cloud_file import read_cloud  # slow to import

    found = find_cylinder(
        UNITS_M[options.unit] * read_cloud(options.cloud, options.viewpoint_m is not None),
        radius_m=options.radius_m,
        height_m=options.height_m,
        viewpoint=None if options.viewpoint_m is None else np.array(options.viewpoint_m),
        seed=options.seed,
    )
    if options.json:
        plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in vars(found).items()}
        names = {'centre': 'centre_m', 'covariance': 'covariance_m_rad'}
        print(json.dumps({names.get(k, k): v for k, v in plain.items()}))
    else:
        _print(found)
    return 0


def _print(found: SceneCylinder) -> None:
    centre_mm = ' '.join(f'{1e3 * x:.2f}' for x in found.centre)
    std_mm = ' '.join(f'{1e3 * s:.2f}' for s in np.sqrt(np.diag(found.covariance)[:3]))
    given = 'given' if found.radius_std_m is None else f'+- {1e3 * found.radius_std_m:.2f} mm'
    print(f'centre  {centre_mm} mm, +- {std_mm}')
    print(f'axis    {" ".join(f"{a:.4f}" for a in found.axis)}')
    print(f'radius  {1e3 * found.radius_m:.2f} mm, {given}')
    print(f'height  {1e3 * found.height_m:.1f} mm visible')
    if found.thickness_m is not None:
        surface = 'outer surface' if found.radius_std_m is None else 'middle surface'
        print(f'wall    {1e3 * found.thickness_m:.1f} mm thick; the radius is of its {surface}')
    print(f'seen    from {found.seen_from}')
    print(f'inliers {found.inliers}, {100 * found.inlier_share:.0f} % of their part of the cloud')
