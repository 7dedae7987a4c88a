"""Calibration files of a rig: one schema, one loader and one writer for every kind.

A file `<rig>/calibration/<kind>.yaml` holds the keys of `Header`, which say what was measured, for
which robot, on which devices, how, when and how well, and under `values` the numbers of the kind. A
package that uses a kind defines its numbers as a subclass of `Values`.

What was measured on virtual devices is neither saved for nor loaded by a real rig: loader and
writer both compare the header's devices with the rig's.
"""

import datetime
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Generic, TypeVar

from pydantic import AfterValidator, Field, ValidationError

from soft_arm_description.rig import REAL, VIRTUAL, Devices, Rig, RigError
from soft_arm_description.robot import Robot
from soft_arm_io.fields import Number, Strict, Word
from soft_arm_io.yaml_file import YamlFileError, read_yaml, validation_message, write_yaml

COMMANDS = {
    'pressure_length': 'softarm calibrate curve --data lengths.csv',
    'pressure_bend': 'softarm calibrate finger --use-running',
    'extrinsics': 'softarm calibrate extrinsics',
    'camera_correction': 'softarm calibrate camera-check --apply',
    'motion_capture': 'softarm calibrate motion-capture --points tip.csv',
    'dynamics': 'softarm calibrate dynamics',
    'ring_noise': 'softarm calibrate ring-noise',
    'no_load_reference': 'softarm calibrate grasp',
    'depth_sensor': 'softarm calibrate depth',
}
"""Every kind of calibration, and the command that makes it."""


_SHOWN_ERROR = 120  # characters of what is wrong with a value


class CalibrationError(RigError):
    """A calibration that cannot be loaded or saved; the message is one line with the remedy."""


class OtherRobotError(CalibrationError):
    """A calibration that was made for another robot."""


def _day(text: str) -> str:
    return datetime.date.fromisoformat(text).isoformat()


Day = Annotated[str, AfterValidator(_day)]
Quantity = Annotated[str, Field(pattern=r'^[a-z0-9_]+_(m|rad|pa|pa_s|s|share)$', max_length=80)]
"""Name of a number, with its SI unit at the end."""


class Measurement(Strict):
    """Conditions and residuals of a measurement.

    Attributes:
        devices: On which devices, `virtual` or `real`.
        method: What was done, and how the numbers were found.
        date: Day of the measurement, ISO 8601.
        residuals: Errors of the fit, by name with unit.
        limits: Lowest and highest value of what was varied, by name with unit. The calibration is
            valid between them.
    """

    devices: Devices
    method: Annotated[str, Field(max_length=500)]
    date: Day = Field(default_factory=lambda: datetime.date.today().isoformat())
    residuals: Annotated[dict[Quantity, Annotated[Number, Field(ge=0)]], Field(min_length=1)]
    limits: Annotated[dict[Quantity, tuple[Number, Number]], Field(min_length=1)]


class Header(Strict):
    """Keys common to all kinds of calibration files.

    Attributes:
        kind, version: Which numbers the file holds, and the version of their keys.
        rig: Name of the rig on which it was measured.
        robot: Name of the robot for which it was made.
        robot_fingerprint: `Robot.kinematic_fingerprint` of that robot.
        measurement: How it was measured.
    """

    kind: Word
    version: int
    rig: Word
    robot: Word
    robot_fingerprint: Word
    measurement: Measurement


class Values(Strict):
    """The numbers of one kind of calibration; base class."""

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    for_any_robot: ClassVar[bool] = False  # True: they hold whichever robot hangs on the rig


V = TypeVar('V', bound=Values)


@dataclass(frozen=True)
class Calibration(Generic[V]):
    """A calibration that was loaded."""

    header: Header
    values: V


def load_calibration(
    rig: Rig, values: type[V], robot: Robot | None, path: Path | None = None
) -> Calibration[V]:
    """Load a calibration of a rig.

    Args:
        rig: The rig.
        values: Which kind.
        robot: The robot that is used; None suffices for a kind that holds for any robot.
        path: Calibration file; None: the rig's file.

    Raises:
        OtherRobotError: If it was made for another robot.
        CalibrationError: If the file is missing, is of another kind or version, has a missing,
            unknown or impossible value, or was measured on virtual devices while the rig is real.
    """
    path = path or rig.calibration_file(values.kind)
    header, content = _read(path, rig, values.kind, values.version)
    if values.for_any_robot:
        return Calibration(header, _parsed(values, content, path, rig, values.kind, 'values.'))
    if robot is None:
        raise TypeError(f'a calibration {values.kind} is for one robot: give it')
    if header.robot_fingerprint != robot.kinematic_fingerprint:
        raise OtherRobotError(
            f'{path}: made for another robot, {header.robot} {header.robot_fingerprint}, not for '
            f'{robot.name} {robot.kinematic_fingerprint}: leave it, and make a rig of your own '
            'with '
            '`softarm rig new NAME --robot FILE`'
        )
    return Calibration(header, _parsed(values, content, path, rig, values.kind, 'values.'))


