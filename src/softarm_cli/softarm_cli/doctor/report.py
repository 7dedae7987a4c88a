"""Report on the running graph: nodes, topics, diagnostics, launches, and what is wrong."""

import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import filter as matching
from pathlib import Path

from softarm_cli.doctor.systems import STARTED_BY, SYSTEMS, System
from softarm_cli.graph.running_nodes import NO_ANSWER, RunningNode
from softarm_cli.launching.logs import Launch

_RATE_TOLERANCE = 0.2
_RECENT_S = 600.0
_MAX_MESSAGE_CHARACTERS = 200
_DUMPED_BYTES = re.compile(
    r'(?:\b(?:0x)?[0-9a-fA-F]{2}[\s,:]+){8,}(?:0x)?[0-9a-fA-F]{2}\b|\b[0-9a-fA-F]{32,}\b'
)
_OK, _ERROR = 0, 2  # levels of diagnostic_msgs/DiagnosticStatus
_LEVELS = ('ok', 'warning', 'error', 'stale')


@dataclass(frozen=True)
class Finding:
    """A fault and its remedy; sentences without their full stops."""

    what: str
    remedy: str

    def __str__(self) -> str:
        return f'{self.what}. {self.remedy}'


@dataclass(frozen=True)
class Topic:
    """One topic; rates in Hz, None if nothing was received or nothing is expected."""

    name: str
    rate_hz: float | None
    expected_hz: float | None
    publishers: tuple[str, ...]

    @property
    def is_wrong(self) -> bool:
        """Whether the rate is missing, or lower by more than a fifth."""
        if self.expected_hz is None:
            return False
        return self.rate_hz is None or self.rate_hz < (1 - _RATE_TOLERANCE) * self.expected_hz


@dataclass(frozen=True)
class Diagnostic:
    """Newest diagnostic status of a node.

    Attributes:
        level: As in diagnostic_msgs/DiagnosticStatus: 0 ok, 1 warning, 2 error, 3 stale.
        message: As published.
        hardware_id: Device or robot that the node serves; may be empty.
        remedy: Its value `remedy`; empty if it has none.
        is_idle: Its value `idle`: a driver that has vented because no commands arrive, as it does
            between goals.
    """

    level: int
    message: str
    hardware_id: str = ''
    remedy: str = ''
    is_idle: bool = False


