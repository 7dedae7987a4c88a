"""`softarm bench cell`.

How fast the gripper cell notices what goes wrong, and what it leaves behind.
"""

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable

from tqdm import tqdm

from soft_arm_description.command_line import CommandLine, number_in, seed_number
from soft_arm_description.robot import RobotFileError
from soft_arm_physics.errors import PhysicsError
from soft_arm_vision.errors import VisionError
from softarm_cli.errors import BenchError

MOST = {  # bars: no more than this
    'vent_after_comm_loss_s': 0.5,
    'watchdog_vent_s': 0.3,
    'frozen_peer_detect_s': 1.0,
    'controller_sessions_used': 1,
}
WATCH_S = 10.0
_OTHER_S = 20.0  # of the controller's part beside watching and soaking, about
_FINGER_S = 30  # about


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns 0, or 1 where a bar is missed, or 2 for bad input."""
    parser = CommandLine(
        prog='softarm bench cell',
        description='Measure the gripper cell against its emulated devices, without ROS. Takes '
        'about two minutes and the soak.',
    )
    parser.add_json()
    parser.add_argument(
        '--soak-minutes',
        type=number_in(0.05, 1440.0),
        default=0.5,
        metavar='MIN',
        help='random faults (default: %(default)s; the bar: 30)',
    )
    parser.add_argument(
        '--seed', type=seed_number, default=1, help='of faults and finger (default: %(default)s)'
    )
    parser.add_robot('four_piece_finger')
    return parser.answer(argv, _bench, BenchError, RobotFileError, PhysicsError, VisionError)


def _bench(options) -> int:
    logging.getLogger('pymodbus').setLevel(logging.CRITICAL)  # faults are what this makes
    logging.getLogger('pneumatic_driver').setLevel(logging.CRITICAL)
    logging.getLogger('abb_rws_bridge').setLevel(logging.CRITICAL)
    measured = _measure(options)
    missed = missed_bars(measured)
    if options.json:
        print(json.dumps(measured))
    else:
        _print(measured, missed)
    return 1 if missed else 0


def _measure(options) -> dict:
    from soft_arm_experiments.cell import (
        gripper_figures,
    )  # this and what it measures take long to import: after the arguments are checked
    from soft_arm_experiments.vision.finger_session import finger_error_percent

    total_s = round(WATCH_S + _OTHER_S + 60 * options.soak_minutes)
    with tqdm(
        total=total_s + 2 * gripper_figures.REPEATS + _FINGER_S, unit='s', file=sys.stderr
    ) as progress:
        progress.set_description('pneumatics')
        measured = gripper_figures.figures(options.robot, options.seed, progress.update)
        progress.set_description('controller, then random faults')
        measured |= _soaked(options, total_s, progress.update)
        progress.set_description('finger')
        errors = finger_error_percent(options.seed, options.robot)
        progress.update(_FINGER_S)
    measured['finger_error_percent'] = {
        str(kpa): round(percent, 2) for kpa, percent in errors.items()
    }
    return measured


def _soaked(options, total_s: int, update: Callable[[int], object]) -> dict:
    """The controller's figures.

    While it is soaked, so are the pneumatics, in a process of their own.
    """
    delay_s = WATCH_S + _OTHER_S / 2  # what is timed is timed alone
    # Started before anything is counted: its pipe is there before and after the controller's soak,
    # and is no leak of that.
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


async def _with_progress(options, total_s: int, update: Callable[[int], object]) -> dict:
    from soft_arm_experiments.cell import rws_figures as rws_figures

    work = asyncio.create_task(rws_figures.figures(WATCH_S, options.soak_minutes, options.seed))
    for _ in range(total_s):
        if (await asyncio.wait([work], timeout=1.0))[0]:
            break
        update(1)
    return await work


def missed_bars(measured: dict) -> list[str]:
    """Keys of the figures that miss their bars."""
    from soft_arm_experiments.vision.finger_session import PAPER_ERROR_PERCENT

    missed = [
        key for key, most in MOST.items() if measured[key] is None or not measured[key] <= most
    ]
    worse = any(
        percent > PAPER_ERROR_PERCENT[int(kpa)]
        for kpa, percent in measured['finger_error_percent'].items()
    )
    return missed + ['leaks'] * bool(measured['leaks']) + ['finger_error_percent'] * worse


def _print(measured: dict, missed: list[str]) -> None:
    from soft_arm_experiments.vision.finger_session import PAPER_ERROR_PERCENT

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
        paper = PAPER_ERROR_PERCENT[int(kpa)]
        print(
            f'{f"finger_error_percent {kpa} kPa":28} {percent:12.2f}  '
            f'{"kept" if percent <= paper else "missed"}: <= {paper:g} (the paper)'
        )
