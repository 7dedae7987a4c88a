"""Segments of parallel bellows."""

import math
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, model_validator

from soft_arm_description.segments.physics import ArcSegment, Disc
from soft_arm_description.segments.values import (
    Area,
    Coordinate,
    Length,
    LengthLimits,
    Mass,
    Name,
    Pressure,
    PressureLimits,
    Radius,
    Turn,
    check_bend,
    check_limits,
)
from soft_arm_io.fields import Strict

MIN_SPACING_DEG = 5.0  # between directions of neighbouring bellows


class PressureLength(Strict):
    """Measured points of an actuator's pressure-to-length curve, strictly increasing in both."""

    pressure_pa: Annotated[tuple[Pressure, ...], Field(min_length=3, max_length=1000)]
    length_m: Annotated[tuple[Length, ...], Field(min_length=3, max_length=1000)]

    @model_validator(mode='after')
    def _check(self) -> Self:
        if len(self.pressure_pa) != len(self.length_m):
            raise ValueError(
                f'{len(self.pressure_pa)} pressures and {len(self.length_m)} lengths: give as '
                'many of each, at least 3'
            )
        for key in ('pressure_pa', 'length_m'):
            if not np.all(np.diff(getattr(self, key)) > 0):
                raise ValueError(f'{key} {list(getattr(self, key))} must be strictly increasing')
        return self


class Bellows(Strict):
    """The parallel bellows of one segment."""

    names: Annotated[tuple[Name, ...], Field(min_length=3, max_length=4)]
    angles_deg: Annotated[tuple[Turn, ...], Field(min_length=3, max_length=4)]
    centre_radius_m: Radius
    radius_m: Radius
    effective_area_m2: Area
    length_limits_m: LengthLimits
    pressure_limits_pa: PressureLimits
    curve: PressureLength

    @model_validator(mode='after')
    def _check(self) -> Self:
        if len(self.names) != len(self.angles_deg):
            raise ValueError(
                f'{len(self.names)} names and {len(self.angles_deg)} angles_deg: give as many of '
                'each'
            )
        check_limits(self, 'length_limits_m', 'pressure_limits_pa')
        directions = np.sort(np.mod(self.angles_deg, 360.0))
        apart_deg = float(np.diff(directions, append=directions[0] + 360.0).min())
        if apart_deg < MIN_SPACING_DEG:
            raise ValueError(
                f'angles_deg {list(self.angles_deg)}: two bellows are {apart_deg:g} deg apart; '
                f'place each {MIN_SPACING_DEG:g} or more'
            )
        gap_m = (
            2.0 * self.centre_radius_m * math.sin(math.radians(min(apart_deg, 180.0)) / 2.0)
            - 2.0 * self.radius_m
        )
        if gap_m < -0.01 * self.radius_m:
            raise ValueError(
                f'radius_m {self.radius_m:g} m on a circle of centre_radius_m '
                f'{self.centre_radius_m:g} m: neighbours overlap by '
                f'{-gap_m:.4g} m; make radius_m smaller or the circle larger'
            )
        check_bend((self.length_limits_m[1] - self.length_limits_m[0]) / self.centre_radius_m)
        return self

    @property
    def angles_rad(self) -> np.ndarray:
        """Directions of the bellows about the segment's z axis [rad], shape (n,)."""
        return np.deg2rad(self.angles_deg)


class BellowsSegment(ArcSegment):
    """A segment driven by parallel bellows: pressure lengthens, vacuum shortens."""

    kind: Literal['bellows']
    body_mass_kg: Mass
    disc: Disc
    actuators: Bellows

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Length of each bellows [m]."""
        return tuple(
            Coordinate(name, 'm', *self.actuators.length_limits_m) for name in self.actuators.names
        )

    @property
    def chambers(self) -> tuple[str, ...]:
        """Pressurised chambers, one for each bellows."""
        return self.actuators.names

    @property
    def chamber_limits_pa(self) -> tuple[tuple[float, float], ...]:
        """Lowest and highest pressure of each chamber [Pa] gauge."""
        return (self.actuators.pressure_limits_pa,) * len(self.actuators.names)

    @property
    def rest_q(self) -> tuple[float, ...]:
        """Coordinates at ambient pressure [m]."""
        return (self.natural_length_m,) * len(self.actuators.names)

    @property
    def arc_length_limits_m(self) -> tuple[float, float]:
        """Shortest and longest centre line [m]."""
        return self.actuators.length_limits_m

    @property
    def body_radius_m(self) -> float:
        """Outer radius of the body [m]."""
        return self.actuators.centre_radius_m + self.actuators.radius_m

    @property
    def natural_length_m(self) -> float:
        """Length at ambient pressure [m], interpolated on the curve's points."""
        curve = self.actuators.curve
        return float(np.interp(0.0, curve.pressure_pa, curve.length_m))

    @property
    def mass_kg(self) -> float:
        """Mass of the body without the disc [kg]."""
        return self.body_mass_kg

    def radius_m(self, share: ArrayLike) -> np.ndarray:
        """Outer radius [m] at shares of the length, shape (...): everywhere the same."""
        return np.full(np.shape(share), self.body_radius_m)

    @property
    def layout(self) -> tuple:
        """Everything that poses depend on."""
        return (
            self.name,
            self.kind,
            self.closing_twist,
            self.rigid_length_m,
            self.actuators.names,
            self.actuators.angles_deg,
            self.actuators.centre_radius_m,
            self.actuators.length_limits_m,
            self.actuators.pressure_limits_pa,
        )
