"""Robot files: one YAML file is the single source of a robot's geometry, limits and names.

Everything else is derived from the object that `load_robot` returns: forward kinematics,
inverse-kinematics table, URDF, frame names, the simulator's model and the driver's channels. SI
units; pressures are gauge. Unknown or missing keys are refused.
"""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from soft_arm_description.fiducial import Fiducial
from soft_arm_description.segments import KINDS, Segment
from soft_arm_description.segments import BellowsSegment as BellowsSegment
from soft_arm_description.segments.values import (
    Colour,
    Coordinate,
    Length,
    Mass,
    MassOrZero,
    Name,
    Position,
    Radius,
    Rotation,
    Text,
    check_unique,
)
from soft_arm_description.shapes import Shape, Size, check_size
from soft_arm_description.shipped import load_model, shipped_files
from soft_arm_io.errors import InputError
from soft_arm_io.fields import Strict, number


class RobotFileError(InputError):
    """A robot file that cannot be used; one line with file, key, value and remedy."""


Weight = Annotated[float, number(0.0, 1e3, '')]
Channel = Annotated[int, number(0, 1000, '', int)]


class Base(Strict):
    """Pose of the arm's base frame; its z axis points along the straight arm."""

    frame: Name
    parent_frame: Name
    position_m: Position
    rpy_deg: Rotation
    flange_m: tuple[Length, Length, Length]
    mass_kg: Mass | None = None  # of the flange

    @model_validator(mode='after')
    def _check(self) -> Self:
        if self.frame == self.parent_frame:
            raise ValueError(
                f'frame and parent_frame are both {self.frame!r}: give each its own name'
            )
        return self

    @property
    def frame_prefix(self) -> str:
        """Prefix of frames, links and joints: `left_arm_` of base frame `left_arm_base_link`."""
        stem = self.frame.removesuffix('base_link')
        return stem if stem != self.frame else f'{self.frame}_'


class Ring(Strict):
    """Positioning ring: a cylinder about the tip's z axis, centred on the tip frame's origin."""

    radius_m: Radius
    height_m: Radius
    thickness_m: Annotated[float, number(1e-5, 0.1, 'm')]
    mass_kg: MassOrZero
    colour_rgb: Colour

    @model_validator(mode='after')
    def _check(self) -> Self:
        if not self.thickness_m < self.radius_m:
            raise ValueError(
                f'thickness_m {self.thickness_m:g} m must be less than radius_m {self.radius_m:g} m'
            )
        return self


class CutLines(Strict):
    """Bands painted about a finger, from which a camera measures its bends.

    One band is at each segment's end, and a reference on the base.

    The bands at the segments' ends are in the middle of the ends' cross-sections. The reference
    lies `reference_offset_m` below the base frame's origin, across its z axis.
    """

    width_m: Radius
    colour_rgb: Colour
    reference_colour_rgb: Colour
    reference_offset_m: Radius


class Tip(Strict):
    """A rigid body at the end of the robot, centred on the tip frame's origin or at an offset."""

    mass_kg: MassOrZero
    shape: Shape
    size_m: Size
    position_m: Position = (0.0, 0.0, 0.0)  # of its centre in the tip frame

    @model_validator(mode='after')
    def _check(self) -> Self:
        check_size(self.shape, self.size_m)
        return self


class IkWeights(Strict):
    """Weights (>= 0) of the three principles that rank inverse-kinematics solutions."""

    angle_change: Weight
    bend_growth: Weight
    stiffness: Weight


