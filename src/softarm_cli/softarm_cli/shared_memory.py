"""Removal of shared memory that Fast DDS leaves behind when a node is killed.

The locks of such files are free.
"""

import fcntl
import os
import time
from pathlib import Path

_DIRECTORY = Path('/dev/shm')
_LOCKS = ('_el', '_sl')  # held exclusively by a segment's writer, shared by a port's readers
_SETTLED_S = 5.0  # a starting node has created its files but not locked them


def stale_files(directory: Path = _DIRECTORY) -> list[Path]:
    """Return the files of this user that do not belong to a running node."""
    names = {
        entry.name
        for entry in os.scandir(directory)
        if entry.name.startswith('fastrtps_') and _is_ours(entry)
    }
    owners = {name[:-3] if name.endswith(_LOCKS) else name for name in names}
    dead = [owner for owner in owners if not _in_use(directory, owner)]
    related = [
        directory / name
        for owner in dead
        for name in (owner, *(owner + lock for lock in _LOCKS), f'sem.{owner}_mutex')
    ]
    return sorted(path for path in related if path.exists())


def remove_stale(directory: Path = _DIRECTORY) -> int:
    """Remove the files of `stale_files`; return the number of freed bytes."""
    freed = 0
    for path in stale_files(directory):
        try:
            size = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            continue  # another cleaner was faster
        freed += size
    return freed


def _is_ours(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_uid == os.getuid()
    except FileNotFoundError:
        return False


def _in_use(directory: Path, owner: str) -> bool:
    locks = [directory / (owner + lock) for lock in _LOCKS]
    found = False
    for lock in locks:
        try:
            descriptor = os.open(lock, os.O_RDONLY)
        except FileNotFoundError:
            continue
        found = True
        try:
            now_s = time.time()  # noqa: TID251  # clock of file stamps
            if now_s - os.fstat(descriptor).st_mtime < _SETTLED_S:
                return True
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
    return not found
