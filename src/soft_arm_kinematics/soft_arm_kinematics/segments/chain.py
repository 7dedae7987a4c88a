"""A chain of segments as flat arrays, and its poses and Jacobians in NumPy (`formulas`)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from soft_arm_description.segments import Segment
from soft_arm_kinematics.segments import formulas, pcc
from soft_arm_kinematics.segments.modal import NODES, UNIT_NODES, UNIT_WEIGHTS, node_coefficients

_KINDS = {
    'bellows': formulas.BELLOWS,
    'single_bend': formulas.SINGLE_BEND,
    'modal': formulas.MODAL,
    'tendon': formulas.TENDON,
}


class Chain(NamedTuple):
    """Numbers of s segments and n coordinates, in the form that `formulas` takes.

    Attributes:
        kinds: (s,) `formulas.BELLOWS` ... `TENDON`.
        firsts, counts: (s,) each segment's first coordinate and how many it has, side by side.
        twists: (s,) whether the closing twist is there.
        rigid_m: (s,) rigid ends [m].
        arc_matrices: (s, 3, most) arcs of lengths, for bellows.
        directions: (s, 2) cosine and sine of the fixed bending planes.
        lengths_m: (s,) of segments of fixed length.
        angle_coefficients: (s, w) bend of the end, of the powers of the pressure [rad/Pa^i].
        node_coefficients: (s, nodes, w) modal: the same at every quadrature node.
        weights_m: (s, nodes) quadrature weights.
        low, high: (n,) limits of the coordinates.
    """

    kinds: np.ndarray
    firsts: np.ndarray
    counts: np.ndarray
    twists: np.ndarray
    rigid_m: np.ndarray
    arc_matrices: np.ndarray
    directions: np.ndarray
    lengths_m: np.ndarray
    angle_coefficients: np.ndarray
    node_coefficients: np.ndarray
    weights_m: np.ndarray
    low: np.ndarray
    high: np.ndarray


def make_chain(
    segments: Sequence[Segment], columns: Sequence[np.ndarray], limits: np.ndarray
) -> Chain:
    """Return the numbers of segments whose coordinates have these columns and limits (2, n)."""
    s = len(segments)
    powers = max([4] + [len(g.coefficients_rad[0]) for g in segments if g.kind == 'modal'])
    nodes = NODES if any(g.kind == 'modal' for g in segments) else 1
    chain = Chain(
        kinds=np.array([_KINDS[g.kind] for g in segments]),
        firsts=np.array([c[0] for c in columns]),
        counts=np.array([len(c) for c in columns]),
        twists=np.array([g.closing_twist for g in segments]),
        rigid_m=np.array([g.rigid_length_m for g in segments]),
        arc_matrices=np.zeros((s, 3, max(len(c) for c in columns))),
        directions=np.zeros((s, 2)),
        lengths_m=np.zeros(s),
        angle_coefficients=np.zeros((s, powers)),
        node_coefficients=np.zeros((s, nodes, powers)),
        weights_m=np.zeros((s, nodes)),
        low=np.array(limits[0]),
        high=np.array(limits[1]),
    )
    for i, segment in enumerate(segments):
        if segment.kind == 'bellows':
            layout = segment.actuators.angles_rad, segment.actuators.centre_radius_m
            chain.arc_matrices[i, :, : len(columns[i])] = pcc.arcs_matrix(*layout)
        elif segment.kind in ('single_bend', 'modal'):
            chain.directions[i] = np.cos(segment.phi_rad), np.sin(segment.phi_rad)
            chain.lengths_m[i] = segment.length_m
            if segment.kind == 'single_bend':
                units_pa = segment.pressure_unit_pa ** np.arange(4)
                chain.angle_coefficients[i, :4] = segment.theta_coefficients_rad / units_pa
            else:
                sites_m = segment.length_m * np.append(UNIT_NODES, 1.0)
                of_nodes = node_coefficients(
                    np.array(segment.coefficients_rad),
                    sites_m / segment.length_unit_m,
                    segment.pressure_unit_pa,
                )
                w = of_nodes.shape[1]
                chain.node_coefficients[i, :, :w] = of_nodes[:-1]
                chain.angle_coefficients[i, :w] = of_nodes[-1]
                chain.weights_m[i] = segment.length_m * UNIT_WEIGHTS
    return chain


def segment_poses(chain: Chain, actuation: np.ndarray) -> np.ndarray:
    """Poses of the ends of all segments in the base, (..., s, 4, 4), at actuation (..., n)."""
    poses = []
    x, frame = np.moveaxis(actuation, -1, 0), formulas.IDENTITY
    for i in range(chain.kinds.size):
        frame = formulas.advance(chain, i, x, frame)
        poses.append(pcc.transforms(frame, x.shape[1:]))
    return np.stack(poses, axis=-3)


def arcs(chain: Chain, actuation: np.ndarray) -> np.ndarray:
    """Arcs (..., s, 3) [rad, rad, m]; of a modal segment, the arc that bends its end as far."""
    found = np.empty(actuation.shape[:-1] + (chain.kinds.size, 3))
    x = np.moveaxis(actuation, -1, 0)
    for i in range(chain.kinds.size):
        ux, uy, ell, _, _ = formulas.bend(chain, i, x)
        found[..., i, 0], found[..., i, 1], found[..., i, 2] = ux, uy, ell
    return found


def twist_jacobian(chain: Chain, actuation: np.ndarray) -> np.ndarray:
    """Return the twist of the tip per unit of each coordinate, (..., 6, n), velocity first."""
    n = actuation.shape[-1]
    x, frame = np.moveaxis(actuation, -1, 0), formulas.IDENTITY
    jacobian = np.zeros((n, 6) + actuation.shape[:-1])
    for i in range(chain.kinds.size):
        frame = formulas.advance(chain, i, x, frame, jacobian)
    formulas.move_to_tip(jacobian, n, frame)
    return np.moveaxis(jacobian, (0, 1), (-1, -2))
