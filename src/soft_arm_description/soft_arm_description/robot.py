"""Robot files: one YAML file is the single source of a robot's geometry, limits and names.

Everything else is derived from the object that `load_robot` returns: forward kinematics, inverse-kinematics table, URDF, frame
names, the simulator's model and the driver's channels. SI units; pressures are gauge. Unknown or missing keys are refused.
"""

import hashlib
import importlib.resources
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationError, model_validator

from soft_arm_description.segments import BellowsSegment as BellowsSegment
from soft_arm_description.segments import Coordinate, Name, Positive, Segment, Strict
from soft_arm_description.yaml_file import YamlFileError, read_yaml, validation_message


class RobotFileError(ValueError):
    """A robot file that cannot be used; the message names file, key, value and remedy in one line."""


Vector3 = tuple[float, float, float]


Colour = tuple[Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=0, le=1)]]


class Base(Strict):
    """Where the arm's base frame stands; its z axis points along the straight arm."""

    frame: Name
    parent_frame: Name
    position_m: Vector3
    rpy_deg: Vector3
    flange_m: tuple[Positive, Positive, Positive]


class Ring(Strict):
    """Positioning ring, a cylinder of known radius about the tip's z axis, centred on the tip frame's origin."""

    radius_m: Positive
    height_m: Positive
    thickness_m: Positive
    mass_kg: Annotated[float, Field(ge=0)]
    colour_rgb: Colour


class CutLines(Strict):
    """Painted bands about a finger by which a camera sees its bends: one at each segment's end, and a reference on the base.

    The bands at the segments' ends are in the middle of the ends' cross-sections. The reference lies `reference_offset_m` below the base
    frame's origin, across its z axis.
    """

    width_m: Positive
    colour_rgb: Colour
    reference_colour_rgb: Colour
    reference_offset_m: Positive


class IkWeights(Strict):
    """Weights of the three principles by which inverse-kinematics solutions are ranked (all >= 0)."""

    angle_change: Annotated[float, Field(ge=0)]
    bend_growth: Annotated[float, Field(ge=0)]
    stiffness: Annotated[float, Field(ge=0)]


class Robot(Strict):
    """A validated robot file."""

    schema_version: Literal[1]
    name: Name
    description: str
    source: str
    base: Base
    segments: Annotated[tuple[Segment, ...], Field(min_length=1)]
    ring: Ring | None = None
    cut_lines: CutLines | None = None
    tip_frames: tuple[Name, ...] = ()  # fixed frames on the tip, such as a camera's
    ik_weights: IkWeights = IkWeights(angle_change=1.0, bend_growth=0.5, stiffness=0.5)
    channels: dict[Name, Annotated[int, Field(ge=0)]] = {}  # empty where no driver has been assigned

    @model_validator(mode='after')
    def _check(self):
        own_chambers = [name for s in self.segments if s.kind == 'bellows' for name in s.chambers]
        shared = sorted({name for s in self.segments if s.kind in ('single_bend', 'modal') for name in s.chambers})
        for what, names in (('segment', list(self.segment_names)), ('chamber', own_chambers + shared)):
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise ValueError(f'{what} name {twice[0]!r} is used twice: give each its own')
        limits = {}
        for coordinate in (c for s in self.segments for c in s.actuation):
            if limits.setdefault(coordinate.name, coordinate) != coordinate:
                raise ValueError(f'{coordinate.name!r} has two sets of limits, {limits[coordinate.name]} and {coordinate}: make them equal')
        if self.channels and sorted(self.channels) != sorted(self.chambers):
            raise ValueError(f'channels {sorted(self.channels)} must name every chamber once: {sorted(self.chambers)}')
        if len(set(self.channels.values())) != len(self.channels):
            raise ValueError(f'channels {self.channels}: two chambers share one device channel')
        return self

    @property
    def segment_names(self) -> tuple[str, ...]:
        """Segments, base to tip."""
        return tuple(s.name for s in self.segments)

    @property
    def actuation(self) -> tuple[Coordinate, ...]:
        """Coordinates that set the shape, in the order of every actuation vector: lengths [m], pressures [Pa] or theta, phi, ell."""
        return tuple({c.name: c for s in self.segments for c in s.actuation}.values())

    @property
    def chambers(self) -> tuple[str, ...]:
        """Pressurised chambers in the order of every array of pressures; the order of lengths too where all segments have bellows."""
        return tuple(dict.fromkeys(name for s in self.segments for name in s.chambers))

    @property
    def length_limits_m(self) -> np.ndarray:
        """Shortest and longest length of each bellows [m], shape (2, n)."""
        return np.array([s.actuators.length_limits_m for s in self._bellows for _ in s.actuators.names]).reshape(-1, 2).T

    @property
    def pressure_limits_pa(self) -> np.ndarray:
        """Lowest and highest pressure of each chamber [Pa] gauge, shape (2, n)."""
        limits = {
            name: s.actuators.pressure_limits_pa if s.kind == 'bellows' else s.pressure_limits_pa
            for s in self.segments
            for name in s.chambers
        }
        return np.array(list(limits.values())).reshape(-1, 2).T

    @property
    def rest_lengths_m(self) -> np.ndarray:
        """Length of each bellows at ambient pressure [m], shape (n,), interpolated on the measured points."""
        return np.array(
            [np.interp(0.0, s.actuators.curve.pressure_pa, s.actuators.curve.length_m) for s in self._bellows for _ in s.actuators.names]
        )

    @property
    def _bellows(self):
        return [s for s in self.segments if s.kind == 'bellows']

    @property
    def fingerprint(self) -> str:
        """Hash of every value in the file; caches and calibrations carry it."""
        return hashlib.sha256(self.model_dump_json(exclude_unset=True).encode()).hexdigest()[:16]

    @property
    def kinematic_fingerprint(self) -> str:
        """Hash of the values that poses depend on: kinds, layout and limits of the segments, not masses, colours or where it hangs."""
        return hashlib.sha256(repr([s.layout for s in self.segments]).encode()).hexdigest()[:16]


def shipped_robots() -> dict[str, Path]:
    """Robot files that come with this package, by name."""
    folder = importlib.resources.files('soft_arm_description').joinpath('robots')
    return {Path(str(f)).stem: Path(str(f)) for f in folder.iterdir() if f.name.endswith('.yaml')}


def load_robot(name_or_path: str | Path) -> Robot:
    """Read and validate a robot file.

    Args:
        name_or_path: Name of a shipped robot, such as `two_module_arm`, or path of a YAML file.

    Raises:
        RobotFileError: If the file is missing, is not YAML, or has a missing, unknown or impossible value.
    """
    shipped = shipped_robots()
    path = shipped.get(str(name_or_path), Path(name_or_path))
    try:
        content = read_yaml(path)
    except OSError as error:
        raise RobotFileError(f'robot file {str(name_or_path)!r}: {error.strerror}; give a path or one of {sorted(shipped)}') from error
    except YamlFileError as error:
        raise RobotFileError(f'{path}: {error}') from error
    try:
        return Robot.model_validate(content)
    except ValidationError as error:
        raise RobotFileError(f'{path}: {validation_message(error, _KINDS)}') from error


_KINDS = 'bellows', 'single_bend', 'modal', 'tendon'  # the union's tag stands in the path of an error
