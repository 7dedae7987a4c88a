"""Robot files: one YAML file is the single source of a robot's geometry, limits and names.

Everything else is derived from the object that `load_robot` returns: forward kinematics, inverse-kinematics table, URDF, frame
names, the simulator's model and the driver's channels. SI units; pressures are gauge. Unknown or missing keys are refused.
"""

import hashlib
import importlib.resources
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator


class RobotFileError(ValueError):
    """A robot file that cannot be used; the message names file, key, value and remedy in one line."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra='forbid', frozen=True, allow_inf_nan=False)


Positive = Annotated[float, Field(gt=0)]
Name = Annotated[str, Field(pattern=r'^[a-z][a-z0-9_]*$')]
Vector3 = tuple[float, float, float]


class Base(_Strict):
    """Where the arm's base frame stands; its z axis points along the straight arm."""

    frame: Name
    parent_frame: Name
    position_m: Vector3
    rpy_deg: Vector3
    flange_m: tuple[Positive, Positive, Positive]


class Disc(_Strict):
    """Connecting disc at a segment's end; it lies inside the segment's length."""

    radius_m: Positive
    thickness_m: Positive
    mass_kg: Annotated[float, Field(ge=0)]


class PressureLength(_Strict):
    """Measured points of the pressure-to-length curve of one actuator, strictly increasing in both."""

    pressure_pa: tuple[float, ...]
    length_m: tuple[Positive, ...]

    @model_validator(mode='after')
    def _check(self):
        if len(self.pressure_pa) != len(self.length_m) or len(self.pressure_pa) < 3:
            raise ValueError(f'{len(self.pressure_pa)} pressures and {len(self.length_m)} lengths: give as many of each, at least 3')
        for key in ('pressure_pa', 'length_m'):
            if not np.all(np.diff(getattr(self, key)) > 0):
                raise ValueError(f'{key} {list(getattr(self, key))} must be strictly increasing')
        return self


class Bellows(_Strict):
    """The parallel bellows of one segment."""

    names: tuple[Name, ...]
    angles_deg: tuple[float, ...]
    centre_radius_m: Positive
    radius_m: Positive
    effective_area_m2: Positive
    length_limits_m: tuple[Positive, Positive]
    pressure_limits_pa: tuple[float, float]
    curve: PressureLength

    @model_validator(mode='after')
    def _check(self):
        if len(self.names) != len(self.angles_deg) or len(self.names) not in (3, 4):
            raise ValueError(f'{len(self.names)} names and {len(self.angles_deg)} angles_deg: give 3 or 4 of each')
        for key in ('length_limits_m', 'pressure_limits_pa'):
            low, high = getattr(self, key)
            if not low < high:
                raise ValueError(f'{key} [{low}, {high}]: the first must be smaller than the second')
        return self

    @property
    def angles_rad(self) -> np.ndarray:
        """Directions of the bellows about the segment's z axis [rad], shape (n,)."""
        return np.deg2rad(self.angles_deg)


class BellowsSegment(_Strict):
    """A segment driven by parallel bellows: pressure lengthens, vacuum shortens."""

    name: Name
    kind: Literal['bellows']
    closing_twist: bool
    sections: Annotated[int, Field(ge=1, le=200)]
    rigid_length_m: Annotated[float, Field(ge=0)]
    body_mass_kg: Positive
    disc: Disc
    actuators: Bellows


class Ring(_Strict):
    """Positioning ring, a cylinder of known radius about the tip's z axis, centred on the tip frame's origin."""

    radius_m: Positive
    height_m: Positive
    thickness_m: Positive
    mass_kg: Annotated[float, Field(ge=0)]
    colour_rgb: tuple[Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=0, le=1)]]


class IkWeights(_Strict):
    """Weights of the three principles by which inverse-kinematics solutions are ranked (all >= 0)."""

    angle_change: Annotated[float, Field(ge=0)]
    bend_growth: Annotated[float, Field(ge=0)]
    stiffness: Annotated[float, Field(ge=0)]


