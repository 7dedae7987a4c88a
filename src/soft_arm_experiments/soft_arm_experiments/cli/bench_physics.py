"""`softarm bench physics`: measure the figures promised for the physics on this machine."""

import json
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tqdm import tqdm

from soft_arm_description.command_line import CommandLine, input_file, input_path

PROMISES = {  # key: (limit, whether the figure must be at least the limit)
    'cantilever_error_fraction': (0.003, False),
    'cantilever_error_fraction_10': (0.01, False),
    'cantilever_order': (3.5, True),
    'twist_error_fraction': (0.003, False),
    'twist_order': (3.5, True),
    'frequency_error_fraction': (0.005, False),
    'cosserat_error_fraction': (0.01, False),
    'blocked_force_error_fraction': (0.02, False),
    'rtf_arm': (20.0, True),
    'rtf_hand': (5.0, True),
    'rtf_squid': (5.0, True),
    'rollout_scaling': (1.8, True),
    'somo_ratio': (40.0, True),
    'somo_ball_ratio': (20.0, True),
}
WITH_SOMO = {'somo_ratio', 'somo_ball_ratio'}


def main(argv: list[str] | None = None) -> int:
    """Entry point; return 0, or 1 if a figure misses its limit."""
    parser = CommandLine(
        prog='softarm bench physics',
        description='Measure accuracy and speed of the physics; the machine should be idle. '
        'Takes about ten seconds.',
        epilog='example: softarm bench physics --json --somo somo --somo-python venv/bin/python',
    )
    parser.add_json()
    parser.add_argument(
        '--somo',
        type=input_path,
        metavar='CHECKOUT',
        help='also compare the speed with SoMo, of which this is a checkout, at equal tip error: '
        '20 s more',
    )
    parser.add_argument(
        '--somo-python',
        type=input_file,
        metavar='PYTHON',
        default=Path(sys.executable),
        help='Python that has PyBullet and NumPy < 1.24, which SoMo needs (default: this one)',
    )
    from soft_arm_physics.errors import PhysicsError

    return parser.answer(argv, _measure, PhysicsError)


def _measure(args: Namespace) -> int:
    # Slow to import (MuJoCo, Numba, PyElastica): after the arguments are checked.
    from soft_arm_experiments.physics import figures as accuracy
    from soft_arm_experiments.physics import speed

    figures: dict[str, Any] = dict.fromkeys(sorted(WITH_SOMO))
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        'cantilever': accuracy.cantilever_figures,
        'twist': accuracy.twist_figures,
        'frequency': accuracy.frequency_figures,
        'Cosserat rod': accuracy.cosserat_figures,
        'blocked force': accuracy.blocked_force_figures,
        'arm': speed.arm_figures,
        'hand': speed.hand_figures,
        'squid': speed.squid_figures,
        'rollouts': speed.rollout_figures,
    }
    if args.somo is not None:
        from soft_arm_experiments.physics.somo import somo_figures

        parts['SoMo'] = lambda: somo_figures(args.somo, args.somo_python)
    with tqdm(
        parts.items(), unit='part', file=sys.stderr, disable=not sys.stderr.isatty()
    ) as progress:
        for name, measure in progress:
            progress.set_description(name)
            figures |= measure()
    missed = missed_bars(figures, with_somo=args.somo is not None)
    if args.json:
        print(json.dumps(figures | {'missed': missed}))
    else:
        _print(figures, missed)
    return 1 if missed else 0


def missed_bars(figures: dict[str, Any], with_somo: bool) -> list[str]:
    """Keys of the figures that miss their limits; those of SoMo count with a checkout only."""
    return [
        key
        for key, (limit, at_least) in PROMISES.items()
        if (with_somo or key not in WITH_SOMO)
        and (
            figures[key] is None
            or not (figures[key] >= limit if at_least else figures[key] <= limit)
        )
    ]


def _print(figures: dict[str, Any], missed: list[str]) -> None:
    for key, value in figures.items():
        promise = ''
        if key in PROMISES:
            limit, at_least = PROMISES[key]
            verdict = 'none' if value is None else 'missed' if key in missed else 'kept'
            promise = f'  {verdict}: {">=" if at_least else "<="} {limit:g}'
        print(f'{key:32} {"none" if value is None else format(value, ".4g"):>12}{promise}')
