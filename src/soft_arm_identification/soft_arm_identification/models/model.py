"""Interface of the models of arms, and their entry points."""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol

import numpy as np

from soft_arm_identification.arm_sections import ArmSections
from soft_arm_identification.errors import RecordingError
from soft_arm_identification.recording import Recording
from soft_arm_io.command_line import one_line

GROUP = 'soft_arm.models'
"""Entry points of models: callables that take an `ArmSections`."""


@dataclass(frozen=True)
class Parameter:
    """A fitted parameter: value and unit."""

    value: float
    unit: str


@dataclass(frozen=True)
class Scaling:
    """Inputs in shares of the largest one of the same unit that a model was fitted to.

    Inputs that hardly moved stay small, so that their noise does.

    Attributes:
        names, units: Of the inputs.
        largest: Shape (k,).
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    largest: np.ndarray

    @classmethod
    def of(cls, arm: ArmSections, recordings: Sequence[Recording]) -> 'Scaling':
        """Scale the inputs of some recordings."""
        names, units, _ = arm.driving(recordings[0])
        values = np.concatenate([arm.driving(recording)[2] for recording in recordings])
        largest = dict.fromkeys(units, 1e-12)
        for unit, value in zip(units, np.abs(values).max(axis=0), strict=True):
            largest[unit] = max(largest[unit], value)
        return cls(names, units, np.array([largest[unit] for unit in units]))

    def place(self, name: str) -> int:
        """Return the place of an input; raise RecordingError if there is none of this name."""
        if name not in self.names:
            raise RecordingError(f'input {name!r} of the arm is none of {", ".join(self.names)}')
        return self.names.index(name)

    def inputs(self, arm: ArmSections, recording: Recording) -> np.ndarray:
        """Return the scaled inputs (n, k); raise RecordingError if they have other names."""
        names, _, values = arm.driving(recording)
        if names != self.names:
            raise RecordingError(
                f'{recording.name}: inputs {", ".join(names)}: the model was fitted to '
                f'{", ".join(self.names)}'
            )
        return values / self.largest


class Model(Protocol):
    """A model of an arm from inputs to the position of its tip."""

    def fit(self, recordings: Sequence[Recording]) -> None:
        """Fit the parameters.

        Raises:
            RecordingError: If the recordings do not suffice.
        """

    def predict(self, recording: Recording, horizon: int | None = None) -> np.ndarray:
        """Predict the tip [m], shape (n, 3).

        Args:
            recording: Inputs at all samples. Of the measured positions only the first pose and
                those at least `horizon` samples earlier are used.
            horizon: Number of samples ahead; None: from the first pose to the end (free run).
        """

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The fitted parameters."""


def make_model(name: str, arm: ArmSections) -> Model:
    """Make an installed model.

    Raises:
        RecordingError: If there is none of this name, or it cannot be loaded.
    """
    found = {point.name: point for point in entry_points(group=GROUP)}
    if name not in found:
        raise RecordingError(f'model {name!r}: the installed ones are {", ".join(sorted(found))}')
    try:
        return found[name].load()(arm)
    except ImportError as error:
        raise RecordingError(
            f'model {name!r} needs {error.name}: install it, or leave the model out '
            f'({one_line(error)})'
        ) from error


def model_source(name: str) -> bytes:
    """Source of the module that defines an installed model; empty if it has none."""
    for point in entry_points(group=GROUP):
        if point.name == name:
            spec = importlib.util.find_spec(point.module)
            if spec is not None and spec.origin is not None and spec.has_location:
                return Path(spec.origin).read_bytes()
    return b''


def installed_models() -> list[str]:
    """Names of the installed models."""
    return sorted(point.name for point in entry_points(group=GROUP))


def importable_models() -> tuple[list[str], dict[str, str]]:
    """Return the installed models that can be imported, and what each other one lacks."""
    names, lacking = [], {}
    for point in sorted(entry_points(group=GROUP)):
        try:
            point.load()
            names.append(point.name)
        except ImportError as error:
            lacking[point.name] = error.name or one_line(error)
    return names, lacking


def with_offset(free_m: np.ndarray, tip_m: np.ndarray, horizon: int | None) -> np.ndarray:
    """Add the last known error of a free run, `horizon` samples earlier, to it.

    This is the prediction of a model without a state, with a constant disturbance.

    Args:
        free_m: Free run, shape (n, 3) [m].
        tip_m: Measured tip, NaN where it is lost, shape (n, 3) [m].
        horizon: Samples ahead; None: leaves the free run as it is.
    """
    if horizon is None:
        return free_m
    errors_m = tip_m - free_m
    known = np.where(np.isfinite(errors_m[:, 0]), np.arange(len(errors_m)), -1)
    latest = np.maximum.accumulate(known)
    found_m = free_m.copy()
    for k in range(horizon, len(found_m)):
        if latest[k - horizon] >= 0:
            found_m[k] += errors_m[latest[k - horizon]]
    return found_m