class Robot(Strict):
    """A validated robot file."""

    schema_version: Literal[1]
    name: Name
    description: Text
    source: Text
    base: Base
    segments: Annotated[tuple[Segment, ...], Field(min_length=1, max_length=20)]
    ring: Ring | None = None
    fiducial: Fiducial | None = None
    tip: Tip | None = None
    cut_lines: CutLines | None = None
    tip_frames: tuple[Name, ...] = ()  # fixed frames on the tip, such as a camera's
    ik_weights: IkWeights = IkWeights(angle_change=1.0, bend_growth=0.5, stiffness=0.5)
    channels: dict[Name, Channel] = {}  # empty where no driver has been assigned

    @model_validator(mode='after')
    def _check(self) -> Self:
        own_chambers = [name for s in self._bellows for name in s.chambers]
        shared = sorted(
            {name for s in self.segments if s not in self._bellows for name in s.chambers}
        )
        frames = [
            self.base.frame,
            self.base.parent_frame,
            *([f'{self.base.frame_prefix}ring'] if self.ring else []),
            *self.tip_frames,
        ]
        for what, names in (
            ('segment', list(self.segment_names)),
            ('chamber', own_chambers + shared),
            (
                'coordinate',
                [c.name for s in self.segments if not s.chambers for c in s.coordinates] + shared,
            ),
            ('frame', frames),
        ):
            check_unique(what, names)
        if not self.coordinates:
            raise ValueError('nothing is actuated: set `actuated: true` for at least one hinge')
        limits: dict[str, Coordinate] = {}
        for coordinate in (c for s in self.segments for c in s.coordinates):
            if limits.setdefault(coordinate.name, coordinate) != coordinate:
                raise ValueError(
                    f'{coordinate.name!r} has two sets of limits, {limits[coordinate.name]} and '
                    f'{coordinate}: make them equal'
                )
        if self.channels and sorted(self.channels) != sorted(self.chambers):
            raise ValueError(
                f'channels {sorted(self.channels)} must name every chamber once: '
                f'{sorted(self.chambers)}'
            )
        if len(set(self.channels.values())) != len(self.channels):
            raise ValueError(f'channels {self.channels}: two chambers share one device channel')
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy, with other values of the fields in `update`, and nothing cached."""
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied

    @cached_property
    def segment_names(self) -> tuple[str, ...]:
        """Segments, base to tip."""
        return tuple(s.name for s in self.segments)

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Coordinates that set the shape, in the order of every configuration vector q.

        Lengths [m], pressures [Pa], theta, phi [rad] and ell [m], or torques [N m].
        """
        return tuple({c.name: c for s in self.segments for c in s.coordinates}.values())

    @cached_property
    def chambers(self) -> tuple[str, ...]:
        """Pressurised chambers, in the order of every array of pressures.

        It is the order of lengths too if all segments have bellows.
        """
        return tuple(dict.fromkeys(name for s in self.segments for name in s.chambers))

    @property
    def length_limits_m(self) -> np.ndarray:
        """Shortest and longest length of each bellows [m], shape (2, n)."""
        limits = [s.actuators.length_limits_m for s in self._bellows for _ in s.actuators.names]
        return np.array(limits).reshape(-1, 2).T

    @property
    def pressure_limits_pa(self) -> np.ndarray:
        """Lowest and highest pressure of each chamber [Pa] gauge, shape (2, n)."""
        return np.array(self._pressure_limits).reshape(-1, 2).T

    @cached_property
    def _pressure_limits(self) -> tuple[tuple[float, float], ...]:
        """Lowest and highest pressure of each chamber [Pa]; a tuple, so that robots compare."""
        limits: dict[str, tuple[float, float]] = {}
        for s in self.segments:
            limits.update(zip(s.chambers, s.chamber_limits_pa, strict=True))
        return tuple(limits.values())

    def channels_of(self, device: str, count: int) -> np.ndarray:
        """Channel of each chamber on a device, shape (chambers,).

        Args:
            device: Name of the device for the error message, such as its register map.
            count: How many channels it has.

        Raises:
            RobotFileError: If the robot has no chambers or more than that, or its `channels` do not
                name one of the device for each.
        """
        chambers, has = self.chambers, f'{device} has {count} channel' + ('s' if count > 1 else '')
        if not chambers:
            raise RobotFileError(
                f'robot {self.name!r} has no chambers: nothing of it can be driven by pressure'
            )
        if len(chambers) > count:
            raise RobotFileError(
                f'robot {self.name!r} has {len(chambers)} chambers, {has}: it needs a device with '
                'more channels'
            )
        if not self.channels:
            raise RobotFileError(
                f'robot {self.name!r} does not say which channel each chamber hangs on, {has}: '
                'add `channels` to the robot file'
            )
        channels = np.array([self.channels[name] for name in chambers])
        if channels.max() >= count:
            raise RobotFileError(
                f'robot {self.name!r} uses channel {channels.max()}, {has}, 0 to {count - 1}: '
                'correct `channels` in the robot file'
            )
        return channels

    @property
    def least_channels(self) -> int:
        """Number of channels that a device must have to drive every chamber."""
        return max(len(self.chambers), 1 + max(self.channels.values(), default=-1))

    @property
    def _bellows(self) -> list[BellowsSegment]:
        return [s for s in self.segments if isinstance(s, BellowsSegment)]

    @cached_property
    def fingerprint(self) -> str:
        """Hash of every value in the file; caches and calibrations carry it."""
        return hashlib.sha256(self.model_dump_json(exclude_unset=True).encode()).hexdigest()[:16]

    @cached_property
    def kinematic_fingerprint(self) -> str:
        """Hash of the values that poses depend on: kinds, layout and limits of the segments.

        Masses, colours and the place of the base have no part in it.
        """
        return hashlib.sha256(repr([s.layout for s in self.segments]).encode()).hexdigest()[:16]

    @cached_property
    def plant_fingerprint(self) -> str:
        """Hash of the values that the motion of the simulated robot depends on.

        Names and texts, colours, marks for cameras, the base's place and the driver's channels have
        no part in it.
        """
        content = self.model_dump_json(
            exclude={
                'name': True,
                'description': True,
                'source': True,
                'base': {'frame', 'parent_frame', 'position_m'},
                'ring': {'colour_rgb'},
                'fiducial': True,
                'cut_lines': True,
                'tip_frames': True,
                'ik_weights': True,
                'channels': True,
            }
        )
        return hashlib.sha256(content.encode()).hexdigest()[:16]


def shipped_robots() -> dict[str, Path]:
    """Robot files that come with this package, by name."""
    return shipped_files('robots')


def load_robot(name_or_path: str | Path) -> Robot:
    """Read and validate a robot file.

    Args:
        name_or_path: Name of a shipped robot, such as `two_module_arm`, or path of a YAML file.

    Raises:
        RobotFileError: If the file is missing, is not YAML, or has a missing, unknown or impossible
            value.
    """
    return load_model(Robot, 'robot', name_or_path, RobotFileError, KINDS)
