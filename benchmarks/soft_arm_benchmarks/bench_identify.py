"""`softarm bench identify`: errors and intervals of identified simulated arms."""

from argparse import Namespace
from functools import partial

import numpy as np

from soft_arm_benchmarks.limits import at_least, at_most, measured, report
from soft_arm_description.robot import load_robot
from soft_arm_io.command_line import CommandLine, number_in, seed_number, whole_number_in

LIMITS = {'interval_coverage': at_least(0.92), 'held_out_mean_m': at_most(5e-4)}


def main(argv: list[str] | None = None) -> int:
    """Entry point; return 0, or 1 if a figure misses its limit."""
    parser = CommandLine(
        prog='softarm bench identify',
        description='Identify random simulated arms from recordings of their motion, and compare '
        'the 95 % intervals with the true values. Takes about a minute for an arm.',
        epilog='example: softarm bench identify --arms 10',
    )
    parser.add_json()
    parser.add_option('--arms', whole_number_in(1, 1000), 4, 'number of arms', metavar='N')
    parser.add_option('--seed', seed_number, 1, 'of the first arm')
    parser.add_option(
        '--seconds', number_in(20, 600), 90.0, 'duration of each recording', metavar='T'
    )
    parser.add_option(
        '--noise',
        number_in(0, 10),
        0.2,
        'noise of the measured tip on each axis [mm]',
        metavar='MM',
    )
    return parser.answer(argv, _measure)


def _measure(options: Namespace) -> int:
    # Slow to import (MuJoCo, Numba): after the arguments are checked.
    from soft_arm_benchmarks.identification.intervals import arm_figures

    robot = load_robot('two_module_arm')
    seeds = range(options.seed, options.seed + options.arms)
    figures = measured(
        {
            f'arm {s}': partial(arm_figures, robot, s, options.seconds, 1e-3 * options.noise)
            for s in seeds
        }
    )
    arms = list(figures.values())
    determined, inside = (sum(arm[key] for arm in arms) for key in ('determined', 'inside'))
    figures['interval_coverage'] = inside / determined if determined else None
    figures['held_out_mean_m'] = float(np.mean([arm['held_out_mean_m'] for arm in arms]))
    return report(figures, LIMITS, as_json=options.json)
