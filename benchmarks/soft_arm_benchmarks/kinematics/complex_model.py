"""Independent model of every segment kind for complex inputs, as a test oracle.

It shares no formula with `segments.formulas`. An arc of constant curvature is the exponential of
its constant twist, a power series of 4x4 matrices; a modal segment is integrated at other nodes.
Derivatives are complex steps f'(x) = Im f(x + i h) / h, without cancellation (W. Squire and G.
Trapp, Using complex variables to estimate derivatives of real functions, SIAM Review 40(1), 1998).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from soft_arm_description.segments import (
    BellowsSegment,
    ModalSegment,
    SingleBendSegment,
    TendonSegment,
    TorqueSegment,
)
from soft_arm_kinematics.arm import Arm

STEP = 1e-30  # share of a coordinate's range
_HALVINGS = 5  # twists up to 2 pi rad are divided by 2^5
_TERMS = 16  # of the series; its remainder is then below 1e-20
_MODAL_NODES = 48


def bends_and_ends(arm: Arm, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return bending vectors (..., s, 2) [rad] and T_base_tip (..., 4, 4) at q (..., n)."""
    pose, bends = np.eye(4), []
    for segment, columns in zip(arm.robot.segments, arm.columns, strict=True):
        bend, end = _PARTS[segment.kind](segment, q[..., columns])
        rigid = np.eye(4)
        rigid[2, 3] = segment.rigid_length_m
        pose = pose @ end @ rigid
        bends.append(bend)
    return np.stack(bends, axis=-2), pose


def complex_rows(arm: Arm, q: np.ndarray) -> np.ndarray:
    """Return q (n,) with a complex step on one coordinate in each row, (n, n)."""
    low, high = arm.q_limits
    return q + 1j * STEP * np.diag(high - low)


def complex_step_twist_jacobian(arm: Arm, q: np.ndarray) -> np.ndarray:
    """Return the twist Jacobian (6, n) at q (n,) by complex steps."""
    low, high = arm.q_limits
    _, poses = bends_and_ends(arm, complex_rows(arm, q))
    slopes = poses.imag / STEP / (high - low)[:, None, None]
    turn = slopes[:, :3, :3] @ poses[:, :3, :3].real.swapaxes(1, 2)  # dR R^T = [omega]
    return np.concatenate(
        [slopes[:, :3, 3], np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], axis=1)], axis=1
    ).T


def _arc_end(bend: np.ndarray, length_m: float | np.ndarray) -> np.ndarray:
    """Return the exponential of the twist (length e_z, (-u_y, u_x, 0))."""
    twist = np.zeros(bend.shape[:-1] + (4, 4), dtype=bend.dtype)
    twist[..., 0, 2], twist[..., 1, 2] = bend[..., 0], bend[..., 1]
    twist[..., 2, 0], twist[..., 2, 1] = -bend[..., 0], -bend[..., 1]
    twist[..., 2, 3] = length_m
    return _exponential(twist)


def _exponential(twist: np.ndarray) -> np.ndarray:
    """Return the exponential of 4x4 matrices, by its power series."""
    twist = twist / 2**_HALVINGS
    total = np.eye(4) + twist / _TERMS
    for k in range(_TERMS - 1, 0, -1):
        total = np.eye(4) + twist @ total / k
    for _ in range(_HALVINGS):
        total = total @ total
    return total


