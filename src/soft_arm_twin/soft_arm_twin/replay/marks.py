"""Moments of a recording that people look for: goals, faults, and pressures at their limits."""

from collections.abc import Iterator

import numpy as np

from soft_arm_twin.graph.industrial_robot import IndustrialRobot
from soft_arm_twin.graph.known_graph import KnownGraph
from soft_arm_twin.graph.soft_robot import SoftRobot
from soft_arm_twin.replay.recording import Recording
from soft_arm_twin.source import Mark

MOST_MARKS = 300
APART_S = 1.0  # what lasts, or comes again sooner, is marked once
GOAL_MOVED_M = 1e-4
AT_LIMIT = 1e-3  # of the range of a pressure
_LOG_ERROR, _EVENT_ERROR, _STATUS_ERROR = 40, 3, 2


def find_marks(recording: Recording, known: KnownGraph) -> tuple[tuple[Mark, ...], int]:
    """Return the first 300 marks in order, and how many more there are.

    Raises:
        BagError: If a message is damaged.
    """
    found = [*_faults(recording)]
    for other in known.industrial_robots:
        found += _controller_faults(recording, other)
    for robot in known.soft_robots:
        found += _goals(recording, robot)
        found += _saturations(recording, robot)
    marks, last_s = [], dict[str, float]()
    for mark in sorted(found, key=lambda mark: mark.time_s):
        if mark.time_s - last_s.get(mark.text, -np.inf) >= APART_S:
            marks.append(mark)
        last_s[mark.text] = mark.time_s
    return tuple(marks[:MOST_MARKS]), len(marks[MOST_MARKS:])


def _faults(recording: Recording) -> Iterator[Mark]:
    """Yield what nodes logged as errors, and when a node began to report one."""
    for _, at_s, message in recording.messages('/rosout'):
        if message.level >= _LOG_ERROR:
            yield Mark(at_s, 'error', f'{message.name}: {_short(message.msg)}')
    failed: set[str] = set()
    for _, at_s, message in recording.messages('/diagnostics'):
        for status in message.status:
            is_error = status.level == _STATUS_ERROR
            if is_error and status.name not in failed:
                yield Mark(at_s, 'error', f'{status.name}: {_short(status.message)}')
            (failed.add if is_error else failed.discard)(status.name)


def _controller_faults(recording: Recording, robot: IndustrialRobot) -> Iterator[Mark]:
    for _, at_s, message in recording.messages(f'{robot.namespace}/event_log'):
        if message.level == _EVENT_ERROR:
            yield Mark(at_s, 'error', f'{robot.name}: {message.code} {_short(message.title)}')


def _goals(recording: Recording, robot: SoftRobot) -> Iterator[Mark]:
    before_m = np.full(3, np.inf)
    for _, at_s, message in recording.messages(f'{robot.namespace}/target'):
        p = message.pose.position
        target_m = np.array([p.x, p.y, p.z])
        if not np.linalg.norm(target_m - before_m) <= GOAL_MOVED_M:
            x, y, z = 1e3 * target_m
            yield Mark(at_s, 'info', f'{robot.name}: goal {x:.0f}, {y:.0f}, {z:.0f} mm')
        before_m = target_m


def _saturations(recording: Recording, robot: SoftRobot) -> Iterator[Mark]:
    """Yield each command at a limit of a chamber; a limit of 0 Pa is rest, and is left out."""
    limits = dict(zip(robot.robot.chambers, robot.robot.pressure_limits_pa.T, strict=True))
    for _, at_s, message in recording.messages(f'{robot.namespace}/pressure_command'):
        for name, asked_pa in zip(message.names, message.pressures_pa, strict=False):
            low, high = limits.get(name, (0.0, 0.0))
            for limit in (low, high):
                if limit and abs(asked_pa - limit) <= AT_LIMIT * (high - low):
                    text = f'{robot.name}: {name} at its limit, {1e-3 * limit:.0f} kPa'
                    yield Mark(at_s, 'warning', text)


def _short(text: str) -> str:
    line = ' '.join(text.split())
    return line if len(line) <= 80 else f'{line[:79]}…'
