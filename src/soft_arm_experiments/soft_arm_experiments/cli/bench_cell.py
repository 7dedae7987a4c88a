"""`softarm bench cell`: measure how fast the gripper cell detects faults, and what it leaks."""

import asyncio
import json
import logging
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from tqdm import tqdm

from soft_arm_description.command_line import CommandLine, number_in, seed_number
from soft_arm_physics.errors import PhysicsError
from soft_arm_vision.errors import VisionError
from softarm_cli.errors import BenchError

MOST = {  # upper limits
    'vent_after_comm_loss_s': 0.5,
    'watchdog_vent_s': 0.3,
    'frozen_peer_detect_s': 1.0,
    'controller_sessions_used': 1,
}
MOST_FINGER_ERROR_PERCENT = {-90: 1.5, 50: 0.8, 100: 0.8, 120: 2.3}  # by kPa; at most the paper's
WATCH_S = 10.0
_OTHER_S = 20.0  # rest of the controller's measurements, about
_FINGER_S = 30  # finger's error, about


def main(argv: list[str] | None = None) -> int:
    """Entry point; return 0, 1 if a figure misses its limit, or 2 for bad input."""
    parser = CommandLine(
        prog='softarm bench cell',
        description='Measure the gripper cell against its emulated devices, without ROS. Takes '
        'about two minutes plus the time of the soak test.',
    )
    parser.add_json()
    parser.add_argument(
        '--soak-minutes',
        type=number_in(0.05, 1440.0),
        default=0.5,
        metavar='MIN',
        help='duration of the soak test with random faults (default: %(default)s; 30 are promised)',
    )
    parser.add_argument(
        '--seed',
        type=seed_number,
        default=1,
        help='random faults and virtual finger (default: %(default)s)',
    )
    parser.add_robot('four_piece_finger')
    return parser.answer(argv, _bench, BenchError, PhysicsError, VisionError)


def _bench(options: Namespace) -> int:
    logging.getLogger('pymodbus').setLevel(logging.CRITICAL)  # faults are made on purpose
    logging.getLogger('pneumatic_driver').setLevel(logging.CRITICAL)
    logging.getLogger('abb_rws_bridge').setLevel(logging.CRITICAL)
    measured = _measure(options)
    missed = missed_bars(measured)
    if options.json:
        print(json.dumps(measured))
    else:
        _print(measured, missed)
    return 1 if missed else 0


def _measure(options: Namespace) -> dict[str, Any]:
    # Slow to import: after the arguments are checked.
    from soft_arm_experiments.cell import gripper_figures
    from soft_arm_experiments.vision.finger_session import finger_error_percent

    total_s = round(WATCH_S + _OTHER_S + 60 * options.soak_minutes)
    with tqdm(
        total=total_s + 2 * gripper_figures.REPEATS + _FINGER_S, unit='s', file=sys.stderr
    ) as progress:
        progress.set_description('pneumatics')
        measured: dict[str, Any] = gripper_figures.figures(
            options.robot, options.seed, progress.update
        )
        progress.set_description('controller, then random faults')
        measured |= _soaked(options, total_s, progress.update)
        progress.set_description('finger')
        errors = finger_error_percent(options.seed, options.robot)
        progress.update(_FINGER_S)
    measured['finger_error_percent'] = {
        str(kpa): round(percent, 2) for kpa, percent in errors.items()
    }
    return measured


def _soaked(options: Namespace, total_s: int, update: Callable[[int], object]) -> dict[str, Any]:
    """Measure the robot controller's client; soak the pneumatics meanwhile in another process."""
    delay_s = WATCH_S + _OTHER_S / 2  # the timed part of the controller's measurement runs alone
    # Start the process before open files are counted: its pipe is no leak of the controller's soak.
    command = [
        sys.executable,
        '-m',
        'soft_arm_experiments.cell.gripper_soak',
        *map(str, (60 * options.soak_minutes, options.seed, delay_s)),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            measured = asyncio.run(_with_progress(options, total_s, update))
            output, _ = process.communicate(timeout=60 * options.soak_minutes + 120.0)
        finally:
            process.kill()
    if process.returncode:
        raise BenchError(
            f'the soak of the pneumatics ended with code {process.returncode}; its error is above'
        )
    soaked = json.loads(output)
    measured['soak_faults'] += sum(soaked['faults'].values())
    measured['leaks'] = [*measured['leaks'], *soaked['leaks']]
    return measured


async def _with_progress(
    options: Namespace, total_s: int, update: Callable[[int], object]
) -> dict[str, Any]:
    from soft_arm_experiments.cell import rws_figures

    work = asyncio.create_task(rws_figures.figures(WATCH_S, options.soak_minutes, options.seed))
    for _ in range(total_s):
        if (await asyncio.wait([work], timeout=1.0))[0]:
            break
        update(1)
    return await work


def missed_bars(measured: dict[str, Any]) -> list[str]:
    """List the keys of the figures that miss their limits."""
    missed = [
        key for key, most in MOST.items() if measured[key] is None or not measured[key] <= most
    ]
    worse = any(
        percent > MOST_FINGER_ERROR_PERCENT[int(kpa)]
        for kpa, percent in measured['finger_error_percent'].items()
    )
    return missed + ['leaks'] * bool(measured['leaks']) + ['finger_error_percent'] * worse


def _print(measured: dict[str, Any], missed: list[str]) -> None:
    for key, value in measured.items():
        if key in MOST:
            bar = f'{"missed" if key in missed else "kept"}: <= {MOST[key]:g}'
        elif key == 'leaks':
            bar = 'missed: none' if value else 'kept: none'
            value = '; '.join(value) or 'none'
        elif key == 'finger_error_percent':
            continue
        else:
            bar = ''
        print(
            f'{key:28} {value if isinstance(value, str) else format(value, ".4g"):>12}  '
            f'{bar}'.rstrip()
        )
    for kpa, percent in measured['finger_error_percent'].items():
        most = MOST_FINGER_ERROR_PERCENT[int(kpa)]
        print(
            f'{f"finger_error_percent {kpa} kPa":28} {percent:12.2f}  '
            f'{"kept" if percent <= most else "missed"}: <= {most:g}'
        )
