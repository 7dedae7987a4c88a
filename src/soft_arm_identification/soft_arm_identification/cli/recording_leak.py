"""`softarm recording leak`: leak rates of closed chambers from recorded pressures."""

import json
import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from soft_arm_identification.errors import RecordingError
from soft_arm_io.command_line import CommandLine, input_file

if TYPE_CHECKING:
    from soft_arm_identification.leak import Leak


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='softarm recording leak',
        description='Estimate the leak rate of each measured pressure of a recording in which the '
        'chambers are closed, with its 95 %% interval. Steps, as when a chamber is opened, are '
        'excluded and printed.',
        epilog='example: softarm recording leak recordings/decay.npz',
    )
    parser.add_argument(
        'files', type=input_file, nargs='+', metavar='FILE', help='recording (.npz)'
    )
    parser.add_json()
    return parser.answer(argv, _leak)


def _leak(options: Namespace) -> int:
    # Slow to import: after the arguments are checked.
    from soft_arm_identification.leak import find_leak
    from soft_arm_identification.recording import Recording

    found = {}
    for file in options.files:
        recording = Recording.load(file)
        channels = recording.measured if recording.measured.names else recording.inputs
        for place, (name, unit) in enumerate(zip(channels.names, channels.units, strict=True)):
            if unit == 'Pa':
                leak = find_leak(recording.time_s, channels.values[:, place])
                found[f'{recording.name} {name}'] = leak
    if not found:
        raise RecordingError(f'{options.files[0]} holds no pressure')
    if options.json:
        json.dump({name: _summary(leak) for name, leak in found.items()}, sys.stdout, indent=2)
        print()
        return 0
    for name, leak in found.items():
        _print(name, leak)
    return 0


def _summary(leak: 'Leak') -> dict:
    return {
        'rate_pa_s': leak.rate_pa_s,
        'interval_pa_s': [
            leak.rate_pa_s - 1.96 * leak.sd_pa_s,
            leak.rate_pa_s + 1.96 * leak.sd_pa_s,
        ],
        'from_s': leak.from_s,
        'to_s': leak.to_s,
        'pressure_pa': leak.pressure_pa,
        'steps': [vars(step) for step in leak.steps],
    }


def _print(name: str, leak: 'Leak') -> None:
    rate, interval = 0.06 * leak.rate_pa_s, 0.06 * 1.96 * leak.sd_pa_s
    print(
        f'{name}: {rate:.4g} +- {interval:.2g} kPa/min at {1e-3 * leak.pressure_pa:.4g} kPa, from '
        f'{leak.from_s:.1f} to {leak.to_s:.1f} s'
    )
    for step in leak.steps:
        print(
            f'  excluded step: {1e-3 * step.change_pa:+.4g} kPa from {step.from_s:.1f} to '
            f'{step.to_s:.1f} s; was the chamber opened, filled or squeezed?'
        )
