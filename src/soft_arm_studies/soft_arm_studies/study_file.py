"""Study files: experiment, robot, world, and the values of the varied keys."""

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, model_validator

from soft_arm_description.segments.values import Name
from soft_arm_io.command_line import MAX_SEED
from soft_arm_io.fields import Strict, number
from soft_arm_io.yaml_file import load_yaml
from soft_arm_studies.errors import StudyError
from soft_arm_studies.samples import Vary

SIMULATE, CLOSED_LOOP = 'simulate', 'closed_loop'
BUILT_IN = SIMULATE, CLOSED_LOOP

Text = Annotated[str, Field(max_length=5000)]
FileName = Annotated[str, Field(min_length=1, max_length=1000)]
Experiment = Annotated[str, Field(pattern=r'^(simulate|closed_loop|[A-Za-z_][\w.]*:[A-Za-z_]\w*)$')]
Setting = float | int | str | bool | list[Any] | dict[str, Any]


class Simulation(Strict):
    """Settings of the experiment `simulate`.

    With `until_rest`, it ends as soon as everything is at rest, springs damped critically, and
    fails if that takes longer than `duration_s`.
    """

    duration_s: Annotated[float, number(1e-4, 1e4, 's')]
    time_step_s: Annotated[float, number(1e-5, 0.01, 's')] = 0.002
    until_rest: StrictBool = False


class Study(Strict):
    """A validated study file."""

    schema_version: Literal[1]
    name: Name
    description: Text = ''
    experiment: Experiment
    robot: FileName | None = None
    assembly: FileName | None = None
    world: FileName | None = None
    pneumatics: FileName | None = None
    simulation: Simulation | None = None
    actuation: dict[str, Setting] = {}
    controller: dict[str, Setting] = {}
    parameters: dict[str, Setting] = {}
    results: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    seed: Annotated[int, number(0, MAX_SEED, '', int)] = 0
    vary: Vary

    @model_validator(mode='after')
    def _check(self) -> Self:
        if self.robot and self.assembly:
            raise ValueError('robot and assembly are both given: remove one')
        if self.experiment == CLOSED_LOOP:
            self._check_closed_loop()
        if self.experiment != SIMULATE:
            return self
        if not (self.robot or self.assembly):
            raise ValueError('experiment simulate needs a robot or an assembly: add one')
        for key in ('simulation', 'results'):
            if getattr(self, key) is None:
                raise ValueError(f'experiment simulate needs {key}: add it')
        if self.controller:
            raise ValueError(
                'experiment simulate takes no controller: remove it, or use experiment closed_loop'
            )
        return self

    def _check_closed_loop(self) -> None:
        if not self.robot:
            raise ValueError('experiment closed_loop needs a robot: add one')
        for key in ('assembly', 'simulation', 'actuation', 'results'):
            if getattr(self, key):
                raise ValueError(f'experiment closed_loop takes no {key}: remove it')


def load_study(path: Path) -> Study:
    """Read and validate a study file.

    Raises:
        StudyError: If it is missing, not YAML, or has a missing, unknown or impossible value.
    """
    return load_yaml(Study, 'study file', path, StudyError, left_out=('values', 'range'))


def fingerprint(content: dict[str, Any]) -> str:
    """Return a hash of everything that a study runs."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
