"""Displayed units of sliders and numbers; all other code uses SI."""

import math

from soft_arm_description.segments import Coordinate

SMALL_TORQUE_N_M = 0.5
_SHOWN = {'Pa': ('kPa', 1e-3), 'm': ('mm', 1e3), 'rad': ('deg', 180.0 / math.pi)}


def shown(coordinate: Coordinate) -> tuple[str, float]:
    """Return the displayed unit of a coordinate, and its number per SI unit."""
    most = max(abs(coordinate.low), abs(coordinate.high))
    if coordinate.unit == 'N m' and most < SMALL_TORQUE_N_M:
        return 'mN m', 1e3
    return _SHOWN.get(coordinate.unit, (coordinate.unit, 1.0))


def step(low: float, high: float) -> float:
    """Return 1, 2 or 5 times a power of ten, about a two-hundredth of a range."""
    raw = (high - low) / 200.0
    power = 10.0 ** math.floor(math.log10(raw))
    return power * min((1.0, 2.0, 5.0, 10.0), key=lambda m: abs(math.log(raw / (m * power))))
