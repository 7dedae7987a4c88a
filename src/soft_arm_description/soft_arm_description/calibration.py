"""Where the calibration of a rig lies: `calibration/<rig>/<name>.yaml`, values with units in their keys, date, method, residual.

The package holds the rigs of the product. Rigs of one's own are folders of `own_rigs_root()`, which
no installation overwrites.

A rig has virtual or real devices: `rig.yaml` in its folder says which, and without that file they
are real. Every calibration file says on which devices it was measured (`devices`), and a real rig
loads none that was measured on virtual ones.
"""

from pathlib import Path

from soft_arm_description.rig import REAL, VIRTUAL, RigError, load_rig
from soft_arm_description.yaml_file import YamlFileError, read_yaml


class CalibrationError(RigError):
    """A calibration file that cannot be used; one line with the remedy."""


def calibration_path(rig: str, name: str) -> Path:
    """Path of a calibration file, which need not exist yet. Raises RigError."""
    return load_rig(rig).calibration_file(name)


def made_for_another(path: Path, made_for: str, robot: str) -> str:
    """What is wrong with a calibration file that was made for another robot, and what to do; other robots' files stay as they are."""
    return (
        f'{path.parent.parent.name}/{path.name} was made for another robot, {made_for[:40]}, not for {robot[:40]}: leave it, '
        f'make a rig of your own, `softarm rig new NAME --robot FILE`, and calibrate there with `--robot FILE --rig NAME`'
    )


def made_by(path: Path, command: str) -> str:
    """Remedy for a calibration file that is missing: the command that makes it, for the rig in whose folder it would lie.

    Args:
        path: Where the file was looked for.
        command: Such as `softarm calibrate curve`.
    """
    return f'make it with `{command} --robot FILE --rig {path.parent.parent.name}`'


def devices_of(rig: str) -> str:
    """Devices of a rig, `virtual` or `real`. Raises RigError."""
    return load_rig(rig).devices


def check_devices(path: Path, rig: str) -> Path:
    """Return the path of a calibration file if a rig may load it; a file that does not exist is left to its loader.

    Raises:
        CalibrationError: If the rig is real and the file was measured on a virtual rig, or does not
            say on which devices.
    """
    if devices_of(rig) == VIRTUAL or not path.exists():
        return path
    devices = _read(path).get('devices')
    if devices == VIRTUAL:
        raise CalibrationError(
            f'{path}: measured on virtual devices, but rig {rig!r} is real: calibrate it with `softarm calibrate`'
        )
    if devices != REAL:
        raise CalibrationError(
            f'{path}: does not say on which devices it was measured: calibrate rig {rig!r} again, '
            f'or add the line `devices: {REAL}` if you know that it was measured there'
        )
    return path


def loadable(rig: str, name: str) -> Path:
    """Path of the calibration file that a rig loads; see `calibration_path` and `check_devices`."""
    return check_devices(calibration_path(rig, name), rig)


def _read(path: Path) -> dict:
    try:
        content = read_yaml(path)
    except (YamlFileError, OSError) as error:
        raise CalibrationError(f'{path}: {getattr(error, "strerror", None) or error}') from error
    if not isinstance(content, dict):
        raise CalibrationError(f'{path}: give keys with values, such as `devices: {REAL}`')
    return content
