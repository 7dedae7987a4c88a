"""An arm as flat arrays, the form that the compiled loops take."""

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:  # its sources are no part of what is compiled
    from soft_arm_kinematics.arm import Arm

BELLOWS, SINGLE_BEND, MODAL, TENDON = range(4)
_KINDS = {'bellows': BELLOWS, 'single_bend': SINGLE_BEND, 'modal': MODAL, 'tendon': TENDON}


class CompiledArm(NamedTuple):
    """Arrays of an arm of s segments and n coordinates.

    Attributes:
        kinds: (s,) BELLOWS ... TENDON.
        firsts, counts: (s,) each segment's first coordinate and how many it has; they lie side by side.
        twists: (s,) whether the closing twist is there.
        rigid_m: (s,) rigid ends [m].
        arc_matrices: (s, 3, most) arcs of lengths, for bellows.
        directions: (s, 2) of the fixed bending planes.
        lengths_m: (s,) of pieces of fixed length.
        theta_coefficients: (s, w) single bend: of the powers of the pressure [rad/Pa^i].
        node_coefficients: (s, nodes + 1, w) modal: the same at every quadrature node; the last is the end.
        weights_m: (s, nodes) quadrature weights.
        low, high: (n,) limits.
    """

    kinds: np.ndarray
    firsts: np.ndarray
    counts: np.ndarray
    twists: np.ndarray
    rigid_m: np.ndarray
    arc_matrices: np.ndarray
    directions: np.ndarray
    lengths_m: np.ndarray
    theta_coefficients: np.ndarray
    node_coefficients: np.ndarray
    weights_m: np.ndarray
    low: np.ndarray
    high: np.ndarray


@lru_cache(maxsize=16)
def compiled_arm(arm: 'Arm') -> CompiledArm:
    """Arrays of an arm; made once for each arm."""
    c = arm.chain
    nodes = np.concatenate([c.node_coefficients, c.angle_coefficients[:, None]], axis=1)
    return CompiledArm(
        c.kinds,
        c.firsts,
        c.counts,
        c.twists,
        c.rigid_m,
        c.arc_matrices,
        c.directions,
        c.lengths_m,
        c.angle_coefficients,
        nodes,
        c.weights_m,
        c.low,
        c.high,
    )
