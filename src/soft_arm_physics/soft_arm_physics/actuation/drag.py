"""Drag of a medium at rest on limbs and bodies: forces at points that move with bodies.

Along each axis of a body the force is -(linear + quadratic |v|) v. On a piece of a limb, |v| is the
speed across the limb's axis for the two axes across, and the speed along it for the third: the
cross-flow principle. On a compact body it is the whole speed.
"""

from typing import NamedTuple

import numpy as np

from soft_arm_kinematics.backends.machine_code import njit


class Drag(NamedTuple):
    """Points at which a medium brakes, m of them.

    Attributes:
        body, root: Body and root of its tree, (m,).
        arm_m: Point in the body's frame, from its centre of mass [m], (m, 3).
        linear: Factors of velocity [N s/m] and angular velocity [N m s/rad] about the body's axes,
            (m, 6).
        quadratic: Factors of their squares [N s^2/m^2], [N m s^2/rad^2], (m, 6).
        slender: Whether the point belongs to a limb along the body's z axis, (m,).
    """

    body: np.ndarray
    root: np.ndarray
    arm_m: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray
    slender: np.ndarray


@njit(cache=True, nogil=True)
def add_drag(
    drag: Drag,
    com_m: np.ndarray,
    rotation: np.ndarray,
    tree_com_m: np.ndarray,
    velocity: np.ndarray,
    wrench: np.ndarray,
) -> None:
    """Add the drag to forces and torques on bodies at their centres of mass, in place.

    Args:
        drag: The points.
        com_m, rotation: Centres of mass (nbody, 3) and orientations (nbody, 9) in the world.
        tree_com_m: Centres of mass of the bodies with what they carry, (nbody, 3).
        velocity: Angular velocity, and velocity of the body at the centre of mass of its tree,
            (nbody, 6): MuJoCo's `cvel`.
        wrench: Result: forces and torques in the world, (nbody, 6).
    """
    arm, v, f, t = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    for i in range(len(drag.body)):
        body, origin = drag.body[i], tree_com_m[drag.root[i]]
        R, w, given = rotation[body], velocity[body], drag.arm_m[i]
        for k in range(3):
            arm[k] = R[3 * k] * given[0] + R[3 * k + 1] * given[1] + R[3 * k + 2] * given[2]
            f[k] = com_m[body, k] + arm[k] - origin[k]  # lever
        v[0] = w[3] + w[1] * f[2] - w[2] * f[1]
        v[1] = w[4] + w[2] * f[0] - w[0] * f[2]
        v[2] = w[5] + w[0] * f[1] - w[1] * f[0]
        vx = R[0] * v[0] + R[3] * v[1] + R[6] * v[2]
        vy = R[1] * v[0] + R[4] * v[1] + R[7] * v[2]
        vz = R[2] * v[0] + R[5] * v[1] + R[8] * v[2]
        across = np.sqrt(vx * vx + vy * vy)
        along = abs(vz)
        if not drag.slender[i]:
            across = along = np.sqrt(vx * vx + vy * vy + vz * vz)
        a, b = drag.linear[i], drag.quadratic[i]
        fx, fy = -(a[0] + b[0] * across) * vx, -(a[1] + b[1] * across) * vy
        fz = -(a[2] + b[2] * along) * vz
        wx = R[0] * w[0] + R[3] * w[1] + R[6] * w[2]
        wy = R[1] * w[0] + R[4] * w[1] + R[7] * w[2]
        wz = R[2] * w[0] + R[5] * w[1] + R[8] * w[2]
        tx, ty = -(a[3] + b[3] * abs(wx)) * wx, -(a[4] + b[4] * abs(wy)) * wy
        tz = -(a[5] + b[5] * abs(wz)) * wz
        for k in range(3):
            f[k] = R[3 * k] * fx + R[3 * k + 1] * fy + R[3 * k + 2] * fz
            t[k] = R[3 * k] * tx + R[3 * k + 1] * ty + R[3 * k + 2] * tz
            wrench[body, k] += f[k]
        wrench[body, 3] += t[0] + arm[1] * f[2] - arm[2] * f[1]
        wrench[body, 4] += t[1] + arm[2] * f[0] - arm[0] * f[2]
        wrench[body, 5] += t[2] + arm[0] * f[1] - arm[1] * f[0]
