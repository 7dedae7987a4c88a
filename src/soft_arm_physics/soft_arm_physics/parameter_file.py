"""Strict YAML parameter files: a missing, unknown or impossible value is refused with one line."""

from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from soft_arm_description.yaml_file import load_yaml
from soft_arm_physics.errors import PhysicsError

Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, lt=1)]
Vector3 = tuple[float, float, float]


class Strict(BaseModel):
    """Base of every parameter group: frozen, finite, no unknown keys."""

    model_config = ConfigDict(extra='forbid', frozen=True, allow_inf_nan=False)


Model = TypeVar('Model', bound=Strict)


def load_parameters(model: type[Model], path: str | Path) -> Model:
    """Read a YAML file into `model`.

    Raises:
        PhysicsError: If the file is missing, is not YAML, or a value is missing, unknown or
            impossible.
    """
    return load_yaml(model, 'parameter file', path, PhysicsError)