def load_header(rig: Rig, kind: str) -> Header:
    """Load what a rig's calibration file says apart from its numbers.

    Raises:
        CalibrationError: As `load_calibration`.
    """
    return _read(rig.calibration_file(kind), rig, kind)[0]


def save_calibration(
    rig: Rig,
    values: Values,
    robot: Robot,
    measurement: Measurement,
    path: Path | None = None,
    made_by: str | None = None,
) -> Path | None:
    """Save a calibration of a rig, whole or not at all.

    Args:
        rig: The rig.
        values: The numbers.
        robot: The robot for which they were measured.
        measurement: How they were measured.
        path: Calibration file; None: the rig's file.
        made_by: Command for the comment in the file; None: the entry in `COMMANDS`.

    Returns:
        The file; None if the rig is a template and no other file is given: nothing is saved then.

    Raises:
        CalibrationError: If they were measured on virtual devices and the rig is real.
        OSError: If the file cannot be written.
    """
    path = path or rig.calibration_file(values.kind)
    _check_devices(path, measurement.devices, rig, values.kind)
    if rig.is_template and path == rig.calibration_file(values.kind):
        return None
    header = Header(
        kind=values.kind,
        version=values.version,
        rig=rig.name,
        robot=robot.name,
        robot_fingerprint=robot.kinematic_fingerprint,
        measurement=measurement,
    )
    content = header.model_dump(mode='json') | {
        'values': values.model_dump(mode='json', exclude_none=True)
    }
    write_yaml(path, content, f'Made by `{made_by or COMMANDS[values.kind]}`.')
    return path


def saved(path: Path | None, rig: Rig) -> str:
    """Say in one line where `save_calibration` has saved a file, or why it has not."""
    if path is not None:
        return f'saved in {path}'
    return (
        f'not saved: rig {rig.name!r} is a template; make a rig of your own with '
        f'`softarm rig new NAME --from {rig.name}`, and calibrate it with `--rig NAME`'
    )


def remedy(rig: Rig, kind: str) -> str:
    """Say which command makes a calibration that is missing or cannot be used."""
    if rig.is_template:
        return (
            f'make it with `{COMMANDS[kind]} --robot FILE --rig NAME`, '
            'for a rig of your own (`softarm rig new NAME`)'
        )
    return f'make it with `{COMMANDS[kind]} --robot FILE --rig {rig.argument}`'


def _read(path: Path, rig: Rig, kind: str, version: int | None = None) -> tuple[Header, object]:
    """Header and values of a file that this rig may load."""
    try:
        content = read_yaml(path)
    except OSError as error:
        raise CalibrationError(f'{path}: {error.strerror}; {remedy(rig, kind)}') from error
    except YamlFileError as error:
        raise CalibrationError(f'{path}: {error}; {remedy(rig, kind)}') from error
    values = content.pop('values', None) if isinstance(content, dict) else None
    header = _parsed(Header, content, path, rig, kind)
    if header.kind != kind:
        raise CalibrationError(
            f'{path}: kind is {header.kind}, not {kind}: give the {kind} file of this rig'
        )
    if version not in (None, header.version):
        raise CalibrationError(
            f'{path}: version {header.version} of {kind}, known is {version}; {remedy(rig, kind)}'
        )
    _check_devices(path, header.measurement.devices, rig, kind)
    return header, values


S = TypeVar('S', bound=Strict)


def _parsed(model: type[S], content: object, path: Path, rig: Rig, kind: str, key: str = '') -> S:
    try:
        # JSON, since strict validation of Python objects refuses a list where a tuple is wanted
        return model.model_validate_json(json.dumps(content), strict=True)
    except ValidationError as error:
        why = validation_message(error)
        why = why if len(why) <= _SHOWN_ERROR else f'{why[: _SHOWN_ERROR - 3]}...'
        raise CalibrationError(f'{path}: {key}{why}; {remedy(rig, kind)}') from error


def _check_devices(path: Path, devices: Devices, rig: Rig, kind: str) -> None:
    if devices == VIRTUAL and rig.devices == REAL:
        raise CalibrationError(
            f'{path}: measured on virtual devices, but rig {rig.name!r} is real: measure there, '
            f'`{COMMANDS[kind]} --rig {rig.argument}`'
        )
