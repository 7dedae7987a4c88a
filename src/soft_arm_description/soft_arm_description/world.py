"""World files: gravity, medium, ground, objects, loads, lights and cameras around robots."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from soft_arm_description.rigid_bodies import AT_ORIGIN, RigidBody, with_mesh_paths
from soft_arm_description.segments.values import (
    Density,
    Direction,
    DragCoefficient,
    FrictionCoefficient,
    Name,
    Place,
    Position,
    Text,
    check_direction,
    check_unique,
)
from soft_arm_description.shipped import file_path, load_model, shipped_files
from soft_arm_io.errors import InputError
from soft_arm_io.fields import Strict, number
from soft_arm_io.yaml_file import shown_path

Acceleration = Annotated[float, number(-1000.0, 1000.0, 'm/s^2')]
Force = Annotated[float, number(-1e6, 1e6, 'N')]
Torque = Annotated[float, number(-1e6, 1e6, 'N m')]
Pixels = Annotated[int, number(16, 4096, 'px', int)]


class WorldFileError(InputError):
    """A world file that cannot be used; one line with file, key, value and remedy."""


class LimbDrag(Strict):
    """Drag coefficients of limbs.

    Across the axis over the width that a limb shows, along it over its whole surface, and of its
    blunt end over the end's area.
    """

    across: DragCoefficient = 1.1
    along: DragCoefficient = 0.012
    end: DragCoefficient = 1.0


class Medium(Strict):
    """Fluid around everything; it gives drag and buoyancy."""

    name: Name
    density_kg_m3: Density
    viscosity_pa_s: Annotated[float, number(0.0, 1e4, 'Pa s')]
    drag: LimbDrag = LimbDrag()


class Ground(Strict):
    """A level plane."""

    height_m: Place = 0.0
    friction: FrictionCoefficient | None = None


class Load(Strict):
    """A constant force and torque on a robot, in the world's axes."""

    robot: Name
    # number of a section, counted from 0 over all segments from base to tip
    section: Annotated[int, number(0, 4000, '', int)] | Literal['tip'] = 'tip'
    force_n: tuple[Force, Force, Force] = AT_ORIGIN
    torque_n_m: tuple[Torque, Torque, Torque] = AT_ORIGIN


class Light(Strict):
    """A light in the world, or on a robot's tip, whose frame its place then refers to."""

    name: Name
    position_m: Position = AT_ORIGIN
    direction: Direction
    # half the opening angle of a spot light; None: it shines to all sides
    spot_deg: Annotated[float, number(1.0, 90.0, 'deg')] | None = None
    attach: Name | None = None

    @model_validator(mode='after')
    def _check(self) -> Self:
        check_direction('direction', self.direction)
        return self


class Camera(Strict):
    """A camera that looks at a point of the world, or along the z axis of a robot's tip."""

    name: Name
    position_m: Position = AT_ORIGIN
    look_at_m: Position | None = None
    attach: Name | None = None
    fovy_deg: Annotated[float, number(1.0, 170.0, 'deg')] = 45.0
    width_px: Pixels = 640
    height_px: Pixels = 480

    @model_validator(mode='after')
    def _check(self) -> Self:
        if (self.look_at_m is None) == (self.attach is None):
            raise ValueError(
                'give one of look_at_m, a point of the world, and attach, a robot: it has '
                f'{"neither" if self.attach is None else "both"}'
            )
        if self.look_at_m == self.position_m:
            raise ValueError(f'look_at_m {list(self.position_m)} is where the camera stands')
        return self


class World(Strict):
    """A validated world file."""

    schema_version: Literal[1]
    name: Name
    description: Text
    gravity_m_s2: tuple[Acceleration, Acceleration, Acceleration] = (0.0, 0.0, -9.81)
    medium: Medium | None = None
    ground: Ground | None = None
    objects: Annotated[tuple[RigidBody, ...], Field(max_length=1000)] = ()
    loads: Annotated[tuple[Load, ...], Field(max_length=1000)] = ()
    lights: Annotated[tuple[Light, ...], Field(max_length=100)] = ()
    cameras: Annotated[tuple[Camera, ...], Field(max_length=100)] = ()

    @model_validator(mode='after')
    def _check(self) -> Self:
        check_unique('object', (item.name for item in self.objects))
        check_unique('light', (light.name for light in self.lights))
        check_unique('camera', (camera.name for camera in self.cameras))
        return self


def shipped_worlds() -> dict[str, Path]:
    """World files that come with this package, by name."""
    return shipped_files('worlds')


def load_world(name_or_path: str | Path) -> World:
    """Read and validate a world file; meshes of its objects become absolute paths.

    Args:
        name_or_path: Name of a shipped world, such as `floor`, or path of a YAML file.

    Raises:
        WorldFileError: If the file, or a mesh that it names, is missing, or has a missing, unknown
            or impossible value.
    """
    world = load_model(World, 'world', name_or_path, WorldFileError)
    try:
        objects = with_mesh_paths(world.objects, file_path('world', name_or_path).parent)
    except FileNotFoundError as error:
        raise WorldFileError(f'{shown_path(name_or_path)}: {error}') from error
    return world.model_copy(update={'objects': objects}) if objects else world
