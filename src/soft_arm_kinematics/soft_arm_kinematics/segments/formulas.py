"""Every kind of segment and the chain of segments, defined once as plain functions of numbers.

A number is a float, a NumPy array, a torch tensor, or, where this module is compiled, a vector of
the processor: `derived` gives the same functions for another library. Everything else that computes
poses and Jacobians calls these functions.

A segment's end is bent by the vector u = theta (cos phi, sin phi) [rad]. Its rotation is, with A =
sin(theta) / theta and B = (1 - cos(theta)) / theta^2,

    R = I + A [w] + B [w]^2,   w = (-u_y, u_x, 0).

An arc of constant curvature and length ell ends at p = ell (B u_x, B u_y, A); a modal segment ends
at the integral of its tangent. In these coordinates everything is smooth through theta = 0. Without
the closing twist (gripper paper) R is followed by Rz(phi): its direction about z is then undefined
at theta = 0, where phi = 0 is taken for bellows. The other kinds know their phi, whatever the sign
of their bend.

A segment of hinges is the product of its hinges' rotations (SoMo). Its u is the sum of the hinges'
rotation vectors, which equals the rotation vector of its end while all bend in one plane.

Sources: soft arm with 3-D vision, section 2 (bellows, closing twist); gripper digital twin, (4)-(8)
(single bends, no closing twist); modal kinematics, (1)-(9) and (26)-(29) (modal); squid limbs
(tendons). The derivatives are the left Jacobian of the rotation group.
"""

import math
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any, TypeAlias

import numpy as xp

Number: TypeAlias = Any  # a float, an array, a tensor or a vector
Numbers: TypeAlias = Any  # of them, or of plain numbers, by index
Chain: TypeAlias = Any  # `chain.Chain` or its like
Frame: TypeAlias = tuple[Number, ...]  # 12 numbers: axes x, y and z, and origin [m]
BELLOWS, SINGLE_BEND, MODAL, TENDON, TORQUE = range(5)
STRAIGHT_RAD = 1e-12  # bend below which its direction is rounding noise and phi = 0 is taken
SERIES_BELOW = 1.0  # theta^2 [rad^2] below which C and D are summed as series
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)  # frame of the base
_TINY = 1e-300
_C = tuple((-1.0) ** k / math.factorial(2 * k + 3) for k in range(9))
_D = tuple((-1.0) ** k / math.factorial(2 * k + 4) for k in range(9))


def derived(library: Any, decorate: Callable = lambda function: function) -> SimpleNamespace:
    """Return these functions with the elementary functions of another library, each decorated."""
    scope = dict(globals(), xp=library)
    for name, value in globals().items():
        if isinstance(value, FunctionType) and value.__module__ == __name__:
            scope[name] = decorate(
                FunctionType(value.__code__, scope, name, value.__defaults__, value.__closure__)
            )
    return SimpleNamespace(**scope)


def polynomial(coefficients: Numbers, x: Number) -> tuple[Number, Number]:
    """Value and slope of a polynomial with coefficients of rising powers, by Horner's rule."""
    value, slope = 0.0 * x + coefficients[len(coefficients) - 1], 0.0 * x
    for power in range(len(coefficients) - 2, -1, -1):
        slope = slope * x + value
        value = value * x + coefficients[power]
    return value, slope


def bend_functions(theta2: Number) -> tuple[Number, Number]:
    """A and B of theta^2 [rad^2]; through the half angle, nothing cancels at any bend."""
    half = 0.5 * xp.sqrt(theta2 + _TINY)
    sinc = xp.sin(half) / half
    return sinc * xp.cos(half), 0.5 * sinc * sinc


def bend_derivatives(theta2: Number, a: Number, b: Number) -> tuple[Number, Number, Number]:
    """C = (1 - A) / theta^2, dA = (dA/dtheta) / theta and dB = (dB/dtheta) / theta."""
    c, _ = polynomial(_C, theta2)
    d, _ = polynomial(_D, theta2)
    near = theta2 < SERIES_BELOW
    c = xp.where(near, c, (1.0 - a) / (theta2 + _TINY))
    d = xp.where(near, d, (0.5 - b) / (theta2 + _TINY))
    return c, c - b, 2.0 * d - c


