"""Batched forward kinematics in compiled loops: the same poses as `Arm.fk_lengths`, at the speed of the machine.

Imported only where many poses are wanted, because loading the compiler takes longer than answering one pose.
"""

import numpy as np
from numba import njit, prange

from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.pcc import STRAIGHT_RAD


@njit(cache=True, inline='always')
def _bend(theta2):
    """A = sin t / t and B = (1 - cos t) / t^2, as in `pcc.bend_functions`."""
    if theta2 < 1e-2:
        a = 1.0 - theta2 / 6.0 * (1.0 - theta2 / 20.0 * (1.0 - theta2 / 42.0 * (1.0 - theta2 / 72.0 * (1.0 - theta2 / 110.0))))
        b = 0.5 * (1.0 - theta2 / 12.0 * (1.0 - theta2 / 30.0 * (1.0 - theta2 / 56.0 * (1.0 - theta2 / 90.0 * (1.0 - theta2 / 132.0)))))
        return a, b
    theta = np.sqrt(theta2)
    return np.sin(theta) / theta, (1.0 - np.cos(theta)) / theta2


@njit(cache=True, parallel=True)
def _poses(lengths, matrix, twists, rigid, poses):
    segments, actuators = twists.size, matrix.shape[1]
    for m in prange(lengths.shape[0]):
        xx, xy, xz, yx, yy, yz, zx, zy, zz = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0  # columns x, y, z of the rotation
        px, py, pz = 0.0, 0.0, 0.0
        for i in range(segments):
            ux, uy, ell = 0.0, 0.0, 0.0
            for j in range(actuators):
                length = lengths[m, j]
                ux += matrix[3 * i, j] * length
                uy += matrix[3 * i + 1, j] * length
                ell += matrix[3 * i + 2, j] * length
            theta2 = ux * ux + uy * uy
            a, b = _bend(theta2)
            dx, dy, dz = a * ux, a * uy, 1.0 - b * theta2  # the arc's end axis
            ex, ey, ez = ell * b * ux, ell * b * uy, ell * a  # the arc's end point
            px += xx * ex + yx * ey + zx * ez
            py += xy * ex + yy * ey + zy * ez
            pz += xz * ex + yz * ey + zz * ez
            # new x = x - u_x (b (u_x x + u_y y) + a z), likewise y; new z = d
            sx, sy, sz = (b * (ux * xx + uy * yx) + a * zx), (b * (ux * xy + uy * yy) + a * zy), (b * (ux * xz + uy * yz) + a * zz)
            zx, zy, zz = dx * xx + dy * yx + dz * zx, dx * xy + dy * yy + dz * zy, dx * xz + dy * yz + dz * zz
            xx, xy, xz = xx - ux * sx, xy - ux * sy, xz - ux * sz
            yx, yy, yz = yx - uy * sx, yy - uy * sy, yz - uy * sz
            if not twists[i]:
                theta = np.sqrt(theta2)
                cos, sin = (ux / theta, uy / theta) if theta >= STRAIGHT_RAD else (1.0, 0.0)
                xx, yx = cos * xx + sin * yx, cos * yx - sin * xx
                xy, yy = cos * xy + sin * yy, cos * yy - sin * xy
                xz, yz = cos * xz + sin * yz, cos * yz - sin * xz
            px, py, pz = px + rigid[i] * zx, py + rigid[i] * zy, pz + rigid[i] * zz
        poses[m, 0, 0], poses[m, 0, 1], poses[m, 0, 2], poses[m, 0, 3] = xx, yx, zx, px
        poses[m, 1, 0], poses[m, 1, 1], poses[m, 1, 2], poses[m, 1, 3] = xy, yy, zy, py
        poses[m, 2, 0], poses[m, 2, 1], poses[m, 2, 2], poses[m, 2, 3] = xz, yz, zz, pz
        poses[m, 3, 0], poses[m, 3, 1], poses[m, 3, 2], poses[m, 3, 3] = 0.0, 0.0, 0.0, 1.0


def fk_batch(arm: Arm, lengths_m: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """T_base_tip of many length vectors.

    Args:
        arm: The arm.
        lengths_m: (m, n) [m].
        out: (m, 4, 4) float64 to write into, for callers that come again.

    Returns:
        Poses (m, 4, 4).
    """
    lengths_m = np.ascontiguousarray(lengths_m, dtype=float)
    poses = np.empty((lengths_m.shape[0], 4, 4)) if out is None else out
    _poses(lengths_m, arm.arcs_from_lengths_matrix, np.array(arm.closing_twists), arm.rigid_lengths_m, poses)
    return poses
