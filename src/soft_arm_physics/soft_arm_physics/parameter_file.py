"""Strict YAML parameter files: a missing, unknown or impossible value is refused with one line."""

from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field

from soft_arm_io.fields import Strict
from soft_arm_io.yaml_file import load_yaml
from soft_arm_physics.errors import PhysicsError

Share = Annotated[float, Field(ge=0, lt=1)]
Vector3 = tuple[float, float, float]


Model = TypeVar('Model', bound=Strict)


def load_parameters(model: type[Model], path: str | Path) -> Model:
    """Read a YAML file into `model`.

    Raises:
        PhysicsError: If the file is missing, is not YAML, or a value is missing, unknown or
            impossible.
    """
    return load_yaml(model, 'parameter file', path, PhysicsError)
