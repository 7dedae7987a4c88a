"""Running nodes and their processes."""

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from soft_arm_node_kit.node_names import domain_of, node_of

NO_ANSWER = 'no answer'
"""Lifecycle state of a node that does not answer."""


@dataclass(frozen=True)
class RunningNode:
    """Node of the graph; nodes of the same name are separate instances.

    Attributes:
        name: Full name.
        pid: Process on this machine; None if unknown.
    """

    name: str
    pid: int | None

    @property
    def where(self) -> str:
        """Process as text."""
        return 'process unknown' if self.pid is None else f'pid {self.pid}'


def running_pids(domain: str) -> dict[str, list[int]]:
    """Return the processes of this user on this machine in a ROS domain, by the node's full name.

    The command lines are read instead of the ROS graph, which keeps a killed node for 20 s and
    discovers a new one late.
    """
    found: dict[str, list[int]] = defaultdict(list)
    for entry in os.listdir('/proc'):
        if entry.isdigit() and (node := node_of(command_line(int(entry)))):
            variables = environment(int(entry))
            if variables and domain_of(variables) == domain:
                found[node].append(int(entry))
    return {name: sorted(pids) for name, pids in found.items()}


def command_line(pid: int) -> list[str]:
    """Return the arguments of a process; empty if it does not exist."""
    return _entries(pid, 'cmdline')


def environment(pid: int) -> dict[str, str]:
    """Return the environment; empty if the process has ended or belongs to another user."""
    return dict(entry.split('=', 1) for entry in _entries(pid, 'environ') if '=' in entry)


def _entries(pid: int, file: str) -> list[str]:
    try:
        text = Path(f'/proc/{pid}/{file}').read_text(errors='replace')
    except OSError:
        return []
    return text.rstrip('\0').split('\0') if text else []
