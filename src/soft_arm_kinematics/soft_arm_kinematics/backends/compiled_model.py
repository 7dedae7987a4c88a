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
    s = arm.n_segments
    kinds = [_KINDS[segment.kind] for segment in arm.robot.segments]
    most = max(len(c) for c in arm.columns)
    powers = max(
        [4]
        + [m.node_coefficients.shape[1] for k, m in zip(kinds, arm.maps, strict=True) if k == MODAL]
    )
    nodes = max(
        [1] + [m.weights_m.size for k, m in zip(kinds, arm.maps, strict=True) if k == MODAL]
    )
    model = CompiledArm(
        np.array(kinds),
        np.array([c[0] for c in arm.columns]),
        np.array([len(c) for c in arm.columns]),
        np.array(arm.closing_twists),
        arm.rigid_lengths_m,
        np.zeros((s, 3, most)),
        np.zeros((s, 2)),
        np.zeros(s),
        np.zeros((s, powers)),
        np.zeros((s, nodes + 1, powers)),
        np.zeros((s, nodes)),
        *np.ascontiguousarray(arm.actuation_limits),
    )
    for i, (kind, part) in enumerate(zip(kinds, arm.maps, strict=True)):
        if kind == BELLOWS:
            model.arc_matrices[i, :, : len(arm.columns[i])] = part.arcs_matrix
        if kind in (SINGLE_BEND, MODAL):
            model.directions[i] = part.direction
        if kind == SINGLE_BEND:
            model.lengths_m[i] = part.length_m
            model.theta_coefficients[i, :4] = part.theta_coefficients
        if kind == MODAL:
            model.lengths_m[i] = part.weights_m.sum()
            model.node_coefficients[i, :, : part.node_coefficients.shape[1]] = (
                part.node_coefficients
            )
            model.weights_m[i] = part.weights_m
    return model