def modal_end(
    node_coefficients: Numbers, weights_m: Numbers, pressure_pa: Number
) -> tuple[Number, Number, Number, Number]:
    """Integrate the tangent (sin theta, cos theta) of a modal segment by Gauss-Legendre quadrature.

    Args:
        node_coefficients: Polynomial in the pressure of the tangent's angle at each node.
        weights_m: Weight of each node [m].
        pressure_pa: Pressure [Pa].

    Returns:
        Position sideways and along [m], and their derivatives by the pressure [m/Pa].
    """
    sideways = along = sideways_slope = along_slope = 0.0 * pressure_pa
    for node in range(len(weights_m)):
        theta, slope = polynomial(node_coefficients[node], pressure_pa)
        sin, cos = weights_m[node] * xp.sin(theta), weights_m[node] * xp.cos(theta)
        sideways, along = sideways + sin, along + cos
        sideways_slope, along_slope = sideways_slope + cos * slope, along_slope - sin * slope
    return sideways, along, sideways_slope, along_slope


def hinge(chain: Chain, i: int, k: int, x: Numbers) -> tuple[Number, Number]:
    """Angle [rad] of hinge k of segment i without load, and its slope by its torque [rad/(N m)].

    It is neutral + torque / stiffness, and stops at its limits.
    """
    neutral, compliance = chain.hinges[i, k, 6], chain.hinges[i, k, 7]
    low, high = chain.hinges[i, k, 8], chain.hinges[i, k, 9]
    angle = x[chain.hinge_columns[i, k]] * compliance + neutral
    stopped = 0.0 * angle
    free = stopped + compliance
    slope = xp.where(angle < low, stopped, xp.where(angle > high, stopped, free))
    angle = xp.where(angle < low, stopped + low, xp.where(angle > high, stopped + high, angle))
    return angle, slope


def advance_hinges(
    chain: Chain, i: int, x: Numbers, frame: Frame, jacobian: Numbers | None
) -> Frame:
    """Frame at the end of a segment of hinges; as `advance`."""
    length = chain.lengths_m[i] / chain.hinge_counts[i]
    for k in range(chain.hinge_counts[i]):
        ax, ay, az = chain.hinges[i, k, 0], chain.hinges[i, k, 1], chain.hinges[i, k, 2]
        ox, oy, oz = chain.hinges[i, k, 3], chain.hinges[i, k, 4], chain.hinges[i, k, 5]
        angle, slope = hinge(chain, i, k, x)
        frame = moved(frame, ox, oy, oz + 0.5 * length)
        px, py, pz = frame[9], frame[10], frame[11]
        if jacobian is not None:
            wx, wy, wz = directed(frame, ax, ay, az)
            wx, wy, wz = slope * wx, slope * wy, slope * wz
            row = chain.hinge_columns[i, k]
            jacobian[row, 0] = jacobian[row, 0] + py * wz - pz * wy
            jacobian[row, 1] = jacobian[row, 1] + pz * wx - px * wz
            jacobian[row, 2] = jacobian[row, 2] + px * wy - py * wx
            jacobian[row, 3] = jacobian[row, 3] + wx
            jacobian[row, 4] = jacobian[row, 4] + wy
            jacobian[row, 5] = jacobian[row, 5] + wz
        half = xp.sin(0.5 * angle)
        sin, versine = 2.0 * half * xp.cos(0.5 * angle), 2.0 * half * half
        xy, xz, yz = versine * (ax * ay), versine * (ax * az), versine * (ay * az)
        xx, yy, zz = versine * (ax * ax), versine * (ay * ay), versine * (az * az)
        x_axis = directed(frame, 1.0 - yy - zz, xy + sin * az, xz - sin * ay)
        y_axis = directed(frame, xy - sin * az, 1.0 - xx - zz, yz + sin * ax)
        z_axis = directed(frame, xz + sin * ay, yz - sin * ax, 1.0 - xx - yy)
        frame = x_axis + y_axis + z_axis + (px, py, pz)
        frame = moved(frame, -ox, -oy, 0.5 * length - oz)
    return moved(frame, 0.0, 0.0, chain.rigid_m[i])


