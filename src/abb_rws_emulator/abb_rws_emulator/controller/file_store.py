"""Files of the emulated controller, below its environment variables."""

import re
from dataclasses import dataclass, field

from abb_rws_emulator import refusals

ROOTS = {
    'HOME': '/hd0a/IRB120/HOME',
    'TEMP': '/hd0a/TEMP',
    'BACKUP': '/hd0a/BACKUP',
    'RAMDISK': '/hd0a/IRB120/RAMDISK',
    'SYSTEM': '/hd0a/IRB120',
    'SYSPAR': '/hd0a/IRB120/SYSPAR',
    'INTERNAL': '/hd0a/IRB120/INTERNAL',
}
"""Folder by environment variable."""
MAX_FILE_SIZE, MAX_STORE_SIZE, MAX_FILES, MAX_PATH_LENGTH = 8 << 20, 64 << 20, 1000, 250
"""Limits: bytes of a file and of all files, number of files, characters of a path."""


@dataclass
class FileStore:
    """Files by path, which starts with an environment variable (`$HOME/a.mod`).

    Attributes:
        generation: Generation of RWS, which determines the refusal of a missing file.
    """

    generation: int = 1
    files: dict[str, bytes] = field(default_factory=dict)

    def write(self, path: str, content: bytes) -> bool:
        """Write a file; return whether it is new.

        Raises:
            Refused: If a limit is exceeded.
        """
        others = sum(len(held) for name, held in self.files.items() if name != path)
        if len(content) > MAX_FILE_SIZE or others + len(content) > MAX_STORE_SIZE:
            raise refusals.limit_reached('File too large, or no space left')
        if len(path) > MAX_PATH_LENGTH:
            raise refusals.invalid('Path too long')
        created = path not in self.files
        if created and len(self.files) >= MAX_FILES:
            raise refusals.limit_reached('Too many files')
        self.files[path] = content
        return created

    def delete(self, path: str) -> None:
        """Delete a file.

        Raises:
            Refused: If the file is unknown.
        """
        if self.files.pop(path, None) is None:
            raise refusals.no_file(self.generation)

    def inside(self, folder: str) -> list[str]:
        """Return the names of the files and folders in a folder.

        Raises:
            Refused: If the folder is unknown.
        """
        below = [name[len(folder) + 1 :] for name in self.files if name.startswith(f'{folder}/')]
        if not below and '/' in folder:
            raise refusals.no_file(self.generation)
        return sorted({name.partition('/')[0] for name in below})


def normal_path(text: str) -> str:
    """Return a path in the form of the store.

    `$HOME/a`, `HOME/a`, `HOME:/a` and `/hd0a/IRB120/HOME/a` are all `$HOME/a`.

    Raises:
        Refused: If the path does not start with an environment variable.
    """
    path = text.replace('\\', '/').rstrip('/')
    for name, real in sorted(ROOTS.items(), key=lambda root: -len(root[1])):
        if re.match(f'{re.escape(real)}(/|$)', path, re.IGNORECASE):
            return f'${name}{path[len(real) :]}'
    root, _, rest = path.lstrip('/').partition('/')
    name = root.strip('$:').upper()
    if name not in ROOTS or '..' in rest.split('/'):
        raise refusals.no_volume()
    return f'${name}/{rest}' if rest else f'${name}'
