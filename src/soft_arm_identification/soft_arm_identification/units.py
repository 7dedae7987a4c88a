"""Units of recorded values, and their SI units."""

import math

# SI unit and factor of each unit.
UNITS: dict[str, tuple[str, float]] = {
    's': ('s', 1.0),
    'ms': ('s', 1e-3),
    'us': ('s', 1e-6),
    'ns': ('s', 1e-9),
    'm': ('m', 1.0),
    'cm': ('m', 1e-2),
    'mm': ('m', 1e-3),
    'inch': ('m', 0.0254),
    'Pa': ('Pa', 1.0),
    'hPa': ('Pa', 1e2),
    'mbar': ('Pa', 1e2),
    'kPa': ('Pa', 1e3),
    'psi': ('Pa', 6894.757293168),
    'bar': ('Pa', 1e5),
    'MPa': ('Pa', 1e6),
    'rad': ('rad', 1.0),
    'deg': ('rad', math.pi / 180),
    'N': ('N', 1.0),
    'N m': ('N m', 1.0),
    'V': ('V', 1.0),
    'A': ('A', 1.0),
    '1': ('1', 1.0),
}


def units_of(dimension: str) -> list[str]:
    """Return the units of an SI unit."""
    return [name for name, (unit, _) in UNITS.items() if unit == dimension]
