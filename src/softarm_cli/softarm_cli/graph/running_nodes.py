"""Nodes that run, and the processes that they run in."""

import os
from dataclasses import dataclass
from pathlib import Path

NO_ANSWER = 'no answer'  # in place of the lifecycle state of a node that does not answer


@dataclass(frozen=True)
class RunningNode:
    """One node of the graph; two nodes of the same name are two of these.

    Attributes:
        name: Full name.
        pid: Its process on this machine; None if it is not known.
        elsewhere: Whether it runs on another machine.
    """

    name: str
    pid: int | None
    elsewhere: bool = False

    @property
    def where(self) -> str:
        """Its process, in words."""
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
    """Return the process with DDS and this low half of its pid; None if that is ambiguous."""
    pids = (int(entry) for entry in os.listdir('/proc') if entry.isdigit())
    found = [pid for pid in pids if pid & 0xFFFF == low and _has_dds(pid)]
    return found[0] if len(found) == 1 else None


def _has_dds(pid: int) -> bool:
    try:
        return 'fastrtps' in Path(f'/proc/{pid}/maps').read_text()
    except OSError:
        return False  # it has ended, or is another user's
