"""Kinds of segments in a robot file: what each is driven by, its limits and its size.

Every kind has `actuation`: its coordinates in the order of every actuation vector, each with name, SI unit and limits. Segments that
name the same chamber share its pressure, which is one coordinate.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator


class Strict(BaseModel):
    """A part of a robot file: unknown keys and infinite numbers are refused."""

    model_config = ConfigDict(extra='forbid', frozen=True, allow_inf_nan=False)


Positive = Annotated[float, Field(gt=0)]
Name = Annotated[str, Field(pattern=r'^[a-z][a-z0-9_]*$')]
Limits = tuple[float, float]


def check_limits(part: Strict, *keys: str) -> None:
    """Raise ValueError where the first of a pair of limits is not smaller than the second."""
    for key in keys:
        low, high = getattr(part, key)
        if not low < high:
            raise ValueError(f'{key} [{low}, {high}]: the first must be smaller than the second')


@dataclass(frozen=True)
class Coordinate:
    """One number of an actuation vector: its name, unit (m, rad or Pa) and limits in that unit."""

    name: str
    unit: str
    low: float
    high: float


class Disc(Strict):
    """Connecting disc at a segment's end; it lies inside the segment's length."""

    radius_m: Positive
    thickness_m: Positive
    mass_kg: Annotated[float, Field(ge=0)]


class PressureLength(Strict):
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


class Bellows(Strict):
    """The parallel bellows of one segment."""

    names: tuple[Name, ...]
    angles_deg: tuple[float, ...]
    centre_radius_m: Positive
    radius_m: Positive
    effective_area_m2: Positive
    length_limits_m: tuple[Positive, Positive]
    pressure_limits_pa: Limits
    curve: PressureLength

    @model_validator(mode='after')
    def _check(self):
        if len(self.names) != len(self.angles_deg) or len(self.names) not in (3, 4):
            raise ValueError(f'{len(self.names)} names and {len(self.angles_deg)} angles_deg: give 3 or 4 of each')
        check_limits(self, 'length_limits_m', 'pressure_limits_pa')
        return self

    @property
    def angles_rad(self) -> np.ndarray:
        """Directions of the bellows about the segment's z axis [rad], shape (n,)."""
        return np.deg2rad(self.angles_deg)


class _Segment(Strict):
    """What every kind has."""

    name: Name
    kind: str
    closing_twist: bool  # True: Rz(-phi) closes the bend's rotation (arm paper); False: it stays open (gripper paper)
    sections: Annotated[int, Field(ge=1, le=200)]
    rigid_length_m: Annotated[float, Field(ge=0)]
    body_mass_kg: Positive


class BellowsSegment(_Segment):
    """A segment driven by parallel bellows: pressure lengthens, vacuum shortens."""

    kind: Literal['bellows']
    disc: Disc
    actuators: Bellows

    @property
    def actuation(self) -> tuple[Coordinate, ...]:
        """Length of each bellows [m]."""
        return tuple(Coordinate(name, 'm', *self.actuators.length_limits_m) for name in self.actuators.names)

    @property
    def chambers(self) -> tuple[str, ...]:
        """Pressurised chambers, one for each bellows."""
        return self.actuators.names

    @property
    def arc_length_limits_m(self) -> Limits:
        """Shortest and longest centre line [m]."""
        return self.actuators.length_limits_m

    @property
    def body_radius_m(self) -> float:
        """Outer radius of the body [m]."""
        return self.actuators.centre_radius_m + self.actuators.radius_m

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


class _FixedLengthSegment(_Segment):
    """A piece of fixed length and bending plane, driven by one pressure."""

    chamber: Name
    nominal: bool  # True: the coefficients are plausible, not measured
    length_m: Positive
    body_radius_m: Positive
    phi_deg: float
    pressure_unit_pa: Positive  # the coefficients are of powers of pressure / pressure_unit_pa, gauge
    pressure_limits_pa: Limits
    disc: Disc | None = None

    @property
    def actuation(self) -> tuple[Coordinate, ...]:
        """The chamber's pressure [Pa]."""
        return (Coordinate(self.chamber, 'Pa', *self.pressure_limits_pa),)

    @property
    def chambers(self) -> tuple[str, ...]:
        """The one chamber."""
        return (self.chamber,)

    @property
    def arc_length_limits_m(self) -> Limits:
        """Its length twice [m]."""
        return self.length_m, self.length_m

    @property
    def phi_rad(self) -> float:
        """Direction of the bending plane [rad]."""
        return math.radians(self.phi_deg)

    @property
    def layout(self) -> tuple:
        """Everything that poses depend on."""
        return tuple(sorted(self.model_dump(mode='json', exclude={'body_mass_kg', 'body_radius_m', 'disc', 'sections', 'nominal'}).items()))


class SingleBendSegment(_FixedLengthSegment):
    """A piece of constant curvature whose bend is a cubic of one pressure (gripper paper).

    theta = sum_i theta_coefficients_rad[i] (p / pressure_unit_pa)^i.
    """

    kind: Literal['single_bend']
    theta_coefficients_rad: tuple[float, float, float, float]

    @model_validator(mode='after')
    def _check(self):
        check_limits(self, 'pressure_limits_pa')
        return self


class ModalSegment(_FixedLengthSegment):
    """A planar bending bellows (modal paper).

    theta(s) = sum_ij coefficients_rad[i][j] (s / length_unit_m)^i (p / pressure_unit_pa)^j, the tangent's angle at arc length s.
    """

    kind: Literal['modal']
    length_unit_m: Positive
    coefficients_rad: Annotated[tuple[tuple[float, ...], ...], Field(min_length=1)]

    @model_validator(mode='after')
    def _check(self):
        check_limits(self, 'pressure_limits_pa')
        orders = {len(row) for row in self.coefficients_rad}
        if len(orders) != 1 or 0 in orders:
            raise ValueError(f'coefficients_rad has rows of {sorted(orders)} numbers: give every row (power of s) as many, at least 1')
        return self


class TendonSegment(_Segment):
    """An arc given by bend theta, direction phi and length ell themselves, as tendons set them (squid paper)."""

    kind: Literal['tendon']
    body_radius_m: Positive
    theta_limits_deg: Limits
    phi_limits_deg: Limits
    length_limits_m: tuple[Positive, Positive]
    disc: Disc | None = None

    @model_validator(mode='after')
    def _check(self):
        check_limits(self, 'theta_limits_deg', 'phi_limits_deg', 'length_limits_m')
        return self

    @property
    def actuation(self) -> tuple[Coordinate, ...]:
        """Theta [rad], which may be negative, phi [rad] and ell [m]."""
        return (
            Coordinate(f'{self.name}_theta', 'rad', *map(math.radians, self.theta_limits_deg)),
            Coordinate(f'{self.name}_phi', 'rad', *map(math.radians, self.phi_limits_deg)),
            Coordinate(f'{self.name}_ell', 'm', *self.length_limits_m),
        )

    @property
    def chambers(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def arc_length_limits_m(self) -> Limits:
        """Shortest and longest centre line [m]."""
        return self.length_limits_m

    @property
    def layout(self) -> tuple:
        """Everything that poses depend on."""
        return (
            self.name,
            self.kind,
            self.closing_twist,
            self.rigid_length_m,
            self.theta_limits_deg,
            self.phi_limits_deg,
            self.length_limits_m,
        )


Segment = Annotated[BellowsSegment | SingleBendSegment | ModalSegment | TendonSegment, Field(discriminator='kind')]
