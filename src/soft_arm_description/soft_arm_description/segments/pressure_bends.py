"""Segments of fixed length and bending plane, each driven by one pressure."""

import math
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, StrictBool, model_validator

from soft_arm_description.segments.physics import PHYSICS_KEYS, Disc, RoundSegment
from soft_arm_description.segments.values import (
    Coefficient,
    Coordinate,
    Length,
    Name,
    PressureLimits,
    PressureUnit,
    Turn,
    check_bend,
    check_limits,
)


class _FixedLengthSegment(RoundSegment):
    """A piece of fixed length and bending plane, driven by one pressure."""

    chamber: Name
    nominal: StrictBool  # True: the coefficients are plausible, not measured
    length_m: Length
    phi_deg: Turn
    pressure_unit_pa: (
        PressureUnit  # the coefficients are of powers of pressure / pressure_unit_pa, gauge
    )
    pressure_limits_pa: PressureLimits
    disc: Disc | None = None

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The chamber's pressure [Pa]."""
        return (Coordinate(self.chamber, 'Pa', *self.pressure_limits_pa),)

    @property
    def chambers(self) -> tuple[str, ...]:
        """The one chamber."""
        return (self.chamber,)

    @property
    def chamber_limits_pa(self) -> tuple[tuple[float, float], ...]:
        """Lowest and highest pressure of the chamber [Pa] gauge."""
        return (self.pressure_limits_pa,)

    @property
    def rest_q(self) -> tuple[float, ...]:
        """Ambient pressure [Pa]."""
        return (0.0,)

    @property
    def bending_planes_deg(self) -> set[float | None]:
        """Direction of its plane [deg], in half a turn."""
        return {round(self.phi_deg % 180.0, 6)}

    @property
    def natural_length_m(self) -> float:
        """Its length [m]."""
        return self.length_m

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
                    exclude={'disc', 'sections', 'nominal', *PHYSICS_KEYS},
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
