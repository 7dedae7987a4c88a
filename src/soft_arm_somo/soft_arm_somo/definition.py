"""SoMo's definitions, read as SoMo reads them: manipulators, and several of them on a body.

Values keep SoMo's units, which may be scaled. A part may be given as the path of a separate file.
Unknown keys are kept, so that the import can name them.
"""

import json
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from soft_arm_io.errors import InputError
from soft_arm_io.yaml_file import read_yaml, shown, validation_message

_PARTS = (
    'actuator_definitions',
    'base_definition',
    'base_links',
    'joint_definitions',
    'link_definition',
    'manipulator_definition_pairs',
    'tip_definition',
    'tip_definitions',
)
_DEEPEST = 8  # files that name files
_JOINTS_OF_FLAG = {
    0: 'two or three joint_definitions, one for each bending axis and one for torsion',
    1: 'one joint definition, which repeats along the actuator',
}


class SomoError(InputError):
    """A SoMo definition that cannot be imported; one line with file, key and remedy."""


def _absent(value: object) -> object:
    return None if value == '' else value


Real = Annotated[float, Field(strict=True, ge=-1e12, le=1e12, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, gt=0, le=1e12, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(strict=True, ge=0, le=1e12, allow_inf_nan=False)]
Triple = tuple[Real, Real, Real]
Sextuple = tuple[Real, Real, Real, Real, Real, Real]
NO_OFFSET = (0.0,) * 6


class Part(BaseModel):
    """A part of a definition; unknown keys stay in `model_extra`."""

    model_config = ConfigDict(extra='allow', frozen=True)
    __pydantic_extra__: dict[str, Any]


class Link(Part):
    """A rigid link: box and stadium [x, y, z], cylinder and capsule [length, radius], sphere [r].

    Attributes:
        origin_offset: Shift (x, y, z, roll, pitch, yaw) of shape and centre of mass.
    """

    shape_type: Literal['box', 'cylinder', 'sphere', 'stadium', 'capsule']
    dimensions: Annotated[tuple[Positive, ...], Field(min_length=1, max_length=3)]
    mass: NotNegative
    inertial_values: Sextuple | None = None
    material_color: tuple[Real, ...] | None = None
    material_name: str | None = None
    origin_offset: Sextuple | None = None
    visual_geometry_scaling_factor: Real = 1.0

    @model_validator(mode='after')
    def _check(self) -> Self:
        count = {'box': 3, 'stadium': 3, 'sphere': 1}.get(self.shape_type, 2)
        if len(self.dimensions) != count:
            raise ValueError(
                f'dimensions of a {self.shape_type} are {count} numbers, given '
                f'{len(self.dimensions)}'
            )
        return self

    @property
    def height(self) -> float:
        """Size along the chain."""
        if self.shape_type == 'sphere':
            return 2.0 * self.dimensions[0]
        return self.dimensions[2 if len(self.dimensions) == 3 else 0]

    @property
    def offset(self) -> Sextuple:
        """`origin_offset`, zeros where there is none."""
        return self.origin_offset or NO_OFFSET


class Joint(Part):
    """A hinge with a spring.

    Attributes:
        limits: Lower and upper angle [rad], effort and velocity.
        joint_control_limit_force: Largest torque of the motor that brakes the hinge.
        neutral_axis_offset: Place of the hinge relative to the centre line.
    """

    joint_type: Literal['revolute', 'continuous', 'fixed']
    axis: Triple | None = None
    limits: tuple[Real, Real, Real, Real] | None = None
    spring_stiffness: NotNegative | None = None
    joint_neutral_position: Real | None = None
    neutral_axis_offset: Sextuple | None = None
    joint_control_limit_force: NotNegative | None = None

    @model_validator(mode='after')
    def _check(self) -> Self:
        if self.joint_type == 'revolute' and self.limits is None:
            raise ValueError('a revolute joint needs limits: add [lower, upper, effort, velocity]')
        if self.limits and self.limits[0] == self.limits[1]:
            raise ValueError(f'limits hold the joint at {self.limits[0]:g} rad: make it fixed')
        if not np.any(self.direction):
            raise ValueError(f'axis {list(self.direction)} has no direction: give one')
        return self

    @property
    def direction(self) -> Triple:
        """`axis`, [1, 0, 0] where there is none."""
        return self.axis or (1.0, 0.0, 0.0)


def _whole(value: object) -> object:
    """5.0 as 5, and true, which is a planar flag, as 1."""
    return int(value) if isinstance(value, bool | float) and value == int(value) else value


class Actuator(Part):
    """A chain of `n_segments` equal links, with one joint in the middle of each."""

    actuator_length: Positive
    n_segments: Annotated[int, BeforeValidator(_whole), Field(strict=True, ge=1, le=200)]
    planar_flag: Annotated[Literal[0, 1, 2], BeforeValidator(_whole)]
    link_definition: Link
    joint_definitions: Annotated[tuple[Joint, ...], Field(min_length=1, max_length=200)]

    @model_validator(mode='after')
    def _check(self) -> Self:
        joints, height = len(self.joint_definitions), self.n_segments * self.link_definition.height
        wanted = {0: (2, 3), 1: (1,), 2: (self.n_segments,)}[self.planar_flag]
        if not self.link_definition.mass > 0.0:
            raise ValueError('mass of link_definition is 0: give the links a mass')
        if joints not in wanted:
            remedy = _JOINTS_OF_FLAG.get(self.planar_flag, f'{self.n_segments}, one a segment')
            raise ValueError(f'planar_flag {self.planar_flag} takes {remedy}; given {joints}')
        if not np.isclose(height, self.actuator_length, rtol=1e-6, atol=0.0):
            raise ValueError(
                f'actuator_length {self.actuator_length:g} is not n_segments x height of the link, '
                f'{height:g}: correct one of them'
            )
        return self


class Manipulator(Part):
    """A base, actuators in series and links at the tip."""

    manipulator_name: Annotated[str, Field(min_length=1, max_length=200)]
    n_act: Annotated[int, BeforeValidator(_whole), Field(strict=True)]
    actuator_definitions: Annotated[tuple[Actuator, ...], Field(min_length=1, max_length=20)]
    base_definition: Annotated[Link | None, BeforeValidator(_absent)] = None
    tip_definition: Annotated[Link | None, BeforeValidator(_absent)] = None
    tip_definitions: tuple[Annotated[Link | None, BeforeValidator(_absent)], ...] | None = None
    urdf_filename: str | None = None

    @model_validator(mode='after')
    def _check(self) -> Self:
        if self.n_act != len(self.actuator_definitions):
            raise ValueError(
                f'n_act is {self.n_act}, and there are {len(self.actuator_definitions)} '
                'actuator_definitions: make them equal'
            )
        if self.tip_definition and self.tip_definitions:
            raise ValueError('tip_definition and tip_definitions are both given: remove one')
        return self

    @property
    def tips(self) -> tuple[Link, ...]:
        """Links at the tip, all fixed to the end of the last actuator."""
        return tuple(tip for tip in (self.tip_definition, *(self.tip_definitions or ())) if tip)

    @property
    def base_height(self) -> float:
        """Height of the arm's base above the origin of SoMo's URDF.

        Without a base, SoMo leaves the height of one link free.
        """
        return (self.base_definition or self.actuator_definitions[0].link_definition).height


class Assembly(Part):
    """The arguments of SoMo's `create_cmassembly_urdf`: manipulators on bodies.

    Attributes:
        manipulator_definition_pairs: Manipulator, and its (x, y, z, roll, pitch, yaw) [rad].
    """

    assembly_name: str = 'cm_assembly'
    base_links: tuple[Link, ...] | None = None
    manipulator_definition_pairs: Annotated[
        tuple[tuple[Manipulator, Sextuple], ...], Field(min_length=1, max_length=50)
    ]


def read_definition(path: str | Path) -> Manipulator | Assembly:
    """Read a definition, and the files that it names.

    Args:
        path: A YAML or JSON file; a file that it names is relative to its folder.

    Raises:
        OSError: If a file cannot be read.
        SomoError: If a file is not a valid definition.
    """
    content, folder = _read(Path(path)), Path(path).parent
    if 'manipulator_definition_pairs' not in content and 'actuator_definitions' not in content:
        raise SomoError(
            f'{path}: no actuator_definitions of a manipulator and no '
            'manipulator_definition_pairs of an assembly: give a definition of SoMo'
        )
    kind = Manipulator if 'actuator_definitions' in content else Assembly
    try:
        return kind.model_validate(_with_files(content, folder))
    except ValidationError as error:
        raise SomoError(f'{path}: {validation_message(error)}') from error


def _with_files(content: dict, folder: Path, depth: int = 0) -> dict:
    """The same with every part in its place that is given as the path of its file."""
    if depth > _DEEPEST:
        raise SomoError(f'{folder}: definitions name each other: write one of them out')

    def part(value: Any) -> Any:
        if isinstance(value, list):
            return [part(one) for one in value]
        if isinstance(value, str) and value:
            path = folder / value
            return _with_files(_read(path), path.parent, depth + 1)
        return _with_files(value, folder, depth + 1) if isinstance(value, dict) else value

    return {key: part(value) if key in _PARTS else value for key, value in content.items()}


def _read(path: Path) -> dict:
    try:
        if path.suffix == '.json':
            content = json.loads(path.read_text(encoding='utf-8-sig'))
        else:
            content = read_yaml(path)
    except (ValueError, RecursionError) as error:
        raise SomoError(f'{path}: {shown(error, plain=True)}') from error
    if not isinstance(content, dict):
        raise SomoError(f'{path}: holds no keys with values: give a definition of SoMo')
    return content
