"""Files and folders of the emulated controller, below its environment variables."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

from abb_rws_emulator import refusals

ROOTS = {
    'HOME': '/hd0a/IRB120/HOME',
    'TEMP': '/hd0a/TEMP',
    'BACKUP': '/hd0a/BACKUP',
    'RAMDISK': '/hd0a/IRB120/RAMDISK',
}
ROOTS |= {
    'SYSTEM': '/hd0a/IRB120',
    'SYSPAR': '/hd0a/IRB120/SYSPAR',
    'INTERNAL': '/hd0a/IRB120/INTERNAL',
}
"""Folder by environment variable."""
LARGEST_BYTES, MOST_BYTES, MOST_NAMES, LONGEST_PATH, _DEEPEST = 8 << 20, 64 << 20, 5000, 250, 32


@dataclass
class FileStore:
    """Files by path, and folders. A path begins with its environment variable (`$HOME/a.mod`).

    Attributes:
        generation: Generation of RWS, which decides the refusal of a missing file.
    """

    generation: int = 1
    files: dict[str, bytes] = field(default_factory=dict)
    folders: set[str] = field(default_factory=lambda: {f'${name}' for name in ROOTS})
    changed: dict[str, datetime] = field(default_factory=dict)

    def write(self, path: str, content: bytes) -> bool:
        """Write a file and its folders; return whether the file is new.

        Raises:
            Refused: If the file is too large.
        """
        others = sum(len(held) for name, held in self.files.items() if name != path)
        if len(content) > LARGEST_BYTES or others + len(content) > MOST_BYTES:
            raise refusals.limit_reached('File too large, or no space left')
        if path in self.folders:
            raise refusals.name_taken()
        created = path not in self.files
        self.make_folder(path.rpartition('/')[0])
        self.files[path], self.changed[path] = content, datetime.now(UTC)
        return created

    def make_folder(self, path: str) -> None:
        """Make a folder and its parents.

        Raises:
            Refused: If the path is too long, a file stands in the way, or there are too many names.
        """
        if len(path) > LONGEST_PATH or path.count('/') > _DEEPEST:
            raise refusals.invalid('Path too long')
        parts = path.split('/')
        wanted = {'/'.join(parts[:i]) for i in range(1, len(parts) + 1)} - self.folders
        if any(folder in self.files for folder in wanted):
            raise refusals.name_taken()
        if len(self.files) + len(self.folders) + len(wanted) >= MOST_NAMES:
            raise refusals.limit_reached('Too many files')
        self.folders |= wanted

    def read(self, path: str) -> bytes:
        """Return the content of a file.

        Raises:
            Refused: If there is no such file.
        """
        if path not in self.files:
            raise refusals.no_file(self.generation)
        return self.files[path]

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with its content.

        Raises:
            Refused: If there is neither.
        """
        inside = [
            name
            for name in (*self.files, *self.folders)
            if name == path or name.startswith(f'{path}/')
        ]
        if not inside or path in (f'${name}' for name in ROOTS):
            raise refusals.no_file(self.generation)
        for name in inside:
            self.files.pop(name, None)
            self.changed.pop(name, None)
            self.folders.discard(name)

    def inside(self, folder: str) -> list[str]:
        """Return the names in a folder.

        Raises:
            Refused: If there is no such folder.
        """
        if folder not in self.folders:
            raise refusals.no_file(self.generation)
        below = [
            name[len(folder) + 1 :]
            for name in (*self.files, *self.folders)
            if name.startswith(f'{folder}/')
        ]
        return sorted({name.partition('/')[0] for name in below})


def normal_path(text: str) -> str:
    """Return a path in the form of the store.

    `/fileservice/$HOME/a`, `HOME/a`, `HOME:/a` and `/hd0a/IRB120/HOME/a` are all `$HOME/a`.

    Raises:
        Refused: If the path does not begin with an environment variable.
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
