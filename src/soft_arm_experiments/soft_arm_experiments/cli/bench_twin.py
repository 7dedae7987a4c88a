"""`softarm bench twin`: what the twin costs, and how late a page is."""

import argparse
import asyncio
import json
import os
import subprocess
import sys

from tqdm import tqdm

from soft_arm_description.command_line import CommandLine, positive_count, whole_number_in
from soft_arm_twin.errors import TwinError

MOST = {  # upper limits
    'cpu_1_page_percent': 35.0,
    'joints_to_page_p50_ms': 60.0,
    'joints_to_page_p99_ms': 150.0,
    'pressures_to_page_p50_ms': 60.0,
    'pressures_to_page_p99_ms': 150.0,
    'vent_to_driver_p99_ms': 300.0,
    'first_load_bytes': 3e6,
}
END_S = 10.0


def main(argv: list[str] | None = None) -> int:
    """Entry point; return 0, 1 if a figure misses its limit, or 2 for bad input."""
    parser = CommandLine(
        prog='softarm bench twin',
        description='Measure `softarm twin` beside a made-up graph of arm, finger, ABB robot and '
        'depth camera: its share of a core with one page and with four, how long a published '
        'joint or pressure takes to a page, and a press on `Vent` to the driver. The pages do not '
        'draw. The limits hold on two idle cores. Takes about two minutes.',
        epilog='example: softarm bench twin --tries 50 --json',
    )
    parser.add_json()
    parser.add_argument(
        '--tries',
        type=positive_count,
        default=200,
        help='number of steps, and of vents (default: %(default)s)',
    )
    parser.add_argument(
        '--domain',
        type=whole_number_in(0, 232),
        default=101,
        help='ROS domain in which nothing else runs (default: %(default)s)',
    )
    return parser.answer(argv, _bench, TwinError)


def _bench(options: argparse.Namespace) -> int:
    # ROS only when it is needed.
    from soft_arm_experiments.ros.twin_graph import DEPTH, TwinGraph
    from soft_arm_experiments.twin.measurements import measure

    command = (sys.executable, '-m', 'softarm_cli.softarm', 'twin', '--no-browser', '--port', '0')
    with (
        TwinGraph(options.domain) as graph,
        subprocess.Popen(
            (*command, '--domain', str(options.domain)), stdout=subprocess.PIPE, text=True
        ) as twin,
        tqdm(total=2 * options.tries, disable=None, desc='bench twin') as bar,
    ):
        try:
            assert twin.stdout is not None
            words = twin.stdout.readline().split()
            if len(words) < 2:
                raise TwinError('softarm twin did not start: try it by hand')
            found = asyncio.run(
                measure(
                    words[1], twin.pid, graph.step, lambda: graph.vented_s, DEPTH,
                    options.tries, bar.update,
                )
            )  # fmt: skip
        finally:
            twin.terminate()
            try:
                twin.wait(END_S)
            except subprocess.TimeoutExpired:
                twin.kill()
    found['cpu_4_pages_to_1'] = found['cpu_4_pages_percent'] / found['cpu_1_page_percent']
    found['load_average_1min'] = os.getloadavg()[0]
    missed = {name: limit for name, limit in MOST.items() if not found[name] <= limit}
    if options.json:
        print(json.dumps({**found, 'missed': missed}))
    else:
        for name, value in found.items():
            limit = f'   at most {MOST[name]:g}' if name in MOST else ''
            print(f'{name:26s} {value:10.4g}{limit}{"   MISSED" if name in missed else ""}')
    return 1 if missed else 0
