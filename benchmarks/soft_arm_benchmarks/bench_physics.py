"""`softarm bench physics`: accuracy and speed of the physics on this machine."""

from argparse import Namespace
from collections.abc import Callable

from soft_arm_benchmarks.limits import Figures, at_least, at_most, measured, report
from soft_arm_io.command_line import CommandLine

LIMITS = {
    'cantilever_error_fraction': at_most(0.003),
    'cantilever_error_fraction_10': at_most(0.01),
    'cantilever_order': at_least(3.5),
    'twist_error_fraction': at_most(0.003),
    'twist_order': at_least(3.5),
    'frequency_error_fraction': at_most(0.005),
    'cosserat_error_fraction': at_most(0.01),
    'blocked_force_error_fraction': at_most(0.02),
    'rtf_arm': at_least(20.0),
    'rtf_hand': at_least(5.0),
    'rtf_squid': at_least(5.0),
    'rollout_scaling': at_least(1.8),
}


def main(argv: list[str] | None = None) -> int:
    """Entry point; return 0, or 1 if a figure misses its limit."""
    parser = CommandLine(
        prog='softarm bench physics',
        description='Measure accuracy and speed of the physics; the machine should be idle. '
        'Takes about ten seconds.',
        epilog='example: softarm bench physics --json',
    )
    parser.add_json()
    return parser.answer(argv, _measure)


def _measure(args: Namespace) -> int:
    # Slow to import (MuJoCo, Numba, PyElastica): after the arguments are checked.
    from soft_arm_benchmarks.physics import figures as accuracy
    from soft_arm_benchmarks.physics import speed

    parts: dict[str, Callable[[], Figures]] = {
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
    return report(measured(parts), LIMITS, as_json=args.json)
