"""Rest shapes: torques that move the angle at which a joint's spring is at rest.

A joint's spring, in the MuJoCo model, is at rest at zero. A source (the effective pressure of a
chamber, or a coordinate that a motor sets) moves that angle or length to a polynomial of itself;
the force on the joint is stiffness times that. Single bends and modal segments use the
polynomials of the kinematics.
"""

from typing import NamedTuple

import numpy as np

from soft_arm_description.segments import ModalSegment, SingleBendSegment
from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_kinematics.segments.modal import node_coefficients


class Rests(NamedTuple):
    """Joints whose rest positions depend on a source, n of them.

    Attributes:
        dof: Addresses of the joints, (n,).
        source: Their sources, (n,): first all chambers, then all other coordinates.
        unit: What a source is divided by, (n,).
        coefficients: Rest position [rad] or [m], (n, w): row i of the powers of source / unit.
        stiffness: Stiffnesses of the joints [N m/rad] or [N/m], (n,); 1 for forces.
        bend_share: Share of the joint's angle in the bend of its chamber, (n,).
    """

    dof: np.ndarray
    source: np.ndarray
    unit: np.ndarray
    coefficients: np.ndarray
    stiffness: np.ndarray
    bend_share: np.ndarray


@njit(cache=True, nogil=True)
def add_rest_forces(rests: Rests, sources: np.ndarray, force: np.ndarray) -> None:
    """Add the generalised forces (nv,) of all rest positions, in place."""
    for i in range(len(rests.dof)):
        x, rest = sources[rests.source[i]] / rests.unit[i], 0.0
        for power in range(rests.coefficients.shape[1] - 1, -1, -1):
            rest = rest * x + rests.coefficients[i, power]
        force[rests.dof[i]] += rests.stiffness[i] * rest


@njit(cache=True, nogil=True)
def measure_bends(
    rests: Rests, qpos: np.ndarray, qvel: np.ndarray, bend: np.ndarray, rate: np.ndarray
) -> None:
    """Sum the bends [rad] of the chambers' joints and their rates [rad/s], in place."""
    bend[:], rate[:] = 0.0, 0.0
    for i in range(len(rests.dof)):
        if rests.bend_share[i] != 0.0:
            bend[rests.source[i]] += rests.bend_share[i] * qpos[rests.dof[i]]
            rate[rests.source[i]] += rests.bend_share[i] * qvel[rests.dof[i]]


def section_bends(segment: SingleBendSegment | ModalSegment) -> np.ndarray:
    """Bend of each section at rest [rad] as coefficients of powers of p / pressure_unit_pa, (n, w).

    Single bend: equal shares of theta. Modal: the differences of the tangent's angle at the
    sections' ends.
    """
    n = segment.sections
    if isinstance(segment, SingleBendSegment):
        return np.tile(np.array(segment.theta_coefficients_rad) / n, (n, 1))
    ends = segment.length_m / segment.length_unit_m * np.arange(1, n + 1) / n
    angles = node_coefficients(np.array(segment.coefficients_rad), ends, 1.0)
    return np.diff(angles, axis=0, prepend=0.0)