def _about_z(cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    turn = np.zeros(np.shape(cos) + (4, 4), dtype=np.asarray(cos).dtype)
    turn[..., 0, 0] = turn[..., 1, 1] = cos
    turn[..., 1, 0], turn[..., 0, 1] = sin, -sin
    turn[..., 2, 2] = turn[..., 3, 3] = 1.0
    return turn


def _bellows(segment: BellowsSegment, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    beta, h = np.asarray(segment.actuators.angles_rad), segment.actuators.centre_radius_m
    # L = ell - theta h cos(phi - beta)
    layout = np.stack([-h * np.cos(beta), -h * np.sin(beta), np.ones_like(beta)], axis=-1)
    arc = x @ np.linalg.solve(layout.T @ layout, layout.T).T
    bend = arc[..., :2]
    end = _arc_end(bend, arc[..., 2])
    if not segment.closing_twist:
        theta = np.sqrt(bend[..., 0] ** 2 + bend[..., 1] ** 2)
        end = end @ _about_z(bend[..., 0] / theta, bend[..., 1] / theta)
    return bend, end


def _planar_bend(
    segment: SingleBendSegment | ModalSegment, theta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    direction = np.array([np.cos(segment.phi_rad), np.sin(segment.phi_rad)])
    last = np.eye(4) if segment.closing_twist else _about_z(*direction)
    return theta[..., None] * direction, last


def _single_bend(segment: SingleBendSegment, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    share = x[..., 0] / segment.pressure_unit_pa
    theta = np.polynomial.polynomial.polyval(share, segment.theta_coefficients_rad)
    bend, last = _planar_bend(segment, theta)
    return bend, _arc_end(bend, segment.length_m) @ last


def _tendon(segment: TendonSegment, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    cos, sin = np.cos(x[..., 1]), np.sin(x[..., 1])
    bend = x[..., :1] * np.stack([cos, sin], axis=-1)
    end = _arc_end(bend, x[..., 2])
    return bend, end if segment.closing_twist else end @ _about_z(cos, sin)


def _modal(segment: ModalSegment, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    coefficients = np.asarray(segment.coefficients_rad)
    eta = (x / segment.pressure_unit_pa) ** np.arange(coefficients.shape[1])

    def theta(s_m: np.ndarray) -> np.ndarray:
        psi = (s_m[:, None] / segment.length_unit_m) ** np.arange(len(coefficients))
        return eta @ (psi @ coefficients).T

    nodes, weights = np.polynomial.legendre.leggauss(_MODAL_NODES)
    nodes = np.concatenate([nodes - 1.0, nodes + 1.0]) / 4.0 + 0.5  # on both halves of [0, 1]
    weights = np.concatenate([weights, weights]) / 4.0
    angles = theta(nodes * segment.length_m)
    bend, last = _planar_bend(segment, theta(np.array([segment.length_m]))[..., 0])
    end = _arc_end(bend, 0.0)
    sideways = np.sin(angles) @ weights * segment.length_m
    end[..., :2, 3] = sideways[..., None] * [np.cos(segment.phi_rad), np.sin(segment.phi_rad)]
    end[..., 2, 3] = np.cos(angles) @ weights * segment.length_m
    return bend, end @ last


def _torque(segment: TorqueSegment, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    names = [c.name.removeprefix(f'{segment.name}_') for c in segment.coordinates]
    bend, pose = np.zeros((*x.shape[:-1], 2), dtype=x.dtype), np.eye(4)
    half = np.eye(4)
    half[2, 3] = segment.length_m / segment.sections / 2.0
    for hinge in segment.section_hinges:
        angle = np.full(x.shape[:-1], hinge.neutral_rad, dtype=x.dtype)
        if hinge.actuated:
            angle = angle + x[..., names.index(hinge.name)] / hinge.stiffness_n_m_rad
        low, high = hinge.limits_rad or (-np.inf, np.inf)
        angle = np.where(angle.real < low, low, np.where(angle.real > high, high, angle))
        axis, place = hinge.unit_axis, np.array(hinge.offset_m)
        screw = np.zeros((4, 4))  # rotation about an axis through the offset
        screw[:3, :3] = np.cross(np.eye(3), axis)
        screw[:3, 3] = np.cross(place, axis)
        pose = pose @ half @ _exponential(angle[..., None, None] * screw) @ half
        bend = bend + angle[..., None] * np.array([axis[1], -axis[0]])
    return bend, pose


_PARTS: dict[str, Callable[[Any, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    'bellows': _bellows,
    'single_bend': _single_bend,
    'tendon': _tendon,
    'modal': _modal,
    'torque': _torque,
}
