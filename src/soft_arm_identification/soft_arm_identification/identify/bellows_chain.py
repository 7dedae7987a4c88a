"""The bellows of an arm of arcs: forces and stiffness, by the arcs (..., c)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_description.segments import BellowsSegment
from soft_arm_identification.identify.unknowns import bellows_segments

MIN_ARGUMENT = 0.05  # of the curve's logarithm, below which it is continued by its tangent
SECTIONS = 1  # of an arc, between its masses


@dataclass(frozen=True)
class BellowsChain:
    """Bellows of a chain of arcs, each segment divided into `parts` equal ones.

    Attributes:
        matrix: B (r, c): lengths [m] of the arcs' bellows = B @ arcs.
        lever: B^T A (c, r): forces on the arcs by the pressures of the bellows [Pa].
        rest_m, slope, growth: Curves of whole bellows: lengths at 0 Pa, slopes there [m/Pa], and
            growth [1/Pa], (r,).
        parts: Arcs of a segment.
    """

    matrix: np.ndarray
    lever: np.ndarray
    rest_m: np.ndarray
    slope: np.ndarray
    growth: np.ndarray
    parts: int

    def pressures(self, arcs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the pressures [Pa] that hold the bellows, and their slopes [Pa/m], (..., r)."""
        growth = np.where(np.abs(self.growth) < 1e-9, 1e-9, self.growth)
        rise = growth * (self.parts * arcs @ self.matrix.T - self.rest_m) / self.slope
        inside = np.maximum(rise, MIN_ARGUMENT - 1.0)
        pressures_pa = (np.log1p(inside) + (rise - inside) / (1.0 + inside)) / growth
        return pressures_pa, self.parts / (self.slope * (1.0 + inside))

    def stiffness(self, slopes: np.ndarray) -> np.ndarray:
        """Return the stiffness (..., c, c) of the arcs for slopes (..., r) of `pressures`."""
        return (self.lever * slopes[..., None, :]) @ self.matrix

    def own_stiffness(self, slopes: np.ndarray) -> np.ndarray:
        """Return the diagonal (..., c) of `stiffness`."""
        return slopes @ (self.lever * self.matrix.T).T


def bellows_chain(
    robot: Robot,
    matrix: np.ndarray,
    owner: np.ndarray,
    parts: int,
    modes: int,
    value: Callable[[str], float],
) -> BellowsChain:
    """Return the bellows at values of the unknown parameters.

    Args:
        robot: Robot file with rough values.
        matrix: B (r, c) with its radii.
        owner: Segment of each bellows, (r,).
        parts, modes: Arcs and modes of a segment.
        value: Returns the value of a parameter by its name.
    """
    segments = bellows_segments(robot)
    scales: list[float] = []
    for segment in segments:
        share = value(f'{segment.name}.centre_radius') / segment.actuators.centre_radius_m
        scales += [share, share, 1.0] * modes
    areas, growth = (
        np.array([value(f'{s.name}.{key}') for s in segments])[owner]
        for key in ('effective_area', 'growth')
    )
    names = [name for s in segments for name in s.chambers * parts]
    rest_m, slope = (
        np.array([value(f'{name}.{key}') for name in names]) for key in ('length', 'slope')
    )
    scaled = matrix * scales
    return BellowsChain(scaled, scaled.T * areas, rest_m, slope, growth, parts)


def legendre_modes(segments: int, parts: int, modes: int) -> np.ndarray:
    """Return the arcs of all segments, (all arcs, c), by Legendre polynomials along each."""
    middles = (np.arange(parts) + 0.5) / parts * 2.0 - 1.0
    along = np.polynomial.legendre.legvander(middles, modes - 1)
    return np.kron(np.eye(segments), np.kron(along, np.eye(3)))


def divided(robot: Robot, parts: int) -> Robot:
    """Return an arm of bellows whose segments are divided into equal parts, each an arc."""
    found: list[BellowsSegment] = []
    for segment in bellows_segments(robot):
        a, disc = segment.actuators, segment.disc
        for part in range(parts):
            last = part == parts - 1
            short_m = tuple(length / parts for length in a.curve.length_m)
            found.append(
                segment.model_copy(
                    update={
                        'name': f'{segment.name}_{part}',
                        'sections': SECTIONS,
                        'body_mass_kg': segment.body_mass_kg / parts,
                        'rigid_length_m': segment.rigid_length_m if last else 0.0,
                        'disc': disc if last else disc.model_copy(update={'mass_kg': 0.0}),
                        'actuators': a.model_copy(
                            update={
                                'names': tuple(f'{name}_{part}' for name in a.names),
                                'length_limits_m': tuple(v / parts for v in a.length_limits_m),
                                'curve': a.curve.model_copy(update={'length_m': short_m}),
                            }
                        ),
                    }
                )
            )
    return robot.model_copy(update={'segments': tuple(found)})
