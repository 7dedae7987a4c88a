"""A chain of segments as flat arrays, and its poses and Jacobians (`formulas`).

Many poses are computed in NumPy. One pose is computed in Python floats, which takes a
quarter of the time: on single numbers, arithmetic of NumPy is slow.
"""

import math
from collections.abc import Sequence
from itertools import product
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from soft_arm_description.segments import Segment, TorqueSegment
from soft_arm_kinematics.segments import formulas, pcc
from soft_arm_kinematics.segments.modal import NODES, UNIT_NODES, UNIT_WEIGHTS, node_coefficients

_KINDS = {
    'bellows': formulas.BELLOWS,
    'single_bend': formulas.SINGLE_BEND,
    'modal': formulas.MODAL,
    'tendon': formulas.TENDON,
    'torque': formulas.TORQUE,
}


class Chain(NamedTuple):
    """Numbers of s segments and n coordinates, in the form that `formulas` takes.

    Attributes:
        kinds: (s,) `formulas.BELLOWS` ... `TORQUE`.
        firsts, counts: (s,) each segment's first coordinate and how many it has, side by side; 0
            and 0 where it has none.
        twists: (s,) whether the closing twist is there.
        rigid_m: (s,) rigid ends [m].
        arc_matrices: (s, 3, most) arcs of lengths, for bellows.
        directions: (s, 2) cosine and sine of the fixed bending planes.
        lengths_m: (s,) of segments of fixed length.
        angle_coefficients: (s, w) bend of the end, of the powers of the pressure [rad/Pa^i].
        node_coefficients: (s, nodes, w) modal: the same at every quadrature node.
        weights_m: (s, nodes) quadrature weights.
        hinge_counts: (s,) hinges of segments of hinges.
        hinge_columns: (s, most) the coordinate of each hinge; any one where it is passive.
        hinges: (s, most, 10) axis, place from the middle of its section [m], neutral angle [rad],
            compliance [rad/(N m)], 0 where it is passive, smallest and largest angle [rad].
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
    hinge_counts: np.ndarray
    hinge_columns: np.ndarray
    hinges: np.ndarray
    low: np.ndarray
    high: np.ndarray


_plain = formulas.derived(
    SimpleNamespace(
        sqrt=math.sqrt,
        sin=lambda x: math.sin(x) if math.isfinite(x) else math.nan,
        cos=lambda x: math.cos(x) if math.isfinite(x) else math.nan,
        where=lambda yes, a, b: a if yes else b,
    )
)


def make_chain(
    segments: Sequence[Segment], columns: Sequence[np.ndarray], limits: np.ndarray
) -> Chain:
    """Return the numbers of segments whose coordinates have these columns and limits (2, n)."""
    s = len(segments)
    powers = max([4] + [len(g.coefficients_rad[0]) for g in segments if g.kind == 'modal'])
    nodes = NODES if any(g.kind == 'modal' for g in segments) else 1
    most = max([g.sections for g in segments if g.kind == 'torque'], default=1)
    chain = Chain(
        kinds=np.array([_KINDS[g.kind] for g in segments]),
        firsts=np.array([c[0] if len(c) else 0 for c in columns]),
        counts=np.array([len(c) for c in columns]),
        twists=np.array([g.closing_twist for g in segments]),
        rigid_m=np.array([g.rigid_length_m for g in segments]),
        arc_matrices=np.zeros((s, 3, max(len(c) for c in columns))),
        directions=np.zeros((s, 2)),
        lengths_m=np.zeros(s),
        angle_coefficients=np.zeros((s, powers)),
        node_coefficients=np.zeros((s, nodes, powers)),
        weights_m=np.zeros((s, nodes)),
        hinge_counts=np.array([g.sections if g.kind == 'torque' else 0 for g in segments]),
        hinge_columns=np.zeros((s, most), dtype=int),
        hinges=np.zeros((s, most, 10)),
        low=np.array(limits[0]),
        high=np.array(limits[1]),
    )
    for i, segment in enumerate(segments):
        if segment.kind == 'bellows':
            layout = segment.actuators.angles_rad, segment.actuators.centre_radius_m
            chain.arc_matrices[i, :, : len(columns[i])] = pcc.arcs_matrix(*layout)
        elif segment.kind == 'torque':
            chain.lengths_m[i] = segment.length_m
            names = list(dict.fromkeys(h.name for h in segment.hinges if h.actuated))
            for k, hinge in enumerate(segment.section_hinges):
                compliance = 0.0
                if hinge.actuated and hinge.stiffness_n_m_rad:
                    chain.hinge_columns[i, k] = columns[i][names.index(hinge.name)]
                    compliance = 1.0 / hinge.stiffness_n_m_rad
                angles = hinge.neutral_rad, compliance, *(hinge.limits_rad or (-np.inf, np.inf))
                chain.hinges[i, k] = *hinge.unit_axis, *hinge.offset_m, *angles
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


def of_plain_numbers(chain: Chain) -> Chain:
    """Return the chain with arrays of Python floats, for the functions of one pose."""
    return Chain(*(array.astype(object) for array in chain))


def frame_of_one(plain: Chain, q: np.ndarray) -> formulas.Frame:
    """Frame of the tip in the base, 12 floats as in `formulas`, at one q (n,).

    Args:
        plain: The chain, of `of_plain_numbers`.
        q: Finite, (n,).
    """
    x, frame = q.tolist(), formulas.IDENTITY
    for i in range(plain.kinds.size):
        frame = _plain.advance(plain, i, x, frame)
    return frame


def jacobian_of_one(plain: Chain, q: np.ndarray) -> np.ndarray:
    """Return `twist_jacobian`, (6, n), at one q; arguments as of `frame_of_one`."""
    n, x, frame = q.size, q.tolist(), formulas.IDENTITY
    jacobian = dict.fromkeys(product(range(n), range(6)), 0.0)
    for i in range(plain.kinds.size):
        frame = _plain.advance(plain, i, x, frame, jacobian)
    _plain.move_to_tip(jacobian, n, frame)
    return np.reshape(list(jacobian.values()), (n, 6)).T


def segment_poses(chain: Chain, q: np.ndarray) -> np.ndarray:
    """Poses of the ends of all segments in the base, (..., s, 4, 4), at q (..., n)."""
    poses = []
    x, frame = np.moveaxis(q, -1, 0), formulas.IDENTITY
    for i in range(chain.kinds.size):
        frame = formulas.advance(chain, i, x, frame)
        poses.append(pcc.transforms(frame, x.shape[1:]))
    return np.stack(poses, axis=-3)


def arcs(chain: Chain, q: np.ndarray) -> np.ndarray:
    """Arcs (..., s, 3) [rad, rad, m]; of a modal segment, the arc that bends its end as far."""
    found = np.empty(q.shape[:-1] + (chain.kinds.size, 3))
    x = np.moveaxis(q, -1, 0)
    for i in range(chain.kinds.size):
        ux, uy, ell, _, _ = formulas.bend(chain, i, x)
        found[..., i, 0], found[..., i, 1], found[..., i, 2] = ux, uy, ell
    return found


def twist_jacobian(chain: Chain, q: np.ndarray) -> np.ndarray:
    """Return the twist of the tip per unit of each coordinate, (..., 6, n), velocity first."""
    n = q.shape[-1]
    x, frame = np.moveaxis(q, -1, 0), formulas.IDENTITY
    jacobian = np.zeros((n, 6) + q.shape[:-1])
    for i in range(chain.kinds.size):
        frame = formulas.advance(chain, i, x, frame, jacobian)
    formulas.move_to_tip(jacobian, n, frame)
    return np.moveaxis(jacobian, (0, 1), (-1, -2))


def section_poses(
    segment: Segment, columns: np.ndarray, start: np.ndarray, end: np.ndarray, q: np.ndarray
) -> np.ndarray:
    """Return poses (..., sections, 4, 4) of the ends of a segment's sections, in the base.

    Of a segment of hinges, the ends are the middles of its links. The last is at the segment's end
    without its rigid length.

    Args:
        segment: The segment.
        columns: The places of its coordinates in q.
        start: Pose (..., 4, 4) of its start in the base.
        end: Pose (..., 4, 4) of its end, with the rigid length.
        q: (..., n).
    """
    n, x = segment.sections, np.moveaxis(q, -1, 0)
    if segment.kind == 'torque':
        poses = _link_poses(segment, columns, start, q)[..., 1:, :, :]
    elif segment.kind == 'modal':
        lengths_m = segment.length_m * np.arange(1, n + 1) / n
        parts = [
            segment.model_copy(
                update={'length_m': length_m, 'rigid_length_m': 0.0, 'closing_twist': True}
            )
            for length_m in lengths_m
        ]
        chain = make_chain(parts, [columns] * n, np.zeros((2, q.shape[-1])))
        ends = [formulas.advance(chain, i, x, formulas.IDENTITY) for i in range(n)]
        local = np.stack([pcc.transforms(frame, x.shape[1:]) for frame in ends], axis=-3)
        poses = start[..., None, :, :] @ local
    else:
        chain = make_chain([segment], [columns], np.zeros((2, q.shape[-1])))
        shares = np.arange(1, n + 1)[:, None] / n
        poses = start[..., None, :, :] @ pcc.arc_transforms(arcs(chain, q) * shares)
    poses[..., -1, :, :] = end
    poses[..., -1, :3, 3] -= segment.rigid_length_m * end[..., :3, 2]
    return poses


def points_of_links(
    segment: TorqueSegment,
    columns: np.ndarray,
    start: np.ndarray,
    q: np.ndarray,
    shares: np.ndarray,
) -> np.ndarray:
    """Return points (..., m, 3) on the middle lines of a segment's links, in the base.

    Args:
        segment: The segment.
        columns: The places of its coordinates in q.
        start: Pose (..., 4, 4) of its start in the base.
        q: (..., n).
        shares: (m,) of its length at which the points are.
    """
    links = _link_poses(segment, columns, start, q)
    along = shares * segment.sections
    nearest = np.rint(along).astype(int)
    beside_m = (along - nearest) * segment.length_m / segment.sections
    links = links[..., nearest, :, :]
    return links[..., :3, 3] + beside_m[:, None] * links[..., :3, 2]


def _link_poses(
    segment: TorqueSegment, columns: np.ndarray, start: np.ndarray, q: np.ndarray
) -> np.ndarray:
    """Return poses (..., sections + 1, 4, 4) of the start and of the ends of the sections."""
    names = [c.name.removeprefix(f'{segment.name}_') for c in segment.coordinates]
    sections = [
        segment.model_copy(
            update={
                'sections': 1,
                'hinges': (hinge,),
                'length_m': segment.length_m / segment.sections,
                'rigid_length_m': 0.0,
            }
        )
        for hinge in segment.section_hinges
    ]
    of_sections = [
        columns[[names.index(hinge.name)] if hinge.actuated else []]
        for hinge in segment.section_hinges
    ]
    chain = make_chain(sections, of_sections, np.zeros((2, q.shape[-1])))
    start = start[..., None, :, :]
    return np.concatenate([start, start @ segment_poses(chain, q)], axis=-3)
