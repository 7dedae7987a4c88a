"""Batched forward kinematics in compiled loops: the same poses as `Arm.fk`, at the speed of the machine.

Poses are worked on in blocks, each quantity of a block in an array of its own, so that the compiler
makes vector instructions of every loop. Sine and cosine would stop it: for bends up to one turn the
functions of theta are polynomials of half the angle.

Imported only where many poses are wanted, because loading the compiler takes longer than answering
one pose.
"""

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import prange

from soft_arm_kinematics.backends.compiled_model import (
    BELLOWS,
    MODAL,
    SINGLE_BEND,
    TENDON,
    compiled_arm,
)
from soft_arm_kinematics.backends.compiled_series import polynomials
from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments.pcc import STRAIGHT_RAD

if TYPE_CHECKING:  # its sources are no part of what is compiled
    from soft_arm_kinematics.arm import Arm

_BLOCK = 128  # poses; a block's arrays stay in the first-level cache
_LARGEST_SQUARED_BEND = (
    4.0 * math.pi**2
)  # theta^2 [rad^2] up to which the polynomials below are exact to round-off
_TERMS = 14
_FAST = {'contract', 'nsz', 'arcp'}  # reorderings that keep NaN and infinity


_half_angle = polynomials(
    fastmath=_FAST, series=[(1, _TERMS), (0, _TERMS)]
)  # sin(t) / t and cos(t) of y = t^2


@njit(inline='always')
def _arcs_of_block(model, i, x, count, arc, turn, end):
    """Segment i: bending vector and length in arc (3, block), the open twist's cos and sin in turn; end (3, block) where modal."""
    first = model.firsts[i]
    if model.kinds[i] == BELLOWS:
        arc[:] = 0.0
        for j in range(model.counts[i]):
            m0, m1, m2 = (
                model.arc_matrices[i, 0, j],
                model.arc_matrices[i, 1, j],
                model.arc_matrices[i, 2, j],
            )
            for k in range(count):
                arc[0, k] += m0 * x[first + j, k]
                arc[1, k] += m1 * x[first + j, k]
                arc[2, k] += m2 * x[first + j, k]
        if not model.twists[i]:
            for k in range(count):
                theta = math.sqrt(arc[0, k] * arc[0, k] + arc[1, k] * arc[1, k])
                straight = theta < STRAIGHT_RAD
                turn[0, k] = 1.0 if straight else arc[0, k] / theta
                turn[1, k] = 0.0 if straight else arc[1, k] / theta
    elif model.kinds[i] == TENDON:
        for k in range(count):
            turn[0, k], turn[1, k] = math.cos(x[first + 1, k]), math.sin(x[first + 1, k])
            arc[0, k], arc[1, k], arc[2, k] = (
                x[first, k] * turn[0, k],
                x[first, k] * turn[1, k],
                x[first + 2, k],
            )
    else:
        cos, sin = model.directions[i, 0], model.directions[i, 1]
        turn[0], turn[1] = cos, sin
        for k in range(count):
            p = x[first, k]
            if model.kinds[i] == SINGLE_BEND:
                c = model.theta_coefficients[i]
                theta = c[0] + p * (c[1] + p * (c[2] + p * c[3]))
            else:
                along, sideways, nodes = 0.0, 0.0, model.weights_m.shape[1]
                theta = 0.0
                for node in range(nodes + 1):
                    theta = 0.0
                    for w in range(model.node_coefficients.shape[2] - 1, -1, -1):
                        theta = theta * p + model.node_coefficients[i, node, w]
                    if node < nodes:
                        along += model.weights_m[i, node] * math.cos(theta)
                        sideways += model.weights_m[i, node] * math.sin(theta)
                end[0, k], end[1, k], end[2, k] = sideways * cos, sideways * sin, along
            arc[0, k], arc[1, k], arc[2, k] = theta * cos, theta * sin, model.lengths_m[i]


