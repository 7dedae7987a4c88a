"""Rigs: the folders that hold their parameters and calibrations, and new ones made from an existing rig.

A rig NAME is two folders: `launch/config/NAME/` with the parameters of its devices, and one with
what was measured on it, in the package for the rigs of the product and in `own_rigs_root()` for
one's own.
"""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from ament_index_python.packages import get_package_share_directory

from soft_arm_description.calibration import (
    VIRTUAL,
    CalibrationError,
    calibration_path,
    check_devices,
    devices_of,
    own_rigs_root,
    rigs,
)
from soft_arm_description.robot import Robot, load_robot, shipped_robots
from softarm_cli.errors import RigError

_NAME = re.compile(r'[a-z][a-z0-9_]{0,39}')
DEFAULT_ROBOT = 'two_module_arm'
_NO_CALIBRATIONS = ('rig.yaml', 'robot.yaml')


@dataclass(frozen=True)
class Calibration:
    """One calibration file: its name, the command that makes it for a rig, what the operator does, who cannot start without it."""

    name: str
    command: str
    advice: str
    needed_by: str


_ARM = (
    Calibration(
        'pressure_length',
        'softarm calibrate curve --data lengths.csv',
        'measure the length of each bellows at rising and falling pressures (columns chamber,pressure_pa,length_m)',
        'the kinematics',
    ),
    Calibration(
        'extrinsics',
        'softarm calibrate extrinsics',
        'launch the rig with vision:=false control:=false, and put the ring on the pegs of the calibration jig',
        'ring_detector',
    ),
    Calibration(
        'dynamics',
        'softarm calibrate dynamics',
        'launch the rig with control:=false, and clear the space around the arm: it moves',
        'tip_controller',
    ),
)
_FINGER = (
    Calibration(
        'pressure_bend',
        'softarm calibrate finger --live',
        'start the cell and take every object away: the finger moves over its whole range',
        'no node, but bends are nominal without it',
    ),
    Calibration(
        'free_closing',
        'softarm calibrate grasp',
        'start the cell and take every object away: the finger closes a few times',
        'no node, but a contact is seen by shape alone without it',
    ),
)


@dataclass(frozen=True)
class Rig:
    """One rig.

    Attributes:
        name: Its name.
        devices: `virtual` or `real`.
        config: Folder of its parameters; None where it has none.
        calibrations: Names of the calibration files that it has and may load.
        refused: Why it may not load others, by name.
    """

    name: str
    devices: str
    config: Path | None
    calibrations: tuple[str, ...]
    refused: dict[str, str]

    @property
    def robot(self) -> str:
        """Its own robot file, or else the shipped arm."""
        own = _robot_file(self.name)
        return str(own) if own.exists() else DEFAULT_ROBOT


def launch_folder() -> Path:
    """Return the folder of the launch files: in the source tree where the workspace was built with symbolic links."""
    return (
        (Path(get_package_share_directory('soft_arm_bringup')) / 'launch' / 'rig.launch.xml')
        .resolve()
        .parent
    )


def all_rigs() -> list[Rig]:
    """Return every rig that has a calibration folder, by name."""
    return [_rig(name) for name in rigs()]