class Robot(_Strict):
    """A validated robot file."""

    schema_version: Literal[1]
    name: Name
    description: str
    source: str
    base: Base
    segments: Annotated[tuple[BellowsSegment, ...], Field(min_length=1)]
    ring: Ring
    ik_weights: IkWeights
    channels: dict[Name, Annotated[int, Field(ge=0)]]

    @model_validator(mode='after')
    def _check(self):
        for what, names in (('segment', self.segment_names), ('chamber', self.chambers)):
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise ValueError(f'{what} name {twice[0]!r} is used twice: give each its own')
        if sorted(self.channels) != sorted(self.chambers):
            raise ValueError(f'channels {sorted(self.channels)} must name every chamber once: {sorted(self.chambers)}')
        if len(set(self.channels.values())) != len(self.channels):
            raise ValueError(f'channels {self.channels}: two chambers share one device channel')
        return self

    @property
    def segment_names(self) -> tuple[str, ...]:
        """Segments, base to tip."""
        return tuple(s.name for s in self.segments)

    @property
    def chambers(self) -> tuple[str, ...]:
        """Chambers (= actuators) in the order of every array of lengths or pressures."""
        return tuple(name for s in self.segments for name in s.actuators.names)

    @property
    def length_limits_m(self) -> np.ndarray:
        """Shortest and longest length of each actuator [m], shape (2, n)."""
        return np.array([s.actuators.length_limits_m for s in self.segments for _ in s.actuators.names]).T

    @property
    def pressure_limits_pa(self) -> np.ndarray:
        """Lowest and highest pressure of each chamber [Pa] gauge, shape (2, n)."""
        return np.array([s.actuators.pressure_limits_pa for s in self.segments for _ in s.actuators.names]).T

    @property
    def rest_lengths_m(self) -> np.ndarray:
        """Length of each actuator at ambient pressure [m], shape (n,), interpolated on the measured points."""
        return np.array(
            [np.interp(0.0, s.actuators.curve.pressure_pa, s.actuators.curve.length_m) for s in self.segments for _ in s.actuators.names]
        )

    @property
    def fingerprint(self) -> str:
        """Hash of every value in the file; caches and calibrations carry it."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]

    @property
    def kinematic_fingerprint(self) -> str:
        """Hash of the values that poses depend on: names, layout and limits of the segments, not masses, colours or where it hangs."""
        layout = [
            (
                s.name,
                s.kind,
                s.closing_twist,
                s.rigid_length_m,
                s.actuators.names,
                s.actuators.angles_deg,
                s.actuators.centre_radius_m,
                s.actuators.length_limits_m,
                s.actuators.pressure_limits_pa,
            )
            for s in self.segments
        ]
        return hashlib.sha256(repr(layout).encode()).hexdigest()[:16]


def shipped_robots() -> dict[str, Path]:
    """Robot files that come with this package, by name."""
    folder = importlib.resources.files('soft_arm_description').joinpath('robots')
    return {Path(str(f)).stem: Path(str(f)) for f in folder.iterdir() if f.name.endswith('.yaml')}


def load_robot(name_or_path: str | Path) -> Robot:
    """Read and validate a robot file.

    Args:
        name_or_path: Name of a shipped robot (`two_module_arm`) or path of a YAML file.

    Raises:
        RobotFileError: If the file is missing, is not YAML, or has a missing, unknown or impossible value.
    """
    shipped = shipped_robots()
    path = shipped.get(str(name_or_path), Path(name_or_path))
    try:
        content = yaml.safe_load(path.read_text())
    except OSError as error:
        raise RobotFileError(f'robot file {str(name_or_path)!r}: {error.strerror}; give a path or one of {sorted(shipped)}') from error
    except yaml.YAMLError as error:
        raise RobotFileError(f'{path}: not YAML: {" ".join(str(error).split())}') from error
    try:
        return Robot.model_validate(content)
    except ValidationError as error:
        raise RobotFileError(f'{path}: {_one_line(error)}') from error


def _one_line(error: ValidationError) -> str:
    first, *rest = error.errors()
    key = '.'.join(str(part) for part in first['loc']) or 'file'
    text = {'missing': 'key is missing: add it', 'extra_forbidden': 'unknown key: remove it or correct its spelling'}.get(
        first['type'], first['msg'].removeprefix('Value error, ')
    )
    given = '' if first['type'] == 'missing' or isinstance(first['input'], (dict, list)) else f' (given {first["input"]!r})'
    return f'{key}: {text}{given}' + (f' (and {len(rest)} more)' if rest else '')
