"""Strict YAML parameter files: a missing, unknown or impossible value is refused with one line."""

from pathlib import Path
from typing import Annotated, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from soft_arm_sim.errors import SimulationError

CONFIG = Path(__file__).parent / 'config'

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
        SimulationError: If the file is missing, is not YAML, or a value is missing, unknown or impossible.
    """
    try:
        return model.model_validate(yaml.safe_load(Path(path).read_text()))
    except OSError as error:
        raise SimulationError(f'parameter file {str(path)!r}: {error.strerror}; shipped files are in {CONFIG}') from error
    except yaml.YAMLError as error:
        raise SimulationError(f'{path}: not YAML: {" ".join(str(error).split())}') from error
    except ValidationError as error:
        first = error.errors()[0]
        key = '.'.join(str(part) for part in first['loc']) or 'file'
        text = {'missing': 'key is missing: add it', 'extra_forbidden': 'unknown key: remove it or correct its spelling'}.get(
            first['type'], f'{first["msg"].removeprefix("Value error, ")} (given {first["input"]!r})'
        )
        raise SimulationError(f'{path}: {key}: {text}') from error