def bend(chain: Chain, i: int, x: Numbers) -> tuple[Number, Number, Number, Number, Number]:
    """Return u_x, u_y [rad], the length [m], and cos and sin of phi of segment i at q = x."""
    first = chain.firsts[i]
    if chain.kinds[i] == BELLOWS:
        matrix = chain.arc_matrices[i]
        ux, uy, ell = x[first] * matrix[0, 0], x[first] * matrix[1, 0], x[first] * matrix[2, 0]
        for j in range(1, chain.counts[i]):
            ux = ux + x[first + j] * matrix[0, j]
            uy = uy + x[first + j] * matrix[1, j]
            ell = ell + x[first + j] * matrix[2, j]
        if chain.twists[i]:
            return ux, uy, ell, 1.0, 0.0  # phi has no effect
        theta = xp.sqrt(ux * ux + uy * uy)
        straight = theta < STRAIGHT_RAD
        return (
            ux,
            uy,
            ell,
            xp.where(straight, 1.0, ux / (theta + _TINY)),
            xp.where(straight, 0.0, uy / (theta + _TINY)),
        )
    if chain.kinds[i] == TENDON:
        cos, sin = xp.cos(x[first + 1]), xp.sin(x[first + 1])
        return x[first] * cos, x[first] * sin, x[first + 2], cos, sin
    if chain.kinds[i] == TORQUE:
        ux = uy = 0.0 * x[first]
        for k in range(chain.hinge_counts[i]):
            angle, _ = hinge(chain, i, k, x)
            ux, uy = ux + angle * chain.hinges[i, k, 1], uy - angle * chain.hinges[i, k, 0]
        return ux, uy, chain.lengths_m[i], 1.0, 0.0
    theta, _ = polynomial(chain.angle_coefficients[i], x[first])
    cos, sin = chain.directions[i, 0], chain.directions[i, 1]
    return theta * cos, theta * sin, chain.lengths_m[i], cos, sin


def bend_slope(chain: Chain, i: int, j: int, x: Numbers) -> tuple[Number, Number, Number, Number]:
    """Derivatives of u_x, u_y, the length and phi of segment i by its j-th coordinate.

    The derivative of phi holds for tendons; `twists` adds the term of bellows.
    """
    first = chain.firsts[i]
    if chain.kinds[i] == BELLOWS:
        matrix = chain.arc_matrices[i]
        return matrix[0, j], matrix[1, j], matrix[2, j], 0.0
    if chain.kinds[i] == TENDON:
        cos, sin = xp.cos(x[first + 1]), xp.sin(x[first + 1])
        if j == 0:
            return cos, sin, 0.0, 0.0
        if j == 1:
            return -x[first] * sin, x[first] * cos, 0.0, 1.0
        return 0.0, 0.0, 1.0, 0.0
    if chain.kinds[i] == TORQUE:
        gx = gy = 0.0 * x[first]
        for k in range(chain.hinge_counts[i]):
            if chain.hinge_columns[i, k] == first + j:
                _, slope = hinge(chain, i, k, x)
                gx, gy = gx + slope * chain.hinges[i, k, 1], gy - slope * chain.hinges[i, k, 0]
        return gx, gy, 0.0, 0.0
    _, slope = polynomial(chain.angle_coefficients[i], x[first])
    return slope * chain.directions[i, 0], slope * chain.directions[i, 1], 0.0, 0.0


def directed(frame: Frame, x: Number, y: Number, z: Number) -> tuple[Number, Number, Number]:
    """Components in the base of the vector (x, y, z) of a frame."""
    return (
        frame[0] * x + frame[3] * y + frame[6] * z,
        frame[1] * x + frame[4] * y + frame[7] * z,
        frame[2] * x + frame[5] * y + frame[8] * z,
    )


def moved(frame: Frame, x: Number, y: Number, z: Number) -> Frame:
    """Frame moved by the vector (x, y, z) in its own axes [m]."""
    dx, dy, dz = directed(frame, x, y, z)
    return frame[:9] + (frame[9] + dx, frame[10] + dy, frame[11] + dz)


