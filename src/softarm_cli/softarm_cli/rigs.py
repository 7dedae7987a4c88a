"""Create a rig from a template, and list the missing calibrations of a rig."""

import json
import re
import shutil
from dataclasses import dataclass

import yaml

from soft_arm_description.calibration import COMMANDS, CalibrationError, load_header
from soft_arm_description.rig import (
    REAL,
    VIRTUAL,
    Rig,
    RigError,
    load_rig,
    own_rigs_root,
    rig_folders,
)
from soft_arm_description.robot import Robot, load_robot, shipped_robots

_NAME = re.compile(r'[a-z][a-z0-9_]{0,39}')
DEFAULT_ROBOT = 'two_module_arm'


@dataclass(frozen=True)
class Needed:
    """Calibration needed by a rig.

    Attributes:
        kind: Kind of the calibration, a key of `COMMANDS`.
        advice: Instructions for the operator.
        needed_by: Node that cannot start, or works worse, without the calibration.
    """

    kind: str
    advice: str
    needed_by: str


_ARM = (
    Needed(
        'pressure_length',
        'measure the length of each bellows at rising and falling pressures '
        '(columns chamber,pressure_pa,length_m)',
        'the kinematics',
    ),
    Needed(
        'extrinsics',
        'launch the rig with tip_source:=none control:=false, '
        'and put the ring on the pegs of the calibration jig',
        'tip_tracker',
    ),
    Needed(
        'dynamics',
        'launch the rig with control:=false, and clear the space around the arm: it moves',
        'tip_controller',
    ),
)
_FINGER = (
    Needed(
        'pressure_bend',
        'start the cell and take every object away: the finger moves over its whole range',
        'no node, but bends are nominal without it',
    ),
    Needed(
        'no_load_reference',
        'start the cell and take every object away: the finger closes a few times',
        'no node, but contacts are detected by configuration alone without it',
    ),
)


def _is_text_in_yaml(name: str) -> bool:
    """Return whether all parsers of ROS take a name as text."""
    try:
        float(name)
        return False
    except ValueError:
        return name not in ('y', 'n') and isinstance(yaml.safe_load(name), str)


def new_rig(name: str, template: str, robot: str) -> Rig:
    """Create a rig in the user's folder: parameters of the template, and a guide.

    Args:
        name: Name of the rig: lower-case letters, digits and _.
        template: Name of a rig, or path of its folder.
        robot: Shipped robot, or path of a robot file, which is copied into the rig's folder.

    Raises:
        RigError: If the name is taken or invalid, or the template is unknown. Nothing is
            created then.
        RobotFileError: If the robot file cannot be used.
    """
    if not _NAME.fullmatch(name):
        raise RigError(
            f'{name!r} is not a valid rig name: use at most 40 lower-case letters, digits and _, '
            'and begin with a letter'
        )
    if not _is_text_in_yaml(name):
        raise RigError(
            f'{name!r} is not a valid rig name: launch files would read it as a boolean, a number '
            'or nothing; choose another one'
        )
    folder = own_rigs_root() / name
    taken = folder if folder.exists() else rig_folders().get(name)
    if taken:
        raise RigError(
            f'there is a rig {name!r} already, at {taken}: choose another name, or edit its files'
        )
    source = load_rig(template)
    load_robot(robot)
    shipped = robot in shipped_robots()
    try:
        shutil.copytree(source.folder / 'parameters', folder / 'parameters')
        (folder / 'calibration').mkdir()
        if not shipped:
            shutil.copyfile(robot, folder / 'robot.yaml')
        (folder / 'rig.yaml').write_text(
            f'devices: {source.devices}  '
            '# virtual or real; a real rig loads no calibration that was measured on virtual '
            'devices\n'
            f'robot: {robot if shipped else "robot.yaml"}  '
            '# a shipped robot, or a robot file in this folder\n'
            '# unit of 16-bit depth; align_depth: true if the driver does not align it to colour\n'
            f'camera: {json.dumps(source.camera.model_dump())}\n'
            f'finger_camera: {json.dumps(source.finger_camera.model_dump())}\n'
        )
        rig = load_rig(name)
        (folder / 'README.md').write_text(_guide(rig))
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise RigError(f'cannot create {error.filename}: {error.strerror}') from error
    return rig


def all_rigs() -> list[Rig]:
    """Return all named rigs."""
    return [load_rig(name) for name in sorted(rig_folders())]


def calibrations_of(rig: Rig) -> tuple[list[str], dict[str, str]]:
    """Return the usable calibrations of a rig, and the errors of the others by kind."""
    usable, refused = [], {}
    for kind in COMMANDS:
        if rig.calibration_file(kind).exists():
            try:
                load_header(rig, kind)
                usable.append(kind)
            except CalibrationError as error:
                refused[kind] = str(error)
    return usable, refused


def needed_calibrations(robot: Robot) -> tuple[Needed, ...]:
    """Return the calibrations that a rig with this robot needs, in the order of measurement."""
    kinds = {segment.kind for segment in robot.segments}
    return _ARM if 'bellows' in kinds else _FINGER if 'single_bend' in kinds else ()


def calibrate_command(needed: Needed, rig: Rig, robot: str) -> str:
    """Return the command line that measures a calibration of a rig."""
    takes_robot = '' if robot == DEFAULT_ROBOT and needed in _ARM else f' --robot {robot}'
    return f'{COMMANDS[needed.kind]} --rig {rig.name}{takes_robot}'


def launch_command(rig: Rig) -> str:
    """Return the command line that launches a rig."""
    is_finger = any(segment.kind == 'single_bend' for segment in load_robot(rig.robot).segments)
    if is_finger:
        file = 'cell'
        given = ' emulated:=false rws_port:=80 modbus_port:=502' if rig.devices == REAL else ''
    else:
        file, given = ('sim' if rig.devices == VIRTUAL else 'rig'), ''
    if is_finger or rig.robot != DEFAULT_ROBOT:
        given += f' robot:={rig.robot}'
    return f'softarm launch launch/{file}.launch.xml rig:={rig.name}{given}'


def _guide(rig: Rig) -> str:
    robot = load_robot(rig.robot)
    steps = [
        f'`{calibrate_command(needed, rig, rig.robot)}`: {needed.advice}. '
        f'Needed by {needed.needed_by}.'
        for needed in needed_calibrations(robot)
    ] or [f'Robot {robot.name} needs no calibration.']
    steps = [
        "Read the page on safety. Write your devices' addresses into `parameters/`.",
        *steps,
        f'`{launch_command(rig)}`',
    ]
    return (
        f'Rig {rig.name}. Make its calibrations in this order; '
        '`softarm rig list` shows which it has.\n\n'
        + ''.join(f'{number}. {step}\n' for number, step in enumerate(steps, 1))
    )
