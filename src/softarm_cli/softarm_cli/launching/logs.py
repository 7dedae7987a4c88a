"""Launches and their processes, from the launch.log of `softarm launch` or `ros2 launch`."""

import os
import re
import shlex
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path

from soft_arm_node_kit.node_names import domain_of, node_of
from softarm_cli.graph.running_nodes import command_line, environment

_MAX_LOG_BYTES = 20_000_000
_STARTED = re.compile(r'^([\d.]+) .*\[(\S+)\]: process started with pid \[(\d+)\]')
_DIED = re.compile(r"^([\d.]+) .*process has died \[pid (\d+), exit code (-?\d+), cmd '(.*)'\]")
_FINISHED = re.compile(r'^([\d.]+) .*process has finished cleanly \[pid (\d+)\]')
_ENDED = re.compile(r'^([\d.]+) .*\[launch\]: ended because (.*)')
_SAID = re.compile(r'^[\d.]+ \[([\w.]+-\d+)\] (.*)')


@dataclass(frozen=True)
class LaunchedProcess:
    """Process of a launch.

    Attributes:
        label: Name in the launch's output, such as `tip_controller-5`.
        pid: Its process id.
        node: Full name of its node; None if the command line does not give it.
        exit_code: None while it runs; -9 is signal 9.
        ended_s: Time of its end [s], since the epoch.
        last_words: Last printed line.
    """

    label: str
    pid: int
    node: str | None = None
    exit_code: int | None = None
    ended_s: float = 0.0
    last_words: str = ''

    @property
    def has_died(self) -> bool:
        """True if it has ended with another exit code than 0."""
        return self.exit_code not in (None, 0)

    @property
    def name(self) -> str:
        """Full name of its node, or name of its executable."""
        return self.node or self.label.rpartition('-')[0]

    @property
    def end(self) -> str:
        """Description of its end; empty while it runs."""
        if self.exit_code is None:
            return ''
        age_s = time.time() - self.ended_s  # noqa: TID251  # logs hold the wall clock
        age = f'{max(0.0, age_s):.0f} s ago'
        if self.exit_code < 0:
            return f'was killed by {signal.Signals(-self.exit_code).name} {age}'
        said = f', its last line: {self.last_words[:140]}' if self.last_words else ''
        return f'ended with exit code {self.exit_code} {age}{said}'


@dataclass(frozen=True)
class Launch:
    """Launch with its processes.

    Attributes:
        command: Its command line; empty when it has ended.
        processes: The newest process of every label.
        cause: Reason for which it ended by itself, or empty.
        ended_s: Time of that end [s], since the epoch.
    """

    command: str
    processes: tuple[LaunchedProcess, ...]
    cause: str = ''
    ended_s: float = 0.0


def running_launches(domain: str) -> list[Launch]:
    """Return the launches of this user that run in a ROS domain."""
    running = {folder: _launch_environment(folder) for folder in _folders()}
    return [
        read_launch(folder)
        for folder, variables in running.items()
        if variables and domain_of(variables) == domain
    ]


def last_launch() -> Launch | None:
    """Return the newest launch, which may have ended."""
    folders = sorted(_folders(), key=lambda folder: (folder / 'launch.log').stat().st_mtime)
    return read_launch(folders[-1]) if folders else None


def read_launch(folder: Path) -> Launch:
    """Read the log of a launch.

    Args:
        folder: A folder with a launch.log, named `<date>-<host>-<pid of the launch>`.
    """
    processes: dict[str, LaunchedProcess] = {}
    cause, ended_s = '', 0.0
    for line in _lines(folder / 'launch.log'):
        if match := _STARTED.match(line):
            pid = int(match[3])
            processes[match[2]] = LaunchedProcess(match[2], pid, node_of(command_line(pid)))
        elif match := _DIED.match(line) or _FINISHED.match(line):
            for process in [p for p in processes.values() if p.pid == int(match[2])]:
                died = match.re is _DIED
                processes[process.label] = replace(
                    process,
                    node=node_of(match[4].split()) if died else process.node,
                    exit_code=int(match[3]) if died else 0,
                    ended_s=float(match[1]),
                )
        elif match := _SAID.match(line):
            if match[1] in processes and match[2].strip():
                processes[match[1]] = replace(processes[match[1]], last_words=match[2].strip())
        elif match := _ENDED.match(line):
            cause, ended_s = match[2], float(match[1])
    is_running = bool(_launch_environment(folder))
    command = shlex.join(command_line(_launch_pid(folder))[1:]) if is_running else ''
    # `softarm launch FILE ..` for `/somewhere/bin/softarm launch FILE ..`
    command = re.sub(r'^\S*/(softarm|ros2) ', r'\1 ', command)
    return Launch(command, tuple(processes.values()), cause, ended_s)


def log_root() -> Path:
    """Return the parent folder of all log folders, by the rules of ROS."""
    home = os.environ.get('ROS_HOME') or Path.home() / '.ros'
    return Path(os.environ.get('ROS_LOG_DIR') or Path(home) / 'log')


def _folders() -> list[Path]:
    found = log_root().glob('*/launch.log')
    return [path.parent for path in found if not path.parent.is_symlink()]


def _lines(path: Path) -> list[str]:
    with path.open('rb') as file:
        file.seek(max(0, path.stat().st_size - _MAX_LOG_BYTES))
        return file.read().decode(errors='replace').splitlines()


def _launch_pid(folder: Path) -> int:
    match = re.search(r'\d+$', folder.name)
    return int(match[0]) if match else 0


def _launch_environment(folder: Path) -> dict[str, str]:
    """Return the environment of the launch's process; empty if it has ended."""
    pid = _launch_pid(folder)
    # Another process may have its id now.
    return environment(pid) if 'launch' in command_line(pid) else {}
