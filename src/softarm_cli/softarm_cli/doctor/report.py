"""Report on the running graph: nodes, topics, diagnostics, launches, and what is wrong."""

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import filter as matching

from soft_arm_io.command_line import one_line
from softarm_cli.doctor.systems import systems_of
from softarm_cli.graph.running_nodes import NO_ANSWER, RunningNode
from softarm_cli.launching.logs import Launch

_RATE_TOLERANCE = 0.2
_RECENT_S = 600.0
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
    """One topic; rates in Hz, None if nothing was received."""

    name: str
    rate_hz: float | None
    expected_hz: float
    publishers: tuple[str, ...]

    @property
    def is_wrong(self) -> bool:
        """Whether the rate is missing, or lower by more than a fifth."""
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
        diagnostics: Newest diagnostic by the node's full name.
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
            *self._unresponsive(),
            *self._diagnosed(),
            *self._inactive(),
            *self._slow_topics(),
        ]

    @property
    def _running(self) -> set[str]:
        return {node.name for node in self.nodes}

    def _died(self) -> Iterator[Finding]:
        for launch in self.launches:
            for process in launch.processes:
                if process.has_died and process.name not in self._running:
                    yield Finding(f'{process.name} {process.end}', _again(launch))
        last = self.last_launch
        if self.nodes or last is None or not last.cause or last.command:
            return
        age_s = time.time() - last.ended_s  # noqa: TID251  # logs hold the wall clock
        if age_s < _RECENT_S:
            yield Finding(
                f'nothing runs: the last launch ended {age_s:.0f} s ago because {last.cause}',
                'Remove that cause, and launch again',
            )

    def _missing(self) -> Iterator[Finding]:
        launched = [process for launch in self.launches for process in launch.processes]
        died = {process.name for process in launched if process.has_died}
        for system, namespace in systems_of(self._running):
            expected = {f'{namespace}/{name}' for name in system.nodes}
            # A launch may leave some of them out.
            expected = expected & {process.name for process in launched} or expected
            missing = {name: '' for name in sorted(expected - self._running - died)}
            missing |= {
                name: f' (started by {starter})'
                for name, starter in system.others.items()
                if not matching(self._running, name)
            }
            again = _again(self.launches[0]) if len(self.launches) == 1 else f'Run: {system.launch}'
            for name, starter in missing.items():
                needed = f'the {system.name} in {namespace or "/"} needs it'
                yield Finding(f'node {name}{starter} is missing: {needed}', again)

    def _doubled(self) -> Iterator[Finding]:
        by_name, by_device = defaultdict(list), defaultdict(list)
        for node in self.nodes:
            by_name[node.name].append(node)
        for name, status in self.diagnostics.items():
            if name.endswith('_driver') and status.hardware_id:
                by_device[status.hardware_id].append(name)
        for name, same in by_name.items():
            if len(same) > 1:
                where = ', '.join(node.where for node in same)
                pids = [node.pid for node in same if node.pid is not None]
                yield Finding(
                    f'node {name} runs {len(same)} times ({where}): both act on the same topics',
                    f'To end the newest, run: kill -INT {max(pids)}' if pids else 'End one of them',
                )
        for device, names in by_device.items():
            if len(names) > 1:
                yield Finding(
                    f'{" and ".join(sorted(names))} both drive the device at {device}',
                    'End one of them before anything is commanded',
                )

    def _unresponsive(self) -> Iterator[Finding]:
        where = {node.name: node.where for node in self.nodes}
        for name in self.unresponsive:
            yield Finding(
                f'node {name} ({where.get(name, "process unknown")}) runs, but does not answer',
                'Wait a minute, because a new arm is compiled once; then end the launch by Ctrl-C '
                'and launch again',
            )

    def _diagnosed(self) -> Iterator[Finding]:
        for name, status in sorted(self.diagnostics.items()):
            if status.level != _OK and not status.is_idle:
                level = _LEVELS[min(status.level, len(_LEVELS) - 1)]
                remedy = status.remedy or 'see docs/how-to/troubleshoot.md'
                yield Finding(
                    f'{name} reports ({level}): {one_line(status.message)}',
                    remedy[:1].upper() + remedy[1:],
                )

    def _inactive(self) -> Iterator[Finding]:
        for name, state in sorted(self.states.items()):
            status = self.diagnostics.get(name)
            is_reported = status is not None and status.level == _ERROR
            if state not in ('active', NO_ANSWER) and not is_reported:
                yield Finding(
                    f'the driver {name} is {state}: it ignores commands',
                    f'When nobody can be hurt, run: softarm node activate {name}',
                )

    def _slow_topics(self) -> Iterator[Finding]:
        reported = {name for name, status in self.diagnostics.items() if status.level != _OK}
        reported |= set(self.unresponsive)
        wrong = [topic for topic in self.topics if topic.is_wrong]
        for topic in wrong:
            if topic.rate_hz is None and not reported.intersection(topic.publishers):
                yield Finding(
                    f'{topic.name} is silent, although {" and ".join(topic.publishers)} runs',
                    f'Run: softarm topic echo {topic.name}; then launch again',
                )
        slow = [
            f'{topic.name} at {topic.rate_hz:.1f} Hz instead of {topic.expected_hz:g}'
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


def _again(launch: Launch) -> str:
    return f'End the launch by Ctrl-C and run: {launch.command}'
