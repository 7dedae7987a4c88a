"""Rigs: each is one folder with its devices, the parameters of its nodes and its calibrations.

    rig.yaml       keys of `RigFile`: kind of devices, robot, and how its cameras publish depth
    parameters/    ROS parameters of the nodes that talk to the devices, one file for each node
    calibration/   what was measured on the rig; see `soft_arm_description.calibration`

A rig is given by the path of its folder, or by its name: a folder in `own_rigs_root()`, or one of
the rigs that come with this package. Those are templates: no command writes into them.
"""

import importlib.resources
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from soft_arm_description.robot import RobotFileError, load_robot, shipped_robots
from soft_arm_io.errors import InputError
from soft_arm_io.fields import Number, Strict
from soft_arm_io.yaml_file import load_yaml, shown

Devices = Literal['virtual', 'real']
VIRTUAL: Devices = 'virtual'
REAL: Devices = 'real'


class RigError(InputError):
    """A rig that cannot be used; the message is one line with the remedy."""


class RigCamera(Strict):
    """Format of the depth that the driver of a camera publishes.

    Attributes:
        depth_unit_m: Unit of 16-bit depth images [m].
        align_depth: Whether depth comes as the depth camera sees it, with `depth/camera_info` and
            tf, and is to be aligned to colour.
    """

    depth_unit_m: Annotated[Number, Field(ge=1e-5, le=0.01)] = 1e-3
    align_depth: bool = False


class RigFile(Strict):
    """Content of `rig.yaml`; `robot` is a shipped robot, or a robot file in the rig's folder."""

    devices: Devices
    robot: Annotated[str, Field(min_length=1, max_length=200)]
    camera: RigCamera = RigCamera()
    finger_camera: RigCamera = RigCamera()


@dataclass(frozen=True)
class Rig:
    """A rig.

    Attributes:
        name: Name of its folder.
        folder: The folder.
        devices: `virtual` or `real`.
        robot: Shipped robot, or path of a robot file.
        is_template: Whether it comes with this package; nothing is written into such a rig.
        camera, finger_camera: The cameras of arm and finger.
    """

    name: str
    folder: Path
    devices: Devices
    robot: str
    is_template: bool
    camera: RigCamera = RigCamera()
    finger_camera: RigCamera = RigCamera()

    @property
    def argument(self) -> str:
        """Value of `--rig`: the name of the rig if it is known, else its folder."""
        return self.name if rig_folders().get(self.name) == self.folder else str(self.folder)

    def calibration_file(self, kind: str) -> Path:
        """Path of a calibration file, which need not exist."""
        return self.folder / 'calibration' / f'{kind}.yaml'


def template_rigs_root() -> Path:
    """Folder of the rigs that come with this package."""
    return Path(str(importlib.resources.files('soft_arm_description'))) / 'rigs'


def own_rigs_root() -> Path:
    """Folder of the user's rigs: `$SOFT_ARM_RIGS`, or else `~/.config/soft_arm/rigs`."""
    config = os.environ.get('XDG_CONFIG_HOME') or Path.home() / '.config'
    return Path(os.environ.get('SOFT_ARM_RIGS') or Path(config) / 'soft_arm' / 'rigs')


def rig_folders() -> dict[str, Path]:
    """Return the folder of every rig that has a name; a template's name means the template."""
    roots = [root for root in (own_rigs_root(), template_rigs_root()) if root.is_dir()]
    return {
        folder.name: folder
        for root in roots
        for folder in sorted(root.iterdir())
        if folder.is_dir() and not folder.name.startswith(('_', '.'))
    }


def load_rig(name_or_path: str | Path) -> Rig:
    """Read a rig.

    Args:
        name_or_path: Name of a rig, or path of its folder.

    Raises:
        RigError: If the rig does not exist, or its `rig.yaml` cannot be used.
    """
    text, folders = str(name_or_path), rig_folders()
    is_path = os.sep in text and '\0' not in text and os.path.isdir(text)
    if not is_path and text not in folders:
        known = ', '.join(sorted(folders))[:100]
        raise RigError(
            f'rig {shown(text)} is not known: give {known}, the path of a rig, '
            'or make one: softarm rig new NAME'
        )
    folder = Path(text).resolve() if is_path else folders[text]
    path = folder / 'rig.yaml'
    remedy = 'write `devices: real` and `robot: two_module_arm` into it'
    content = load_yaml(RigFile, 'rig file', path, RigError, remedy=remedy)
    robot = content.robot
    if robot not in shipped_robots():
        robot = str(folder / robot)
        try:
            load_robot(robot)
        except RobotFileError as error:
            raise RigError(f'{path}: {error}') from error
    is_template = folder.resolve().parent == template_rigs_root().resolve()
    return Rig(
        folder.name,
        folder,
        content.devices,
        robot,
        is_template,
        content.camera,
        content.finger_camera,
    )
