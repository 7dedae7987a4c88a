"""Read robot, assembly and world files, by path or by the name of one that is shipped."""

import importlib.resources
import os
from pathlib import Path
from typing import TypeVar

from soft_arm_io.fields import Strict
from soft_arm_io.yaml_file import load_yaml, shown_path

_Model = TypeVar('_Model', bound=Strict)


def shipped_files(folder: str) -> dict[str, Path]:
    """YAML files in a folder of this package, by name."""
    files = importlib.resources.files('soft_arm_description').joinpath(folder)
    return {Path(str(f)).stem: Path(str(f)) for f in files.iterdir() if f.name.endswith('.yaml')}


def file_path(what: str, name_or_path: str | Path) -> Path:
    """Path of a file that is given by its path, or by its name among the shipped ones."""
    return shipped_files(_folder(what)).get(str(name_or_path), Path(name_or_path))


def load_model(
    model: type[_Model],
    what: str,
    name_or_path: str | Path,
    error: type[ValueError],
    left_out: tuple[str, ...] = (),
) -> _Model:
    """Read and validate a file.

    Args:
        model: Its schema.
        what: `robot`, `assembly` or `world`.
        name_or_path: Name of a shipped one, or path of a YAML file.
        error: What to raise.
        left_out: As in `yaml_file.validation_message`.

    Raises:
        error: If the file is missing, is not YAML, or has a missing, unknown or impossible value;
            one line.
    """
    names = ', '.join(sorted(shipped_files(_folder(what))))
    path = file_path(what, name_or_path)
    if not str(name_or_path) or '\0' in str(path) or os.path.isdir(path):
        given = shown_path(name_or_path)
        raise error(f'{what} file {given!r} is not a file: give the path of one, or one of {names}')
    remedy = f'give a path or one of {names}'
    return load_yaml(model, f'{what} file', path, error, remedy=remedy, left_out=left_out)


def _folder(what: str) -> str:
    return {'robot': 'robots', 'assembly': 'assemblies', 'world': 'worlds'}[what]
