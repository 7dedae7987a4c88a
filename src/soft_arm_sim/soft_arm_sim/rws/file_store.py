"""Files and folders of the emulated controller, below its environment variables."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

from soft_arm_sim.rws import refusals

ROOTS = {'HOME': '/hd0a/IRB120/HOME', 'TEMP': '/hd0a/TEMP', 'BACKUP': '/hd0a/BACKUP', 'RAMDISK': '/hd0a/IRB120/RAMDISK'}
ROOTS |= {'SYSTEM': '/hd0a/IRB120', 'SYSPAR': '/hd0a/IRB120/SYSPAR', 'INTERNAL': '/hd0a/IRB120/INTERNAL'}
"""Environment variables, and where they point."""
LARGEST_BYTES = 8 << 20


@dataclass
class FileStore:
    """Files by path, and the folders that were made; a path begins with its environment variable (`$HOME/a.mod`).

    `generation` decides how a missing file is told.
    """

    generation: int = 1
    files: dict[str, bytes] = field(default_factory=dict)
    folders: set[str] = field(default_factory=lambda: {f'${name}' for name in ROOTS})
    changed: dict[str, datetime] = field(default_factory=dict)

    def write(self, path: str, content: bytes) -> bool:
        """Write a file, its folders included; is it a new one.

        Raises:
            Refused: If it is too large.
        """
        if len(content) > LARGEST_BYTES:
            raise refusals.limit_reached('File too large')
        created = path not in self.files
        self.files[path], self.changed[path] = content, datetime.now(UTC)
        folder = path.rpartition('/')[0]
        while folder:
            self.folders.add(folder)
            folder = folder.rpartition('/')[0]
        return created

    def read(self, path: str) -> bytes:
        """Content of a file.

        Raises:
            Refused: If there is none.
        """
        if path not in self.files:
            raise refusals.no_file(self.generation)
        return self.files[path]

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with all in it.

        Raises:
            Refused: If there is neither.
        """
        inside = [name for name in (*self.files, *self.folders) if name == path or name.startswith(f'{path}/')]
        if not inside or path in (f'${name}' for name in ROOTS):
            raise refusals.no_file(self.generation)
        for name in inside:
            self.files.pop(name, None)
            self.folders.discard(name)

    def inside(self, folder: str) -> list[str]:
        """Names directly in a folder.

        Raises:
            Refused: If there is no such folder.
        """
        if folder not in self.folders:
            raise refusals.no_file(self.generation)
        below = [name[len(folder) + 1 :] for name in (*self.files, *self.folders) if name.startswith(f'{folder}/')]
        return sorted({name.partition('/')[0] for name in below})


def normal_path(text: str) -> str:
    """A path as the store has it: `/fileservice/$HOME/a`, `HOME/a`, `HOME:/a` and `/hd0a/IRB120/HOME/a` are all `$HOME/a`.

    Raises:
        Refused: If it begins with no environment variable.
    """
    path = re.sub(r'^/?fileservice/', '', text.replace('\\', '/')).rstrip('/')
    for name, real in sorted(ROOTS.items(), key=lambda root: -len(root[1])):
        if path.lower().startswith(real.lower()) and path[len(real) : len(real) + 1] in ('', '/'):
            return f'${name}{path[len(real) :]}'
    root, _, rest = path.lstrip('/').partition('/')
    name = root.strip('$:').upper()
    if name not in ROOTS or '..' in rest.split('/'):
        raise refusals.no_volume()
    return f'${name}/{rest}' if rest else f'${name}'
