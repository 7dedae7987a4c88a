"""Numbers, names and lists in robot, assembly and world files, each with its limits."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from soft_arm_io.fields import Strict, number

ABSOLUTE_VACUUM_PA = -101_325.0  # gauge
MAX_BEND_RAD = 20 * math.pi


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
Place = Annotated[float, number(-1000.0, 1000.0, 'm')]
Share = Annotated[float, number(0.0, 1.0, '')]
Density = Annotated[float, number(0.1, 25_000.0, 'kg/m^3')]
DragCoefficient = Annotated[float, number(0.0, 10.0, '')]
FrictionCoefficient = Annotated[float, number(0.0, 10.0, '')]
Name = Annotated[str, Field(pattern=r'^[a-z][a-z0-9_]*$', max_length=60)]
Text = Annotated[str, Field(max_length=5000)]
LengthLimits = tuple[Length, Length]
PressureLimits = tuple[Pressure, Pressure]
Component = Annotated[float, number(-1e3, 1e3, '')]
Direction = tuple[Component, Component, Component]
Position = tuple[Place, Place, Place]
Rotation = tuple[Turn, Turn, Turn]
Colour = tuple[Share, Share, Share]


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


def check_direction(key: str, direction: tuple[float, float, float]) -> None:
    """Raise ValueError if a direction (x, y, z) has no length."""
    if not any(direction):
        raise ValueError(f'{key} [0, 0, 0] has no direction: give one, such as [1, 0, 0]')


def check_unique(what: str, names: Iterable[str]) -> None:
    """Raise ValueError if a name is used twice."""
    names = list(names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f'{what} name {twice[0]!r} is used twice: give each its own')


def check_bend(bend_rad: np.ndarray | float) -> None:
    """Raise ValueError where a bend [rad] is more than ten turns."""
    most_deg = float(np.degrees(np.abs(bend_rad).max()))
    if not most_deg <= math.degrees(MAX_BEND_RAD):
        raise ValueError(
            f'it would bend by {most_deg:.4g} deg within its limits, more than 3600 deg: correct '
            'lengths, limits or coefficients'
        )


@dataclass(frozen=True)
class Coordinate:
    """One number of a configuration vector q.

    Attributes:
        name: Its name.
        unit: m, rad, Pa or N m.
        low, high: Limits in that unit.
    """

    name: str
    unit: str
    low: float
    high: float
