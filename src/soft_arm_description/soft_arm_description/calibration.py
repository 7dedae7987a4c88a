"""Where the calibration of a rig lies: `calibration/<rig>/<name>.yaml`, values with units in their keys, date, method, residual."""

import importlib.resources
import re
from pathlib import Path


class CalibrationError(ValueError):
    """A rig that is not known or a calibration name that is not one; one line with the remedy."""


def calibration_root() -> Path:
    """Folder that holds one folder for each rig."""
    return Path(str(importlib.resources.files('soft_arm_description'))) / 'calibration'


def rigs() -> tuple[str, ...]:
    """Rigs that have a calibration folder."""
    return tuple(sorted(p.name for p in calibration_root().iterdir() if p.is_dir() and not p.name.startswith('_')))


def calibration_path(rig: str, name: str) -> Path:
    """Path of a calibration file, which need not exist yet.

    Args:
        rig: `virtual`, `lab` or another folder under `calibration_root()`.
        name: `pressure_length`, `extrinsics`, `dynamics` ...

    Raises:
        CalibrationError: If there is no such rig, or the name is not a plain word.
    """
    if rig not in rigs():
        raise CalibrationError(f'rig {rig!r} is not known: use one of {list(rigs())}, or make the folder {calibration_root() / rig}')
    if not re.fullmatch(r'[a-z][a-z0-9_]*', name):
        raise CalibrationError(f'calibration {name!r} is not a name: use letters, digits and _, such as pressure_length')
    return calibration_root() / rig / f'{name}.yaml'
