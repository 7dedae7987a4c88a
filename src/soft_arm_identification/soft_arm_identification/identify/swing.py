"""Motion of an arm of arcs about its rest shape.

The arcs b follow M b'' + C b' = f(b): linear about some postures, with what the linear motion lacks
- inertia, stiffness and damping that change with the shape - as forces along the motion itself.
C is diagonal, damping times on each arc's own stiffness, as in the simulator.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from soft_arm_control.tip.arm_weight import ArmWeight
from soft_arm_identification.identify.bellows_chain import BellowsChain
from soft_arm_identification.identify.pressures import GRID_S
from soft_arm_kinematics.backends.machine_code import njit

BATCH = 300  # shapes that are computed at once


@dataclass(frozen=True)
class Scales:
    """Scales of the swing.

    Attributes:
        frequency: Of all frequencies; 1: as the masses of the robot file and the stiffness say.
        damping_s: Damping / stiffness of each arc [s], (c,).
    """

    frequency: float
    damping_s: np.ndarray


class _Linear(NamedTuple):
    """Linear motion about postures.

    Attributes:
        steps: State (arcs, rates) after a step by the state before, (p, 2c, 2c).
        slope: Rest shape by pressures, (p, c, n).
        moved, pushed: State after a step by the change of the arcs and by the force during it,
            both constant, (p, 2c, c).
    """

    steps: np.ndarray
    slope: np.ndarray
    moved: np.ndarray
    pushed: np.ndarray


@dataclass(frozen=True)
class Postures:
    """Shapes about which the motion is linear.

    Attributes:
        arcs: (p, c).
        hessian: Of the potential of gravity, (p, c, c).
        mass: Mass matrices, (p, c, c).
        chambers: Chamber of each of the arcs' bellows, (r,).
    """

    arcs: np.ndarray
    hessian: np.ndarray
    mass: np.ndarray
    chambers: np.ndarray

    def linear(self, bellows: BellowsChain, scales: Scales) -> _Linear:
        """Return the linear motion, by the L-stable Padé approximation (1, 2)."""
        _, slopes = bellows.pressures(self.arcs)
        stiffness = bellows.stiffness(slopes) + self.hessian
        rows = np.eye(self.chambers.max() + 1)[self.chambers]
        slope = np.linalg.solve(stiffness, (bellows.lever @ rows)[None])
        inverse = scales.frequency**2 * np.linalg.inv(self.mass)
        damping = scales.damping_s / scales.frequency * bellows.own_stiffness(slopes)
        c = len(scales.damping_s)
        rates = np.zeros((len(self.arcs), 2 * c, 2 * c))
        rates[:, :c, c:] = np.eye(c)
        rates[:, c:, :c] = -inverse @ stiffness
        rates[:, c:, c:] = -inverse * damping[:, None, :]
        eye, a = np.eye(2 * c), GRID_S * rates
        inverted = np.linalg.inv(eye - a / 1.5 + a @ a / 6.0)
        held = inverted @ (eye - a / 6.0)
        moved = np.ascontiguousarray(held[:, :, :c])
        return _Linear(inverted @ (eye + a / 3.0), slope, moved, GRID_S * held[:, :, c:] @ inverse)


@dataclass(frozen=True)
class Course:
    """The motion of one run, at each step on the grid.

    Attributes:
        posture: Posture of each step, (g,).
        moves: Motion of the rest shape less the linear one, (g, c).
        forces: Forces that the linear motion lacks, (g, c).
    """

    posture: np.ndarray
    moves: np.ndarray
    forces: np.ndarray

    def displacements(self, acting_pa: np.ndarray, linear: _Linear) -> np.ndarray:
        """Return the displacements of the arcs from the rest shape, (g, c)."""
        return _displacements(acting_pa, self.posture, *linear, self.moves, self.forces)


def course(
    weight: ArmWeight,
    postures: Postures,
    posture: np.ndarray,
    bellows: BellowsChain,
    scales: Scales,
    acting_pa: np.ndarray,
    near: tuple[np.ndarray, np.ndarray],
) -> Course:
    """Return the motion of one run, corrected once for what the linear motion lacks.

    Args:
        weight: Masses of the arm.
        postures: As above.
        posture: Posture of each step, (g,).
        bellows, scales: The parameters.
        acting_pa: Effective pressures [Pa], (g, n).
        near: Rest shape (g, c) near each step, and inverse of its stiffness, (g, c, c).
    """
    linear = postures.linear(bellows, scales)
    wanted_pa = acting_pa[:, postures.chambers]
    rest, inverse = near
    for _ in range(3):  # Newton's method with the stiffness of a near shape
        rest = rest + _times(inverse, _static(weight, rest, wanted_pa, bellows)[0])
    moves = np.diff(rest, axis=0, prepend=rest[:1])
    moves -= _times(linear.slope[posture], np.diff(acting_pa, axis=0, prepend=acting_pa[:1]))
    swing = Course(posture, moves, np.zeros_like(rest)).displacements(acting_pa, linear)
    arcs = rest + swing
    force, jacobians, places_m = _static(weight, arcs, wanted_pa, bellows)
    _, slopes = bellows.pressures(arcs)
    _, known_slopes = bellows.pressures(postures.arcs)
    stiffness = (bellows.stiffness(known_slopes) + postures.hessian)[posture]
    force += _times(stiffness, swing)
    weighted = jacobians * weight.masses_kg[:, None]
    inertia = (weighted * _second_derivative(places_m)[:, None]).sum(axis=(2, 3))
    known = _times(postures.mass[posture], _second_derivative(arcs))
    force += (known - inertia) / scales.frequency**2
    stiffer = bellows.own_stiffness(known_slopes[posture] - slopes)
    damping = scales.damping_s / scales.frequency * stiffer
    return Course(posture, moves, force + damping * np.gradient(arcs, GRID_S, axis=0))


def _static(
    weight: ArmWeight, arcs: np.ndarray, wanted_pa: np.ndarray, bellows: BellowsChain
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Static force on arcs (g, c), derivatives of the masses' places, and the places."""
    parts = []
    for first in range(0, len(arcs), BATCH):
        places_m = weight.places(arcs[first : first + BATCH], mixed=False)
        parts.append((weight.jacobians(places_m), places_m[:, 0]))
    jacobians, middle_m = (np.concatenate(part) for part in zip(*parts, strict=True))
    heavy = (jacobians @ weight.gravity_m_s2) @ weight.heavy_kg
    return (wanted_pa - bellows.pressures(arcs)[0]) @ bellows.lever.T + heavy, jacobians, middle_m


def _times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (matrices @ vectors[:, :, None])[:, :, 0]


def _second_derivative(values: np.ndarray) -> np.ndarray:
    """Second derivatives by time of values (g, ..) on the grid; zero at both ends."""
    found = np.zeros_like(values)
    found[1:-1] = (values[2:] - 2.0 * values[1:-1] + values[:-2]) / GRID_S**2
    return found


@njit(cache=True)
def _displacements(
    acting_pa: np.ndarray,
    posture: np.ndarray,
    steps: np.ndarray,
    slope: np.ndarray,
    moved: np.ndarray,
    pushed: np.ndarray,
    moves: np.ndarray,
    forces: np.ndarray,
) -> np.ndarray:
    """Displacements (g, c); arguments as `_Linear` and `Course`."""
    c = slope.shape[1]
    state = np.zeros(2 * c)
    found = np.zeros((len(acting_pa), c))
    for t in range(1, len(acting_pa)):
        k = posture[t]
        move = slope[k] @ (acting_pa[t] - acting_pa[t - 1]) + moves[t]
        force = 0.5 * (forces[t] + forces[t - 1])
        state = steps[k] @ state - moved[k] @ move + pushed[k] @ force
        found[t] = state[:c]
    return found
