"""Segments bent by tendons."""

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from soft_arm_description.segments.physics import Disc, RoundSegment
from soft_arm_description.segments.values import (
    Bend,
    Coordinate,
    LengthLimits,
    Radius,
    Turn,
    check_limits,
)
from soft_arm_io.fields import Strict, number

Tension = Annotated[float, number(1e-3, 1e5, 'N')]


class Tendons(Strict):
    """Tendons parallel to the axis that tensions drive; they end at the segment's end.

    They run through the tendon segments before their own, and act there too.
    """

    angles_deg: Annotated[tuple[Turn, ...], Field(min_length=1, max_length=12)]
    radius_m: Radius
    tension_limit_n: Tension


class TendonSegment(RoundSegment):
    """An arc whose bend theta, direction phi and length ell tendons set (squid paper)."""

    kind: Literal['tendon']
    theta_limits_deg: tuple[Bend, Bend]
    phi_limits_deg: tuple[Turn, Turn]
    length_limits_m: LengthLimits
    disc: Disc | None = None
    tendons: Tendons | None = None

    @model_validator(mode='after')
    def _check(self) -> Self:
        check_limits(self, 'theta_limits_deg', 'phi_limits_deg', 'length_limits_m')
        return self

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Theta [rad], which may be negative, phi [rad] and ell [m]."""
        return (
            Coordinate(f'{self.name}_theta', 'rad', *map(math.radians, self.theta_limits_deg)),
            Coordinate(f'{self.name}_phi', 'rad', *map(math.radians, self.phi_limits_deg)),
            Coordinate(f'{self.name}_ell', 'm', *self.length_limits_m),
        )

    @property
    def tensions(self) -> tuple[Coordinate, ...]:
        """Tension of each tendon [N]; none where a motor sets the arc."""
        if self.tendons is None:
            return ()
        return tuple(
            Coordinate(f'{self.name}_tendon_{k}', 'N', 0.0, self.tendons.tension_limit_n)
            for k in range(1, len(self.tendons.angles_deg) + 1)
        )

    @property
    def rest_q(self) -> tuple[float, ...]:
        """No bend [rad], and the middle of the length limits [m]."""
        return 0.0, 0.0, sum(self.length_limits_m) / 2.0

    @property
    def arc_length_limits_m(self) -> tuple[float, float]:
        """Shortest and longest centre line [m]."""
        return self.length_limits_m

    @property
    def natural_length_m(self) -> float:
        """Length without tension [m]: the longest, since tendons only shorten."""
        return self.length_limits_m[1]

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
