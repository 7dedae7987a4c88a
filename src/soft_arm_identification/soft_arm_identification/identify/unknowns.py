"""Unknown parameters of an arm of bellows: names, units, first guesses and how rough these are."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_description.segments import BellowsSegment
from soft_arm_kinematics.calibration.curve_families import Exponential

# Half-widths of the play operators of the hysteresis, of half the range of recorded pressures.
THRESHOLD_SHARES = 0.04, 0.12, 0.35
# Relative standard deviations of the values in a robot file.
RADIUS, AREA, LENGTH, SLOPE, GROWTH = 0.1, 0.5, 0.05, 0.2, 0.5


@dataclass(frozen=True)
class Unknown:
    """One unknown parameter.

    Attributes:
        name, unit: Name, and SI unit.
        guess: First guess.
        spread: Expected standard deviation of the true value about the guess.
        low, high: Limits.
    """

    name: str
    unit: str
    guess: float
    spread: float
    low: float = -np.inf
    high: float = np.inf


def bellows_segments(robot: Robot) -> list[BellowsSegment]:
    """Return the segments of an arm of bellows."""
    return [s for s in robot.segments if isinstance(s, BellowsSegment)]


def plays_of(value: Callable[[str], float]) -> tuple[np.ndarray, np.ndarray]:
    """Return half-widths [Pa] and weights of the play operators, by the values of parameters."""
    names = [f'hysteresis_{i}' for i in range(1, len(THRESHOLD_SHARES) + 1)]
    thresholds_pa, weights = (
        np.array([value(f'{name}.{key}') for name in names]) for key in ('threshold', 'weight')
    )
    return thresholds_pa, weights


def curve_of(segment: BellowsSegment) -> Exponential:
    """Return the exponential curve through the points of a robot file, by least squares."""
    points = segment.actuators.curve
    return Exponential.fit(np.array(points.pressure_pa), np.array(points.length_m))


def arm_unknowns(robot: Robot, half_pa: float) -> list[Unknown]:
    """Return the unknown parameters of an arm.

    Args:
        robot: Robot file with rough values.
        half_pa: Half of the range of the recorded pressures.
    """
    found = [Unknown(f'base_{axis}', 'm', 0.0, 0.05) for axis in 'xyz']
    found += [Unknown(f'base_rotation_{axis}', 'rad', 0.0, 0.3) for axis in 'xyz']
    found += [Unknown(f'tip_{axis}', 'm', 0.0, 0.003) for axis in 'xyz']
    for segment in bellows_segments(robot):
        name, a, curve = segment.name, segment.actuators, curve_of(segment)
        for key, unit, value, share in (
            ('centre_radius', 'm', a.centre_radius_m, RADIUS),
            ('effective_area', 'm^2', a.effective_area_m2, AREA),
        ):
            found.append(
                Unknown(f'{name}.{key}', unit, value, share * value, 0.2 * value, 5.0 * value)
            )
        spread = GROWTH * abs(curve.growth_per_pa) + 1e-6
        found.append(Unknown(f'{name}.growth', '1/Pa', curve.growth_per_pa, spread))
        for chamber in a.names:
            length_m, slope = curve.value_0, curve.slope_0
            found += [
                Unknown(f'{chamber}.length', 'm', length_m, LENGTH * length_m),
                Unknown(f'{chamber}.slope', 'm/Pa', slope, SLOPE * slope, 0.1 * slope),
            ]
    for i, share in enumerate(THRESHOLD_SHARES, 1):
        width_pa = share * half_pa
        found += [
            Unknown(f'hysteresis_{i}.weight', '1', 0.1, 0.1, 0.0, 0.5),
            Unknown(
                f'hysteresis_{i}.threshold', 'Pa', width_pa, 0.5 * width_pa, 0.1 * width_pa, half_pa
            ),
        ]
    found += [
        Unknown('creep_share', '1', 0.03, 0.05, 0.0, 0.3),
        Unknown('creep_time_constant', 's', 1.5, 1.5, 0.2, 60.0),
        Unknown('frequency_scale', '1', 1.0, 0.3, 0.1, 10.0),
        Unknown('bend_damping_scale', '1', 1.0, 0.5, 0.1, 10.0),
        Unknown('stretch_damping_scale', '1', 1.0, 0.5, 0.1, 10.0),
        Unknown('tip_delay', 's', 0.0, 0.02, -0.2, 0.5),
    ]
    return found
