"""Strict YAML parameter files: a missing, unknown or impossible value is refused with one line."""

from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from soft_arm_description.yaml_file import YamlFileError, read_yaml, validation_message
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
    try:
        return model.model_validate(read_yaml(path))
    except OSError as error:
        raise PhysicsError(f'parameter file {str(path)!r}: {error.strerror}') from error
    except YamlFileError as error:
        raise PhysicsError(f'{path}: {error}') from error
    except ValidationError as error:
        raise PhysicsError(f'{path}: {validation_message(error)}') from error
