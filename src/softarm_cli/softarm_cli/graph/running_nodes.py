"""Running nodes and their processes."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

NO_ANSWER = 'no answer'
"""Lifecycle state of a node that does not answer."""


@dataclass(frozen=True)
class RunningNode:
    """Node of the graph; nodes of the same name are separate instances.

    Attributes:
        name: Full name.
        pid: Process on this machine; None if unknown.
        elsewhere: True if it runs on another machine.
    """

    name: str
    pid: int | None
    elsewhere: bool = False

    @property
    def where(self) -> str:
        """Process as text."""
        if self.elsewhere:
            return 'on another machine'
        return 'process unknown' if self.pid is None else f'pid {self.pid}'


def running_node(name: str, gid: bytes, own: bytes) -> RunningNode:
    """Find a node's process: Fast DDS identifiers are `01 0f`, host, low half of the pid, .."""
    if own[:2] != b'\x01\x0f' or gid[:2] != own[:2]:
        return RunningNode(name, None)  # another DDS
    if gid[2:4] != own[2:4]:
        return RunningNode(name, None, elsewhere=True)
    return RunningNode(name, _pid(int.from_bytes(gid[4:6], 'little')))


def _pid(low: int) -> int | None:
    """Return the only DDS process with this low half of its pid, or None."""
    found = [pid for pid in pids() if pid & 0xFFFF == low and _has_dds(pid)]
    return found[0] if len(found) == 1 else None


def _has_dds(pid: int) -> bool:
    try:
        return 'fastrtps' in Path(f'/proc/{pid}/maps').read_text()
    except OSError:
        return False  # ended, or another user's


def node_of(words: Iterable[str]) -> str | None:
    """Return the full name of the node of a command line; None if it does not set it."""
    remaps = dict(word.split(':=', 1) for word in words if ':=' in word)
    if '__node' not in remaps:
        return None
    return f'/{remaps.get("__ns", "").strip("/")}/{remaps["__node"]}'.replace('//', '/')


def command_line(pid: int) -> list[str]:
    """Return the arguments of a process; empty if it does not exist."""
    return _entries(pid, 'cmdline')


def environment(pid: int) -> dict[str, str]:
    """Return the environment; empty if the process has ended or belongs to another user."""
    return dict(entry.split('=', 1) for entry in _entries(pid, 'environ') if '=' in entry)


def pids() -> list[int]:
    """Return the ids of all processes."""
    return [int(entry) for entry in os.listdir('/proc') if entry.isdigit()]


def _entries(pid: int, file: str) -> list[str]:
    try:
        text = Path(f'/proc/{pid}/{file}').read_text(errors='replace')
    except OSError:
        return []
    return text.rstrip('\0').split('\0') if text else []