@njit(cache=True, parallel=True, fastmath=_FAST, error_model='numpy')
def _poses(model, actuation, poses):
    segments, n, total = model.kinds.size, actuation.shape[1], actuation.shape[0]
    for block in prange((total + _BLOCK - 1) // _BLOCK):
        start = block * _BLOCK
        count = min(_BLOCK, total - start)
        x, arc, turn, end = (
            np.empty((n, _BLOCK)),
            np.empty((3, _BLOCK)),
            np.empty((2, _BLOCK)),
            np.empty((3, _BLOCK)),
        )
        a, b, t = (
            np.empty(_BLOCK),
            np.empty(_BLOCK),
            np.zeros((12, _BLOCK)),
        )  # t: columns x, y, z of the rotation, position
        t[0], t[4], t[8] = 1.0, 1.0, 1.0
        for j in range(n):
            for k in range(count):
                x[j, k] = actuation[start + k, j]
        for i in range(segments):
            _arcs_of_block(model, i, x, count, arc, turn, end)
            beyond = 0
            for k in range(count):
                theta2 = arc[0, k] * arc[0, k] + arc[1, k] * arc[1, k]
                beyond += theta2 > _LARGEST_SQUARED_BEND
                half, cos_half = _half_angle(0.25 * theta2)
                a[k], b[k] = half * cos_half, 0.5 * half * half
            if beyond > 0:
                for k in range(count):
                    theta2 = arc[0, k] * arc[0, k] + arc[1, k] * arc[1, k]
                    if theta2 > 1.0:
                        theta = math.sqrt(theta2)
                        a[k], b[k] = math.sin(theta) / theta, (1.0 - math.cos(theta)) / theta2
            if model.kinds[i] != MODAL:
                for k in range(count):
                    end[0, k], end[1, k], end[2, k] = (
                        arc[2, k] * b[k] * arc[0, k],
                        arc[2, k] * b[k] * arc[1, k],
                        arc[2, k] * a[k],
                    )
            rigid = model.rigid_m[i]
            for k in range(count):
                ux, uy = arc[0, k], arc[1, k]
                dx, dy, dz = (
                    a[k] * ux,
                    a[k] * uy,
                    1.0 - b[k] * (ux * ux + uy * uy),
                )  # the end's axis
                ex, ey, ez = end[0, k] + rigid * dx, end[1, k] + rigid * dy, end[2, k] + rigid * dz
                for r in range(3):
                    tx, ty, tz = t[r, k], t[3 + r, k], t[6 + r, k]
                    t[9 + r, k] += tx * ex + ty * ey + tz * ez
                    s = b[k] * (ux * tx + uy * ty) + a[k] * tz
                    t[6 + r, k] = dx * tx + dy * ty + dz * tz
                    t[r, k], t[3 + r, k] = tx - ux * s, ty - uy * s
            if not model.twists[i]:
                for k in range(count):
                    for r in range(3):
                        tx, ty = t[r, k], t[3 + r, k]
                        t[r, k], t[3 + r, k] = (
                            turn[0, k] * tx + turn[1, k] * ty,
                            turn[0, k] * ty - turn[1, k] * tx,
                        )
        for k in range(count):
            pose = poses[start + k]
            for r in range(3):
                pose[r, 0], pose[r, 1], pose[r, 2], pose[r, 3] = (
                    t[r, k],
                    t[3 + r, k],
                    t[6 + r, k],
                    t[9 + r, k],
                )
            pose[3, 0], pose[3, 1], pose[3, 2], pose[3, 3] = 0.0, 0.0, 0.0, 1.0


def fk_batch(
    arm: 'Arm', actuation: np.ndarray, out: np.ndarray | None = None, device: str | None = None
) -> np.ndarray:
    """T_base_tip of many actuation vectors, on all cores.

    Args:
        arm: The arm, of any kinds.
        actuation: (..., n), lengths [m] for bellows; `Robot.actuation` in general. Values are not checked: NaN gives NaN.
        out: (m, 4, 4) float64, contiguous, m = the product of the leading shape, to write into. A new array of a million poses costs
            as much as filling it, because the system hands out its pages one by one.
        device: `cpu`, `cuda`, ... to work through torch in float64; the compiled loops where None.

    Returns:
        Poses (..., 4, 4).

    Raises:
        KinematicsError: If a shape is wrong, or the device cannot be had.
    """
    actuation = np.ascontiguousarray(actuation, dtype=float)
    if actuation.shape[-1:] != (arm.n_actuators,):
        raise KinematicsError(
            f'actuation of shape {actuation.shape}: give {arm.n_actuators} values, one for each of '
            f'{", ".join(c.name for c in arm.robot.actuation)}'
        )
    shape, rows = actuation.shape[:-1], actuation.reshape(-1, arm.n_actuators)
    poses = np.empty((len(rows), 4, 4)) if out is None else out
    if (
        poses.shape != (len(rows), 4, 4)
        or poses.dtype != np.float64
        or not poses.flags.c_contiguous
    ):
        raise KinematicsError(
            f'out of shape {poses.shape} and type {poses.dtype}: give a contiguous float64 array ({len(rows)}, 4, 4)'
        )
    if device is None:
        _poses(compiled_arm(arm), rows, poses)
    else:
        from soft_arm_kinematics.backends.torch_batch import fk, tensor  # takes seconds

        poses[:] = fk(arm.chain, tensor(rows, device)).cpu().numpy()
    return poses.reshape(*shape, 4, 4)
