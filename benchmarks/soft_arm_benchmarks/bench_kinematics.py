"""`softarm bench kinematics`: speed and accuracy of the kinematics on this machine."""

from argparse import Namespace
from typing import Any

from soft_arm_benchmarks.limits import at_least, at_most, measured, report
from soft_arm_io.command_line import CommandLine, whole_number_in

LIMITS = {
    'fk_ratio_numpy': at_least(60.0),
    'fk_ratio_memory': at_least(0.5),
    'table_build_s': at_most(3.0),
    'ik_median_s': at_most(0.5e-3),
    'ik_p99_s': at_most(2e-3),
    'ik_residual_max_m': at_most(1e-6),
    'ik_ratio_traversal': at_least(100.0),
    'ik_ratio_traversal_whole': at_least(20.0),
    'ik_success': at_least(1.0),
    'ik_best_within_1pct': at_least(0.99),
    'jacobian_error_max': at_most(1e-6),
    'sections_error_max_m': at_most(1e-12),
    'modal_resolved_rate_error_m': at_most(0.0326e-3),
    'contact_error_clean_m': at_most(0.3e-3),
    'contact_error_noisy_fraction': at_most(0.03),
    'contact_false_alarms_per_min': at_most(1.0),
}


def main(argv: list[str] | None = None) -> int:
    """Entry point; return 0, or 1 if a figure misses its limit."""
    parser = CommandLine(
        prog='softarm bench kinematics',
        description='Measure speed and accuracy of the kinematics; the machine should be idle. '
        'Takes about two minutes.',
    )
    parser.add_json()
    parser.add_option(
        '--targets',
        whole_number_in(100, 10**7),
        10_000,
        'number of targets for the success rate',
        metavar='N',
    )
    parser.add_option(
        '--exhaustive',
        whole_number_in(1, 10**6),
        200,
        'number of targets compared with an exhaustive search',
        metavar='N',
    )
    return parser.answer(argv, _measure)


def _measure(args: Namespace) -> int:
    # Slow to import (Numba, SciPy): after the arguments are checked.
    from soft_arm_benchmarks.kinematics import contact, inverse, speed
    from soft_arm_kinematics.arm import load_bellows_arm

    arm = load_bellows_arm()
    figures = measured(
        {
            'FK': lambda: speed.fk_figures(arm),
            'FK on a GPU': lambda: speed.torch_figures(arm),
            'Jacobians': lambda: speed.jacobian_figures(arm),
            'table': lambda: speed.table_figures(arm),
            'IK': lambda: inverse.ik_figures(arm, args.targets),
            'exhaustive search': lambda: inverse.exhaustive_figures(arm, args.exhaustive),
            'table 5': lambda: {'table_5': inverse.table_5(arm)},
            'modal, contact, sections': contact.figures,
        }
    )
    status = report(figures, LIMITS, as_json=args.json)
    if not args.json:
        _print_table_5(figures['table_5'])
    return status


def _print_table_5(rows: list[dict[str, Any]]) -> None:
    print('\nquery time [ms]     ours                        paper')
    print('points        traversal    KD-tree     traversal    KD-tree')
    for row in rows:
        paper = [
            '-' if row[k] is None else f'{row[k] * 1e3:.2f}'
            for k in ('paper_traversal_s', 'paper_kd_tree_s')
        ]
        print(
            f'{row["points"]:9,} {row["traversal_s"] * 1e3:12.3f} {row["kd_tree_s"] * 1e3:10.4f} '
            f'{paper[0]:>13} {paper[1]:>10}'
        )