def advance(
    chain: Chain, i: int, x: Numbers, frame: Frame, jacobian: Numbers | None = None
) -> Frame:
    """Frame at the end of segment i that starts at a frame.

    Args:
        chain: `chain.Chain`.
        i: Number of the segment.
        x: Actuation: x[j] is the number of coordinate j.
        frame: 12 numbers in the base: the frame's x, y and z axes, and its origin [m].
        jacobian: None, or an array with entries [j, r]; the twists of the segment's end, taken as
            velocity at the base's origin and angular velocity per unit of coordinate j, are added.

    Returns:
        12 numbers.
    """
    if chain.kinds[i] == TORQUE:
        return advance_hinges(chain, i, x, frame, jacobian)
    ux, uy, ell, cos, sin = bend(chain, i, x)
    theta2 = ux * ux + uy * uy
    a, b = bend_functions(theta2)
    if chain.kinds[i] == MODAL:
        first = chain.firsts[i]
        sideways, pz, sideways_slope, along_slope = modal_end(
            chain.node_coefficients[i], chain.weights_m[i], x[first]
        )
        px, py = sideways * cos, sideways * sin
        qx, qy, qz = sideways_slope * cos, sideways_slope * sin, along_slope
    else:
        px, py, pz = ell * b * ux, ell * b * uy, ell * a
        qx = qy = qz = 0.0 * a
    ex, ey, ez = directed(frame, px, py, pz)
    ex, ey, ez = ex + frame[9], ey + frame[10], ez + frame[11]
    dx, dy, dz = a * ux, a * uy, 1.0 - b * theta2
    if jacobian is not None:
        c, da, db = bend_derivatives(theta2, a, b)
        for j in range(chain.counts[i]):
            gx, gy, gl, spin = bend_slope(chain, i, j, x)
            along, across = ux * gx + uy * gy, ux * gy - uy * gx
            if chain.twists[i]:
                spin = 0.0
            elif chain.kinds[i] == BELLOWS:
                spin = xp.where(theta2 < STRAIGHT_RAD**2, 0.0, across / (theta2 + _TINY))
            if chain.kinds[i] == MODAL:
                vx, vy, vz = qx, qy, qz
            else:
                stretch = ell * db * along + b * gl
                vx, vy = ell * b * gx + stretch * ux, ell * b * gy + stretch * uy
                vz = ell * da * along + a * gl
            turn = c * across
            wx, wy = turn * ux - gy + spin * dx, turn * uy + gx + spin * dy
            wz = b * across + spin * dz
            vx, vy, vz = directed(frame, vx, vy, vz)
            wx, wy, wz = directed(frame, wx, wy, wz)
            row = chain.firsts[i] + j
            jacobian[row, 0] = jacobian[row, 0] + vx - (wy * ez - wz * ey)
            jacobian[row, 1] = jacobian[row, 1] + vy - (wz * ex - wx * ez)
            jacobian[row, 2] = jacobian[row, 2] + vz - (wx * ey - wy * ex)
            jacobian[row, 3] = jacobian[row, 3] + wx
            jacobian[row, 4] = jacobian[row, 4] + wy
            jacobian[row, 5] = jacobian[row, 5] + wz
    sx, sy, sz = directed(frame, b * ux, b * uy, a)
    zx, zy, zz = directed(frame, dx, dy, dz)
    xx, xy, xz = frame[0] - ux * sx, frame[1] - ux * sy, frame[2] - ux * sz
    yx, yy, yz = frame[3] - uy * sx, frame[4] - uy * sy, frame[5] - uy * sz
    if not chain.twists[i]:
        xx, yx = xx * cos + yx * sin, yx * cos - xx * sin
        xy, yy = xy * cos + yy * sin, yy * cos - xy * sin
        xz, yz = xz * cos + yz * sin, yz * cos - xz * sin
    rigid = chain.rigid_m[i]
    return (xx, xy, xz, yx, yy, yz, zx, zy, zz, ex + zx * rigid, ey + zy * rigid, ez + zz * rigid)


def move_to_tip(jacobian: Numbers, count: int, frame: Frame) -> None:
    """Turn velocities at the base's origin into velocities of the tip, for so many coordinates."""
    for j in range(count):
        wx, wy, wz = jacobian[j, 3], jacobian[j, 4], jacobian[j, 5]
        jacobian[j, 0] = jacobian[j, 0] + wy * frame[11] - wz * frame[10]
        jacobian[j, 1] = jacobian[j, 1] + wz * frame[9] - wx * frame[11]
        jacobian[j, 2] = jacobian[j, 2] + wx * frame[10] - wy * frame[9]


def ik_penalties(chain: Chain, x: Numbers, present: Numbers) -> tuple[Number, Number, Number]:
    """Penalties of the arm paper's three principles at q = x, without the vacuum term.

    Args:
        chain: `chain.Chain`.
        x: Actuation.
        present: (s, 2) bending vectors of the segments where the arm is now [rad].

    Returns:
        Angle change [rad], bend growth [rad], and how far neighbouring bending planes differ, as
        `scores.principle_scores` describes them.
    """
    segments = len(chain.kinds)
    change = growth = planes = inner_x = inner_y = inner = 0.0 * x[0]
    for i in range(segments):
        ux, uy, _, _, _ = bend(chain, i, x)
        mx, my = ux - present[i, 0], uy - present[i, 1]
        theta = xp.sqrt(ux * ux + uy * uy)
        change = change + xp.sqrt(mx * mx + my * my) * ((segments - i) / segments)
        growth = growth + (theta - math.sqrt(present[i, 0] ** 2 + present[i, 1] ** 2))
        squares = theta * theta + inner * inner
        apart = 2.0 * (theta * inner - ux * inner_x - uy * inner_y)
        planes = planes + apart / xp.where(squares > 1e-12, squares, 1e-12)
        inner_x, inner_y, inner = ux, uy, theta
    return change, growth, planes
