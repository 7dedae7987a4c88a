"""`softarm experiment ring`: repeat table 6 of the vision paper, 30 fits at ten random poses."""

import json
import sys
from argparse import Namespace

import numpy as np
from tqdm import tqdm

from soft_arm_calibration.cli.camera_options import add_tip_source
from soft_arm_description.options import add_robot
from soft_arm_description.robot import load_robot
from soft_arm_experiments.arm.ring_places import PAPER_ERROR_M, Place, measure_places
from soft_arm_io.command_line import (
    CommandLine,
    number_in,
    positive_count,
    seed_number,
    whole_number_in,
)
from soft_arm_vision.errors import VisionError


def main(argv: list[str]) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm experiment ring',
        description='Fit the ring repeatedly at random poses of the virtual arm, as in table 6 of '
        'the vision paper.',
    )
    add_robot(parser)
    parser.add_option('--places', positive_count, 10, 'number of poses')
    parser.add_option('--fits', whole_number_in(3, 10**6), 30, 'number of fits at each pose')
    add_tip_source(parser, ('yolact', 'colour'))
    parser.add_option(
        '--depth-scale-error',
        number_in(-0.1, 0.1),
        0.0,
        "relative error of the camera's depth scale; 0.002 is usual before calibration",
    )
    parser.add_option('--seed', seed_number, 1, 'random seed of poses and noise')
    parser.add_json()
    return parser.answer(argv, _measure)


def _measure(options: Namespace) -> int:
    with tqdm(
        total=options.places, unit=' places', file=sys.stderr, disable=not sys.stderr.isatty()
    ) as bar:
        places = measure_places(
            load_robot(options.robot),
            places=options.places,
            frames=options.fits,
            segmenter=options.tip_source,
            network=options.network,
            depth_scale_error=options.depth_scale_error,
            seed=options.seed,
            report=bar.update,
        )
    if not places:
        raise VisionError('the camera saw the ring at no place')
    if options.json:
        print(json.dumps(_plain(places)))
    else:
        _print(places)
    return 0


def _plain(places: list[Place]) -> dict:
    rows = [
        {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in vars(p).items()}
        | {'error_m': p.error_m}
        for p in places
    ]
    return {
        'error_mean_m': _mean(places, 'error_m'),
        'std_mean_m': _mean(places, 'std_m'),
        'paper_error_mean_m': np.mean(PAPER_ERROR_M),
        'places': rows,
    }


def _mean(places: list[Place], name: str) -> float:
    return float(np.mean([getattr(p, name) for p in places]))


def _print(places: list[Place]) -> None:
    paper_mm = 1e3 * np.mean(PAPER_ERROR_M)
    print(
        'place            true [mm]            mean of fits [mm]   |mean - true|   std  '
        '[mm]  axis [deg]  fits   paper [mm]'
    )
    for i, p in enumerate(places):
        true, mean = (' '.join(f'{1e3 * x:7.2f}' for x in point) for point in (p.true_m, p.mean_m))
        paper = f'{1e3 * PAPER_ERROR_M[i]:6.2f}' if i < len(PAPER_ERROR_M) else '     -'
        errors = f'{1e3 * p.error_m:8.3f}   {1e3 * p.std_m:8.3f}  {np.degrees(p.axis_rad):8.2f}'
        print(f'{i + 1:3d}   {true}   {mean}   {errors}  {p.fits:4d}/{p.frames}  {paper}')
    print(
        f'mean{"":49s}{1e3 * _mean(places, "error_m"):8.3f}   '
        f'{1e3 * _mean(places, "std_m"):8.3f}{"":21s}{paper_mm:6.2f}'
    )
