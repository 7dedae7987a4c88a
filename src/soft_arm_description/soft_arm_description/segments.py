"""Kinds of segments in a robot file: what each is driven by, its limits and its size.

Every kind has `actuation`: its coordinates in the order of every actuation vector, each with name,
SI unit and limits. Segments that name the same chamber share its pressure, which is one coordinate.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, model_validator

ABSOLUTE_VACUUM_PA = -101_325.0  # gauge
MOST_BEND_RAD = 20 * math.pi
LEAST_SPACING_DEG = 5.0  # between directions of neighbouring bellows


class Strict(BaseModel):
    """A part of a robot file: unknown keys are refused."""

    model_config = ConfigDict(extra='forbid', frozen=True)


def number(low: float, high: float, unit: str, kind: type = float) -> BeforeValidator:
    """Make the validator of a number in [low, high] of a unit; it refuses text, true and false."""
    limits = f'{low:g}..{high:g} {unit}'.strip()

    def check(value: object) -> int | float:
        if isinstance(value, bool) or not isinstance(value, (kind, int)):
            raise ValueError(f'must be a {"whole " if kind is int else ""}number of {limits}')
        if not low <= value <= high:  # type: ignore[operator]  # a number by now
            raise ValueError(f'must be in {limits}')
        return kind(value)

    return BeforeValidator(check)


Length = Annotated[float, number(1e-4, 10.0, 'm')]
LengthOrZero = Annotated[float, number(0.0, 10.0, 'm')]
Radius = Annotated[float, number(1e-4, 1.0, 'm')]
Area = Annotated[float, number(1e-8, 1.0, 'm^2')]
Mass = Annotated[float, number(1e-6, 100.0, 'kg')]
MassOrZero = Annotated[float, number(0.0, 100.0, 'kg')]
Pressure = Annotated[float, number(ABSOLUTE_VACUUM_PA, 1e7, 'Pa (gauge)')]
PressureUnit = Annotated[float, number(1.0, 1e7, 'Pa')]
Turn = Annotated[float, number(-360.0, 360.0, 'deg')]
Bend = Annotated[float, number(-3600.0, 3600.0, 'deg')]
Coefficient = Annotated[float, number(-1e6, 1e6, 'rad')]
Count = Annotated[int, number(1, 200, '', int)]
Name = Annotated[str, Field(pattern=r'^[a-z][a-z0-9_]*$', max_length=60)]
LengthLimits = tuple[Length, Length]
PressureLimits = tuple[Pressure, Pressure]


def check_limits(part: Strict, *keys: str) -> None:
    """Raise ValueError if the first of a pair of limits is not smaller than the second.

    It must be smaller by a millionth of the greater.
    """
    for key in keys:
        low, high = getattr(part, key)
        if not high - low > 1e-6 * max(abs(low), abs(high)):
            raise ValueError(
                f'{key} [{low:g}, {high:g}]: the first must be smaller than the second'
            )


def check_bend(bend_rad: np.ndarray | float) -> None:
    """Raise ValueError where a bend [rad] is more than ten turns."""
    most_deg = float(np.degrees(np.abs(bend_rad).max()))
    if not most_deg <= math.degrees(MOST_BEND_RAD):
        raise ValueError(
            f'it would bend by {most_deg:.4g} deg within its limits, more than 3600 deg: correct '
            'lengths, limits or coefficients'
        )


@dataclass(frozen=True)
class Coordinate:
    """One number of an actuation vector: its name, unit (m, rad or Pa) and limits in that unit."""

    name: str
    unit: str
    low: float
    high: float


class Disc(Strict):
    """Connecting disc at a segment's end; it lies inside the segment's length."""

    radius_m: Radius
    thickness_m: Length
    mass_kg: MassOrZero


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
        if apart_deg < LEAST_SPACING_DEG:
            raise ValueError(
                f'angles_deg {list(self.angles_deg)}: two bellows are {apart_deg:g} deg apart; '
                f'place each {LEAST_SPACING_DEG:g} or more'
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


class _Segment(Strict):
    """What every kind has."""

    name: Name
    kind: str
    # True: the bend's rotation is Rz(phi) Ry(theta) Rz(-phi) (arm paper); False: without the last
    # factor (gripper paper)
    closing_twist: StrictBool
    sections: Count
    rigid_length_m: LengthOrZero
    body_mass_kg: Mass


class BellowsSegment(_Segment):
    """A segment driven by parallel bellows: pressure lengthens, vacuum shortens."""

    kind: Literal['bellows']
    disc: Disc
    actuators: Bellows

    @property
    def actuation(self) -> tuple[Coordinate, ...]:
        """Length of each bellows [m]."""
        return tuple(
            Coordinate(name, 'm', *self.actuators.length_limits_m) for name in self.actuators.names
        )

    @property
    def chambers(self) -> tuple[str, ...]:
        """Pressurised chambers, one for each bellows."""
        return self.actuators.names

    @property
    def arc_length_limits_m(self) -> tuple[float, float]:
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
    nominal: StrictBool  # True: the coefficients are plausible, not measured
    length_m: Length
    body_radius_m: Radius
    phi_deg: Turn
    pressure_unit_pa: (
        PressureUnit  # the coefficients are of powers of pressure / pressure_unit_pa, gauge
    )
    pressure_limits_pa: PressureLimits
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
    def arc_length_limits_m(self) -> tuple[float, float]:
        """Its length twice [m]."""
        return self.length_m, self.length_m

    @property
    def phi_rad(self) -> float:
        """Direction of the bending plane [rad]."""
        return math.radians(self.phi_deg)

    @property
    def layout(self) -> tuple:
        """Everything that poses depend on."""
        return tuple(
            sorted(
                self.model_dump(
                    mode='json',
                    exclude={'body_mass_kg', 'body_radius_m', 'disc', 'sections', 'nominal'},
                ).items()
            )
        )


class SingleBendSegment(_FixedLengthSegment):
    """A piece of constant curvature whose bend is a cubic of one pressure (gripper paper).

    theta = sum_i theta_coefficients_rad[i] (p / pressure_unit_pa)^i.
    """

    kind: Literal['single_bend']
    theta_coefficients_rad: tuple[Coefficient, Coefficient, Coefficient, Coefficient]

    @model_validator(mode='after')
    def _check(self) -> Self:
        check_limits(self, 'pressure_limits_pa')
        pressures = np.linspace(*self.pressure_limits_pa, 33) / self.pressure_unit_pa
        check_bend(np.polynomial.polynomial.polyval(pressures, self.theta_coefficients_rad))
        return self


class ModalSegment(_FixedLengthSegment):
    """A planar bending bellows (modal paper).

    theta(s) = sum_ij coefficients_rad[i][j] (s / length_unit_m)^i (p / pressure_unit_pa)^j, the
    tangent's angle at arc length s.
    """

    kind: Literal['modal']
    length_unit_m: Length
    coefficients_rad: Annotated[
        tuple[Annotated[tuple[Coefficient, ...], Field(min_length=1, max_length=30)], ...],
        Field(min_length=1, max_length=30),
    ]

    @model_validator(mode='after')
    def _check(self) -> Self:
        check_limits(self, 'pressure_limits_pa')
        orders = {len(row) for row in self.coefficients_rad}
        if len(orders) != 1:
            raise ValueError(
                f'coefficients_rad has rows of {sorted(orders)} numbers: give every row (power of '
                's) as many'
            )
        sites = np.linspace(0.0, self.length_m, 33) / self.length_unit_m
        pressures = np.linspace(*self.pressure_limits_pa, 33) / self.pressure_unit_pa
        check_bend(np.polynomial.polynomial.polygrid2d(sites, pressures, self.coefficients_rad))
        return self


class TendonSegment(_Segment):
    """An arc whose bend theta, direction phi and length ell tendons set (squid paper)."""

    kind: Literal['tendon']
    body_radius_m: Radius
    theta_limits_deg: tuple[Bend, Bend]
    phi_limits_deg: tuple[Turn, Turn]
    length_limits_m: LengthLimits
    disc: Disc | None = None

    @model_validator(mode='after')
    def _check(self) -> Self:
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
    def arc_length_limits_m(self) -> tuple[float, float]:
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


Segment = Annotated[
    BellowsSegment | SingleBendSegment | ModalSegment | TendonSegment, Field(discriminator='kind')
]
