"""`softarm bench kinematics`: measure the figures promised for the kinematics on this machine."""

import json
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from tqdm import tqdm

from soft_arm_description.command_line import CommandLine, plot_file, whole_number_in

PROMISES = {  # key: (limit, whether the figure must be at least the limit)
    'fk_ratio_numpy': (60.0, True),
    'fk_ratio_memory': (0.5, True),
    'table_build_s': (3.0, False),
    'ik_median_s': (0.5e-3, False),
    'ik_p99_s': (2e-3, False),
    'ik_residual_max_m': (1e-6, False),
    'ik_ratio_traversal': (100.0, True),
    'ik_ratio_traversal_whole': (20.0, True),
    'ik_success': (1.0, True),
    'ik_best_within_1pct': (0.99, True),
    'jacobian_error_max': (1e-6, False),
    'sections_error_max_m': (1e-12, False),
    'modal_resolved_rate_error_m': (0.0326e-3, False),
    'contact_error_clean_m': (0.3e-3, False),
    'contact_error_noisy_fraction': (0.03, False),
    'contact_false_alarms_per_min': (1.0, False),
}


def main(argv: list[str] | None = None) -> int:
    """Entry point; return 0, or 1 if a figure misses its limit."""
    parser = CommandLine(
        prog='softarm bench kinematics',
        description='Measure speed and accuracy of the kinematics; the machine should be idle. '
        'Takes about two minutes.',
    )
    parser.add_json()
    parser.add_argument(
        '--plot',
        type=plot_file,
        metavar='FILE',
        help="draw the arm paper's table 5 beside ours (PNG)",
    )
    parser.add_argument(
        '--targets',
        type=whole_number_in(100, 10**7),
        default=10_000,
        metavar='N',
        help='number of targets for the success rate (default: %(default)s)',
    )
    parser.add_argument(
        '--exhaustive',
        type=whole_number_in(1, 10**6),
        default=200,
        metavar='N',
        help='number of targets compared with an exhaustive search (default: %(default)s)',
    )
    return parser.answer(argv, _measure)


def _measure(args: Namespace) -> int:
    # Slow to import (Numba, SciPy): after the arguments are checked.
    from soft_arm_experiments.kinematics import contact, inverse, speed
    from soft_arm_kinematics.arm import load_bellows_arm

    arm = load_bellows_arm()
    figures: dict[str, Any] = {}
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        'FK': lambda: speed.fk_figures(arm),
        'FK on a GPU': lambda: speed.torch_figures(arm),
        'Jacobians': lambda: speed.jacobian_figures(arm),
        'table': lambda: speed.table_figures(arm),
        'IK': lambda: inverse.ik_figures(arm, args.targets),
        'exhaustive search': lambda: inverse.exhaustive_figures(arm, args.exhaustive),
        'table 5': lambda: {'table_5': inverse.table_5(arm)},
        'modal, contact, sections': contact.figures,
    }
    with tqdm(
        parts.items(), unit='part', file=sys.stderr, disable=not sys.stderr.isatty()
    ) as progress:
        for name, measure in progress:
            progress.set_description(name)
            figures |= measure()
    missed = [
        key
        for key, (limit, at_least) in PROMISES.items()
        if figures[key] is None
        or not (figures[key] >= limit if at_least else figures[key] <= limit)
    ]
    if args.plot:
        from soft_arm_experiments.kinematics.table_5_plot import draw

        draw(figures['table_5'], args.plot)
    if args.json:
        print(json.dumps(figures | {'missed': missed}))
    else:
        _print(figures, missed)
    return 1 if missed else 0


def _print(figures: dict[str, Any], missed: list[str]) -> None:
    for key, value in figures.items():
        if key == 'table_5':
            continue
        promise = ''
        if key in PROMISES:
            limit, at_least = PROMISES[key]
            verdict, sign = 'missed' if key in missed else 'kept', '>=' if at_least else '<='
            promise = f'  {verdict}: {sign} {limit:g}'
        print(f'{key:40} {"none" if value is None else format(value, ".6g"):>12}{promise}')
    print('\nquery time [ms]     ours                        paper')
    print('points        traversal    KD-tree     traversal    KD-tree')
    for row in figures['table_5']:
        paper = [
            '-' if row[k] is None else f'{row[k] * 1e3:.2f}'
            for k in ('paper_traversal_s', 'paper_kd_tree_s')
        ]
        print(
            f'{row["points"]:9,} {row["traversal_s"] * 1e3:12.3f} {row["kd_tree_s"] * 1e3:10.4f} '
            f'{paper[0]:>13} {paper[1]:>10}'
        )
