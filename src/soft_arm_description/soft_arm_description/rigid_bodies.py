"""Rigid bodies in assembly and world files."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, model_validator

from soft_arm_description.segments.values import (
    Colour,
    DragCoefficient,
    FrictionCoefficient,
    Name,
    Position,
    Rotation,
)
from soft_arm_description.shapes import Shape, Size, check_size
from soft_arm_io.fields import Strict, number
from soft_arm_io.yaml_file import shown

MESH_SUFFIXES = ('.stl', '.obj', '.msh')
AT_ORIGIN = (0.0, 0.0, 0.0)


class RigidBody(Strict):
    """A body of a simple shape, or of a mesh in metres; fixed, or free to move."""

    name: Name
    shape: Shape | Literal['mesh']
    size_m: Size | None = None
    mesh: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    mass_kg: Annotated[float, number(1e-6, 1e5, 'kg')] | None = None
    # displaced in a medium; default: the volume of the shape
    volume_m3: Annotated[float, number(0.0, 1e3, 'm^3')] | None = None
    # in a medium, over the area that the body shows to the flow; None: by its shape
    drag_coefficient: DragCoefficient | None = None
    friction: FrictionCoefficient | None = None
    colour_rgb: Colour | None = None
    fixed: StrictBool = False
    position_m: Position = AT_ORIGIN
    rpy_deg: Rotation = AT_ORIGIN

    @model_validator(mode='after')
    def _check(self) -> Self:
        wanted, other = ('mesh', 'size_m') if self.shape == 'mesh' else ('size_m', 'mesh')
        if getattr(self, wanted) is None:
            raise ValueError(f'{wanted} is missing: a {self.shape} needs it')
        if getattr(self, other) is not None:
            raise ValueError(f'{other} is not used by a {self.shape}: remove it')
        if self.size_m is not None:
            check_size(self.shape, self.size_m)
        if self.mesh is not None and Path(self.mesh).suffix.lower() not in MESH_SUFFIXES:
            raise ValueError(f'mesh must be a file that ends in {", ".join(MESH_SUFFIXES)}')
        if self.mass_kg is None and not self.fixed:
            raise ValueError('mass_kg is missing: add it, or `fixed: true`')
        return self


def with_mesh_paths(bodies: Iterable[RigidBody], folder: Path) -> tuple[RigidBody, ...]:
    """Return bodies whose meshes are absolute paths; in the file they are relative to its folder.

    Raises:
        FileNotFoundError: If a mesh is missing; the message is a part of a line.
    """
    found = []
    for body in bodies:
        if body.mesh is not None:
            path = folder / body.mesh
            if not os.path.isfile(path):
                raise FileNotFoundError(
                    f'mesh {shown(body.mesh)} of {body.name} is not a file: correct its path, '
                    'which begins at the folder of this file'
                )
            body = body.model_copy(update={'mesh': str(path.resolve())})
        found.append(body)
    return tuple(found)