@dataclass(frozen=True)
class Report:
    """Observations of the graph.

    Attributes:
        nodes: Every running node.
        states: Lifecycle states by the driver's name.
        unresponsive: Nodes that run but do not answer.
        topics: Topics of the running systems.
        diagnostics: Newest diagnostic by the node's name without its leading slash.
        launches: Running launches of this ROS domain.
        last_launch: Newest launch, which may have ended.
    """

    nodes: list[RunningNode]
    states: dict[str, str]
    unresponsive: list[str]
    topics: list[Topic]
    diagnostics: dict[str, Diagnostic]
    launches: list[Launch]
    last_launch: Launch | None

    def findings(self) -> list[Finding]:
        """Return everything that is wrong, causes before their consequences."""
        return [
            *self._died(),
            *self._missing(),
            *self._doubled(),
            *self._shared_devices(),
            *self._unresponsive(),
            *self._diagnosed(),
            *self._inactive(),
            *self._slow_topics(),
        ]

    def systems(self) -> list[tuple[System, str]]:
        """Return each system of which two nodes run, with its namespace."""
        return [
            (system, namespace)
            for system in SYSTEMS
            for namespace in sorted({name.rpartition('/')[0] for name in self._running})
            if sum(f'{namespace}/{node}' in self._running for node in system.nodes) >= 2
        ]

    @property
    def _running(self) -> set[str]:
        return {node.name for node in self.nodes}

    def _died(self) -> Iterator[Finding]:
        for launch in self.launches:
            for process in launch.processes:
                if process.name in self._running:
                    continue
                if process.has_died:
                    yield Finding(f'{process.name} {process.end}', _again(launch))
                elif process.exit_code is None and _is_stopped(process.pid):
                    yield _stopped(process.name, process.pid)
        last = self.last_launch
        if self.nodes or last is None or not last.cause or last.is_running:
            return
        age_s = time.time() - last.ended_s  # noqa: TID251  # logs hold the wall clock
        if age_s < _RECENT_S:
            yield Finding(
                f'nothing runs: the last launch ended {age_s:.0f} s ago because {last.cause}',
                'Remove that cause, and launch again',
            )

    def _missing(self) -> Iterator[Finding]:
        launched = [process for launch in self.launches for process in launch.processes]
        reported = {p.name for p in launched if p.has_died or _is_stopped(p.pid)}
        for system, namespace in self.systems():
            expected = {f'{namespace}/{name}' for name in system.nodes}
            # A launch may leave some of them out.
            expected = expected & {process.name for process in launched} or expected
            missing = sorted(expected - self._running - reported)
            missing += [name for name in system.others if not matching(self._running, name)]
            again = _again(self.launches[0]) if len(self.launches) == 1 else f'Run: {system.launch}'
            for name in missing:
                of = f' (started by {STARTED_BY[name]})' if name in STARTED_BY else ''
                needed = f'the {system.name} in {namespace or "/"} needs it'
                yield Finding(f'node {name}{of} is missing: {needed}', again)

    def _doubled(self) -> Iterator[Finding]:
        by_name = defaultdict(list)
        for node in self.nodes:
            by_name[node.name].append(node)
        for name, same in by_name.items():
            if len(same) == 1:
                continue
            where = ', '.join(node.where for node in same)
            pids = [node.pid for node in same if node.pid is not None]
            yield Finding(
                f'node {name} runs {len(same)} times ({where}): both act, and results are garbage',
                f'Keep one; to end the newest, run: kill -INT {max(pids)}'
                if pids
                else 'End the one that does not belong here',
            )

    def _shared_devices(self) -> Iterator[Finding]:
        users = defaultdict(list)
        for name, status in self.diagnostics.items():
            if name.endswith('_driver') and status.hardware_id:
                users[status.hardware_id].append(f'/{name}')
        for device, names in users.items():
            if len(names) > 1:
                yield Finding(
                    f'{" and ".join(sorted(names))} both drive the device at {device}',
                    'End one of them before anything is commanded',
                )

    def _unresponsive(self) -> Iterator[Finding]:
        pids = {node.name: node.pid for node in self.nodes}
        for name in self.unresponsive:
            pid = pids.get(name)
            if pid is not None and _is_stopped(pid):
                yield _stopped(name, pid)
                continue
            where = f' (pid {pid})' if pid else ''
            yield Finding(
                f'node {name}{where} runs, but does not answer',
                'Wait a minute, because a new arm is compiled once; then end the launch by Ctrl-C '
                'and launch again',
            )

    def _diagnosed(self) -> Iterator[Finding]:
        for name, status in sorted(self.diagnostics.items()):
            if status.level != _OK and not status.is_idle:
                level = _LEVELS[min(status.level, len(_LEVELS) - 1)]
                yield Finding(
                    f'/{name} reports ({level}): {one_line(status.message)}',
                    _capitalized(status.remedy or 'see docs/how-to/troubleshoot.md'),
                )

    def _inactive(self) -> Iterator[Finding]:
        for name, state in sorted(self.states.items()):
            status = self.diagnostics.get(name[1:])
            is_reported = status is not None and status.level == _ERROR
            if state not in ('active', NO_ANSWER) and not is_reported:
                yield Finding(
                    f'the driver {name} is {state}: it ignores commands',
                    f'When nobody can be hurt, run: softarm node activate {name}',
                )

    def _slow_topics(self) -> Iterator[Finding]:
        troubled = set(self.unresponsive)
        troubled |= {f'/{n}' for n, s in self.diagnostics.items() if s.level != _OK}
        wrong = [topic for topic in self.topics if topic.is_wrong]
        for topic in wrong:
            if topic.rate_hz is None and not troubled.intersection(topic.publishers):
                yield Finding(
                    f'{topic.name} is silent, although {" and ".join(topic.publishers)} runs',
                    f'Run: softarm topic echo {topic.name}; then launch again',
                )
        slow = [
            f'{topic.name} at {hz(topic.rate_hz)} instead of {topic.expected_hz:g}'
            for topic in wrong
            if topic.rate_hz is not None
        ]
        if slow:
            load, cores = os.getloadavg()[0], os.cpu_count() or 1
            busy = f'; the load is {load:.1f} on {cores} cores' if load > cores else ''
            yield Finding(
                f'topics are slower than expected: {", ".join(slow)}{busy}',
                'End other programs' if busy else 'Run: softarm topic hz NAME',
            )


def hz(rate: float | None) -> str:
    """Return a rate in words."""
    return 'silent' if rate is None else f'{rate:.1f} Hz'


def one_line(message: str) -> str:
    """Return a message as one line without dumped bytes, of at most 200 characters."""
    text = _DUMPED_BYTES.sub('(bytes)', ' '.join(message.split()))
    limit = _MAX_MESSAGE_CHARACTERS
    return text if len(text) <= limit else f'{text[: limit - 3]}...'


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _is_stopped(pid: int) -> bool:
    """Return whether a process is stopped by a signal, by the state in /proc/PID/stat."""
    try:
        state = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]
    except OSError:
        return False
    return state in 'Tt'


def _stopped(name: str, pid: int) -> Finding:
    return Finding(
        f'node {name} (pid {pid}) is stopped by a signal', f'To continue it, run: kill -CONT {pid}'
    )


def _again(launch: Launch) -> str:
    return f'End the launch by Ctrl-C and run: {launch.command}'