def new_rig(name: str, source: str, robot: str) -> list[Path]:
    """Make a rig: parameters copied from another one with their comments, and an empty calibration with a guide.

    Args:
        name: Of the rig: small letters, digits and _.
        source: Rig whose parameters are copied.
        robot: Shipped robot, or path of a robot file, which is copied into the rig's folder.

    Returns:
        The files made.

    Raises:
        RigError: If the name is taken or is not a name, or there is no such source; nothing is made then.
        RobotFileError: If the robot file cannot be used.
    """
    if not _NAME.fullmatch(name):
        raise RigError(
            f'{name!r} is not a name of a rig: use at most 40 small letters, digits and _, and begin with a letter'
        )
    config, calibration = _config(name), own_rigs_root() / name
    taken = [folder for folder in (config, calibration) if os.path.lexists(folder)]
    if taken or name in rigs():
        where = taken[0] if taken else calibration_path(name, 'rig').parent
        raise RigError(
            f'there is a rig {name!r} already, at {where}: choose another name, or edit its files'
        )
    known = [rig for rig in rigs() if _config(rig).is_dir()]
    if source not in known:
        raise RigError(f'there is no rig {source!r} to begin with; there are: {", ".join(known)}')
    described, own, devices = load_robot(robot), robot not in shipped_robots(), devices_of(source)
    try:
        shutil.copytree(_config(source), config)
        calibration.mkdir(parents=True)
        if own:
            shutil.copyfile(robot, calibration / 'robot.yaml')
        (calibration / 'rig.yaml').write_text(
            f'devices: {devices}  # virtual or real: a real rig loads nothing measured on virtual devices\n'
        )
        (calibration / 'README.md').write_text(
            _guide(name, described, str(calibration / 'robot.yaml') if own else robot)
        )
    except OSError as error:
        for folder in (config, calibration):
            shutil.rmtree(folder, ignore_errors=True)
        raise RigError(f'cannot make {error.filename}: {error.strerror}') from error
    return sorted(path for folder in (config, calibration) for path in folder.iterdir())


def calibrations_of(robot: Robot) -> tuple[Calibration, ...]:
    """Return the calibrations that a rig with this robot needs, in the order in which they are made."""
    kinds = {segment.kind for segment in robot.segments}
    return _ARM if 'bellows' in kinds else _FINGER if 'single_bend' in kinds else ()


def command_for(calibration: Calibration, rig: str, robot: str) -> str:
    """Return the command line that makes a calibration of a rig."""
    takes_robot = '' if robot == DEFAULT_ROBOT and calibration in _ARM else f' --robot {robot}'
    return f'{calibration.command} --rig {rig}{takes_robot}'


def launch_command(rig: str, robot: Robot, file: str) -> str:
    """Return the command line that launches a rig with a robot, `file` being how the robot is named."""
    is_finger = any(segment.kind == 'single_bend' for segment in robot.segments)
    devices = devices_of(rig)
    if is_finger:
        given = '' if devices == VIRTUAL else ' emulated:=false rws_port:=80 modbus_port:=502'
        return f'softarm launch launch/cell.launch.xml rig:={rig}{given} robot:={file}'
    given = '' if file == DEFAULT_ROBOT else f' robot:={file}'
    return f'softarm launch launch/{"sim" if devices == VIRTUAL else "rig"}.launch.xml rig:={rig}{given}'


def _config(name: str) -> Path:
    return launch_folder() / 'config' / name


def _robot_file(name: str) -> Path:
    return calibration_path(name, 'robot')


def _rig(name: str) -> Rig:
    config, folder = _config(name), calibration_path(name, 'rig').parent
    usable, refused = [], {}
    for path in sorted(path for path in folder.glob('*.yaml') if path.name not in _NO_CALIBRATIONS):
        try:
            check_devices(path, name)
            usable.append(path.stem)
        except CalibrationError as error:
            refused[path.stem] = str(error)
    return Rig(name, devices_of(name), config if config.is_dir() else None, tuple(usable), refused)


def _guide(name: str, robot: Robot, file: str) -> str:
    steps = [
        f'{number}. `{command_for(calibration, name, file)}`: {calibration.advice}. Needed by {calibration.needed_by}.'
        for number, calibration in enumerate(calibrations_of(robot), 2)
    ]
    return '\n'.join(
        [
            f'Calibrations of the rig {name}. Make them in this order; `softarm rig list` shows which are there.',
            '',
            f'1. Read docs/explanation/safety.md. Write the addresses of the devices into `{_config(name)}`.',
            *(steps or [f'Robot {robot.name} needs no calibration.']),
            f'{len(steps) + 2}. `{launch_command(name, robot, file)}`',
            '',
        ]
    )
