"""Tips and Jacobians of `LANES` actuations side by side, compiled.

Each quantity lies in one row of `LANES` numbers, so that every inner loop runs over the lanes and
becomes one vector instruction for each operation. The rows of a segment lie in one array at fixed
places: the compiler then sees that they do not overlap.
"""

import math
from typing import NamedTuple

import numpy as np

from soft_arm_kinematics.backends.compiled_model import BELLOWS, MODAL, SINGLE_BEND, TENDON
from soft_arm_kinematics.backends.compiled_series import polynomials
from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_kinematics.segments.pcc import STRAIGHT_RAD

LANES = 24  # a multiple of every vector's length; with 8 or 16, loops are unrolled instead of made vectors of
AXIS_WEIGHT_M = 0.1  # 1 rad of axis error counts as so many metres of position error
LARGEST_SQUARED_BEND = (
    39.0  # theta^2 [rad^2], about one turn: up to here the polynomials are exact to round-off
)
FAST = {'contract', 'nsz', 'arcp'}  # reorderings that keep NaN and infinity
COMPILED = {'error_model': 'numpy', 'fastmath': FAST}
INLINED = COMPILED | {'forceinline': True}  # a call would copy every field of the tuples of arrays

_half_angle = polynomials(fastmath=FAST, series=[(1, 14), (0, 14)])
_higher = polynomials(fastmath=FAST, series=[(3, 16), (4, 16)])

# Places of a segment's rows. Arc: bending vector, length; cosine and sine of the open twist.
UX, UY, ELL, COS, SIN = (LANES * row for row in range(5))
A, B, C, DA, DB = (
    LANES * row for row in range(5, 10)
)  # functions of the bend, `pcc.bend_functions`
BEFORE = (
    LANES * 10
)  # frame that the segment stands on: columns x, y, z of the rotation, position; 12 rows
AFTER = LANES * 22  # frame at its end
END = LANES * 34  # where the arc ends, before the rigid part; 3 rows
TIP = LANES * 37  # the arm's tip; 3 rows
SIDEWAYS, ALONG, SIDEWAYS_SLOPE, ALONG_SLOPE = (
    LANES * row for row in range(40, 44)
)  # of a modal segment's end
PULL_X, PULL_Y, HXX, HXY, HYY = (
    LANES * row for row in range(44, 49)
)  # slopes and curvature of the scores by the bending vector
ROWS = 49


class Lanes(NamedTuple):
    """Work arrays of `LANES` actuations of an arm of s segments and n coordinates; the last axis counts rows times lanes.

    What the steps of `compiled_steps` need lies in `memory`, row by row: error (6), jacobian (6 n),
    then n rows of each of step, free, here, share, below, above and gradient, then damping (1) and
    hessian (n * n). The arrays with these names are views of it.
    """

    x: np.ndarray  # (n, LANES) actuation
    segments: np.ndarray  # (s, ROWS * LANES)
    slopes: np.ndarray  # (s, most, 3 * LANES) of bending vector and length by the segment's coordinates as shares of their ranges
    new_jacobian: np.ndarray  # (n, 6 * LANES) at x
    new_error: np.ndarray  # (6 * LANES,) at x
    memory: np.ndarray
    error: np.ndarray  # (6 * LANES,)
    jacobian: np.ndarray  # (n, 6 * LANES)
    step: np.ndarray  # (n, LANES)
    free: np.ndarray  # (n, LANES) 1, or 0 where a limit holds the coordinate
    here: np.ndarray  # (n, LANES) actuation that error and jacobian belong to
    share: np.ndarray  # (n, LANES) the same as shares of the ranges
    below: np.ndarray  # (n, LANES) multipliers of the lower limits
    above: np.ndarray  # (n, LANES) of the upper limits
    gradient: np.ndarray  # (n, LANES) of the score
    damping: np.ndarray  # (LANES,)
    hessian: np.ndarray  # (n * n, LANES) of the score, lower halves


def row_of(name: str, n: int) -> int:
    """First row of an array in `Lanes.memory`."""
    if name in ('error', 'jacobian'):
        return 6 * (name == 'jacobian')
    after = ('step', 'free', 'here', 'share', 'below', 'above', 'gradient', 'damping')
    return 7 + 13 * n if name == 'hessian' else 6 + (6 + after.index(name)) * n


@njit(**COMPILED)
def make_lanes(model):
    """Work arrays for an arm."""
    s, n, most = model.kinds.size, model.low.size, model.arc_matrices.shape[2]
    memory = np.zeros((7 + 13 * n + n * n) * LANES)
    rest = memory[(6 + 6 * n) * LANES :]
    lanes = Lanes(
        np.zeros((n, LANES)),
        np.zeros((s, ROWS * LANES)),
        np.zeros((s, max(most, 3), 3 * LANES)),
        np.zeros((n, 6 * LANES)),
        np.zeros(6 * LANES),
        memory,
        memory[: 6 * LANES],
        memory[6 * LANES : (6 + 6 * n) * LANES].reshape(n, 6 * LANES),
        rest[: n * LANES].reshape(n, LANES),
        rest[n * LANES : 2 * n * LANES].reshape(n, LANES),
        rest[2 * n * LANES : 3 * n * LANES].reshape(n, LANES),
        rest[3 * n * LANES : 4 * n * LANES].reshape(n, LANES),
        rest[4 * n * LANES : 5 * n * LANES].reshape(n, LANES),
        rest[5 * n * LANES : 6 * n * LANES].reshape(n, LANES),
        rest[6 * n * LANES : 7 * n * LANES].reshape(n, LANES),
        rest[7 * n * LANES : (7 * n + 1) * LANES],
        rest[(7 * n + 1) * LANES :].reshape(n * n, LANES),
    )
    for k in range(LANES):
        for diagonal in (0, 4, 8):
            lanes.segments[0, BEFORE + diagonal * LANES + k] = 1.0
    for i in range(s):
        for j in range(most):
            for r in range(3):
                reach = (
                    model.high[model.firsts[i] + j] - model.low[model.firsts[i] + j]
                    if j < model.counts[i]
                    else 0.0
                )
                lanes.slopes[i, j, r * LANES : (r + 1) * LANES] = (
                    model.arc_matrices[i, r, j] * reach
                )
    return lanes


@njit(**INLINED)
def arcs(model, w):
    """Arcs of w.x, and their slopes where these change."""
    for i in range(model.kinds.size):
        seg, first = w.segments[i], model.firsts[i]
        if model.kinds[i] == BELLOWS:
            m = model.arc_matrices[i]
            for k in range(
                LANES
            ):  # three or four bellows; the first three at once, because small loops are not made vectors of
                x, y, z = w.x[first, k], w.x[first + 1, k], w.x[first + 2, k]
                seg[UX + k] = m[0, 0] * x + m[0, 1] * y + m[0, 2] * z
                seg[UY + k] = m[1, 0] * x + m[1, 1] * y + m[1, 2] * z
                seg[ELL + k] = m[2, 0] * x + m[2, 1] * y + m[2, 2] * z
            for j in range(3, model.counts[i]):
                for k in range(LANES):
                    seg[UX + k] += m[0, j] * w.x[first + j, k]
                    seg[UY + k] += m[1, j] * w.x[first + j, k]
                    seg[ELL + k] += m[2, j] * w.x[first + j, k]
            if not model.twists[i]:
                for k in range(LANES):
                    theta = math.sqrt(seg[UX + k] * seg[UX + k] + seg[UY + k] * seg[UY + k])
                    straight = theta < STRAIGHT_RAD
                    seg[COS + k], seg[SIN + k] = (
                        1.0 if straight else seg[UX + k] / theta,
                        0.0 if straight else seg[UY + k] / theta,
                    )
        elif model.kinds[i] == TENDON:
            slopes = w.slopes[i]
            reach0, reach1 = (
                model.high[first] - model.low[first],
                model.high[first + 1] - model.low[first + 1],
            )
            reach2 = model.high[first + 2] - model.low[first + 2]
            for k in range(LANES):
                theta, phi = w.x[first, k], w.x[first + 1, k]
                cos, sin = math.cos(phi), math.sin(phi)
                seg[UX + k], seg[UY + k], seg[ELL + k], seg[COS + k], seg[SIN + k] = (
                    theta * cos,
                    theta * sin,
                    w.x[first + 2, k],
                    cos,
                    sin,
                )
                slopes[0, k], slopes[0, LANES + k] = cos * reach0, sin * reach0
                slopes[1, k], slopes[1, LANES + k] = -theta * sin * reach1, theta * cos * reach1
                slopes[2, 2 * LANES + k] = reach2
        else:
            _arcs_of_a_pressure(model, i, w.x[first], seg, w.slopes[i, 0])


@njit(**COMPILED)
def _arcs_of_a_pressure(model, i, x, seg, slope_rows):
    reach = model.high[model.firsts[i]] - model.low[model.firsts[i]]
    cos, sin = model.directions[i, 0], model.directions[i, 1]
    coefficients = (
        model.theta_coefficients[i]
        if model.kinds[i] == SINGLE_BEND
        else model.node_coefficients[i, -1]
    )
    for k in range(LANES):
        theta, slope = 0.0, 0.0
        for power in range(coefficients.size - 1, -1, -1):
            slope = slope * x[k] + theta
            theta = theta * x[k] + coefficients[power]
        seg[UX + k], seg[UY + k], seg[ELL + k], seg[COS + k], seg[SIN + k] = (
            theta * cos,
            theta * sin,
            model.lengths_m[i],
            cos,
            sin,
        )
        slope_rows[k], slope_rows[LANES + k] = slope * reach * cos, slope * reach * sin
    if model.kinds[i] != MODAL:
        return
    for k in range(LANES):
        sideways, along, sideways_slope, along_slope = 0.0, 0.0, 0.0, 0.0
        for node in range(model.weights_m.shape[1]):
            theta, slope = 0.0, 0.0
            for power in range(coefficients.size - 1, -1, -1):
                slope = slope * x[k] + theta
                theta = theta * x[k] + model.node_coefficients[i, node, power]
            node_cos, node_sin, weight = math.cos(theta), math.sin(theta), model.weights_m[i, node]
            along, sideways = along + weight * node_cos, sideways + weight * node_sin
            along_slope, sideways_slope = (
                along_slope - weight * node_sin * slope,
                sideways_slope + weight * node_cos * slope,
            )
        seg[SIDEWAYS + k], seg[ALONG + k] = sideways, along
        seg[SIDEWAYS_SLOPE + k], seg[ALONG_SLOPE + k] = sideways_slope * reach, along_slope * reach


@njit(**INLINED)
def _bend_functions(seg):
    """A, B, C, dA, dB of a segment's arcs."""
    beyond = 0
    for k in range(LANES):
        y = seg[UX + k] * seg[UX + k] + seg[UY + k] * seg[UY + k]
        half, cos_half = _half_angle(0.25 * y)
        c, d = _higher(y)
        b = 0.5 * half * half
        seg[A + k], seg[B + k], seg[C + k], seg[DA + k], seg[DB + k] = (
            half * cos_half,
            b,
            c,
            c - b,
            2.0 * d - c,
        )
        beyond += y > LARGEST_SQUARED_BEND
    if beyond > 0:
        for k in range(LANES):
            y = seg[UX + k] * seg[UX + k] + seg[UY + k] * seg[UY + k]
            if y > LARGEST_SQUARED_BEND:
                theta = math.sqrt(y)
                a, b = math.sin(theta) / theta, (1.0 - math.cos(theta)) / y
                c, d = (1.0 - a) / y, (0.5 - b) / y
                seg[A + k], seg[B + k], seg[C + k], seg[DA + k], seg[DB + k] = (
                    a,
                    b,
                    c,
                    c - b,
                    2.0 * d - c,
                )


@njit(**INLINED)
def _frames(model, w):
    """Frames of w.x; the tip's is the last segment's AFTER."""
    arcs(model, w)
    for i in range(model.kinds.size):
        seg, rigid = w.segments[i], model.rigid_m[i]
        _bend_functions(seg)
        if model.kinds[i] == MODAL:
            for k in range(LANES):  # END holds the arc's end in its own frame for a moment
                seg[END + k], seg[END + LANES + k] = (
                    seg[SIDEWAYS + k] * seg[COS + k],
                    seg[SIDEWAYS + k] * seg[SIN + k],
                )
                seg[END + 2 * LANES + k] = seg[ALONG + k]
        else:
            for k in range(LANES):
                stretch = seg[ELL + k] * seg[B + k]
                seg[END + k], seg[END + LANES + k], seg[END + 2 * LANES + k] = (
                    stretch * seg[UX + k],
                    stretch * seg[UY + k],
                    seg[ELL + k] * seg[A + k],
                )
        for k in range(LANES):
            ux, uy, a, b = seg[UX + k], seg[UY + k], seg[A + k], seg[B + k]
            dx, dy, dz = a * ux, a * uy, 1.0 - b * (ux * ux + uy * uy)
            ex, ey, ez = seg[END + k], seg[END + LANES + k], seg[END + 2 * LANES + k]
            for r in range(0, 3 * LANES, LANES):
                fx, fy, fz = (
                    seg[BEFORE + r + k],
                    seg[BEFORE + 3 * LANES + r + k],
                    seg[BEFORE + 6 * LANES + r + k],
                )
                s, axis = b * (ux * fx + uy * fy) + a * fz, dx * fx + dy * fy + dz * fz
                at = seg[BEFORE + 9 * LANES + r + k] + ex * fx + ey * fy + ez * fz
                (
                    seg[AFTER + r + k],
                    seg[AFTER + 3 * LANES + r + k],
                    seg[AFTER + 6 * LANES + r + k],
                ) = fx - ux * s, fy - uy * s, axis
                seg[END + r + k], seg[AFTER + 9 * LANES + r + k] = at, at + rigid * axis
        if not model.twists[i]:
            for k in range(LANES):
                cos, sin = seg[COS + k], seg[SIN + k]
                for r in range(0, 3 * LANES, LANES):
                    fx, fy = seg[AFTER + r + k], seg[AFTER + 3 * LANES + r + k]
                    seg[AFTER + r + k], seg[AFTER + 3 * LANES + r + k] = (
                        cos * fx + sin * fy,
                        cos * fy - sin * fx,
                    )
        if i + 1 < model.kinds.size:
            following = w.segments[i + 1]
            for m in range(12 * LANES):
                following[BEFORE + m] = seg[AFTER + m]


@njit(**INLINED)
def evaluate(model, w, rows, jacobian):
    """Frames of w.x; twist Jacobians by shares of the ranges in jacobian (n, 6 * LANES): rows 3 (position) or 6 (and rotation)."""
    _frames(model, w)
    last = w.segments[model.kinds.size - 1]
    jacobian[:] = 0.0
    for i in range(model.kinds.size):
        seg = w.segments[i]
        is_modal, open_bellows = (
            model.kinds[i] == MODAL,
            model.kinds[i] == BELLOWS and not model.twists[i],
        )
        for m in range(3 * LANES):
            seg[TIP + m] = last[AFTER + 9 * LANES + m]
        for j in range(model.counts[i]):
            slope, column = w.slopes[i, j], jacobian[model.firsts[i] + j]
            spins = model.kinds[i] == TENDON and not model.twists[i] and j == 1
            own_spin = (
                model.high[model.firsts[i] + 1] - model.low[model.firsts[i] + 1] if spins else 0.0
            )
            for k in range(LANES):
                ux, uy, ell, gx, gy, gl = (
                    seg[UX + k],
                    seg[UY + k],
                    seg[ELL + k],
                    slope[k],
                    slope[LANES + k],
                    slope[2 * LANES + k],
                )
                a, b, turn = seg[A + k], seg[B + k], seg[C + k] * (ux * gy - uy * gx)
                along, across, theta2 = ux * gx + uy * gy, ux * gy - uy * gx, ux * ux + uy * uy
                stretch = ell * seg[DB + k] * along + b * gl
                vx, vy, vz = (
                    ell * b * gx + stretch * ux,
                    ell * b * gy + stretch * uy,
                    ell * seg[DA + k] * along + a * gl,
                )
                if is_modal:
                    vx, vy, vz = (
                        seg[SIDEWAYS_SLOPE + k] * seg[COS + k],
                        seg[SIDEWAYS_SLOPE + k] * seg[SIN + k],
                        seg[ALONG_SLOPE + k],
                    )
                spin = own_spin
                if open_bellows:
                    spin = across / theta2 if theta2 >= STRAIGHT_RAD**2 else 0.0
                wx, wy = turn * ux - gy + spin * a * ux, turn * uy + gx + spin * a * uy
                wz = b * across + spin * (1.0 - b * theta2)
                f0, f1, f2 = seg[BEFORE + k], seg[BEFORE + LANES + k], seg[BEFORE + 2 * LANES + k]
                f3, f4, f5 = (
                    seg[BEFORE + 3 * LANES + k],
                    seg[BEFORE + 4 * LANES + k],
                    seg[BEFORE + 5 * LANES + k],
                )
                f6, f7, f8 = (
                    seg[BEFORE + 6 * LANES + k],
                    seg[BEFORE + 7 * LANES + k],
                    seg[BEFORE + 8 * LANES + k],
                )
                tx, ty, tz = (
                    f0 * wx + f3 * wy + f6 * wz,
                    f1 * wx + f4 * wy + f7 * wz,
                    f2 * wx + f5 * wy + f8 * wz,
                )
                lx, ly = seg[TIP + k] - seg[END + k], seg[TIP + LANES + k] - seg[END + LANES + k]
                lz = seg[TIP + 2 * LANES + k] - seg[END + 2 * LANES + k]
                column[k] += f0 * vx + f3 * vy + f6 * vz + ty * lz - tz * ly
                column[LANES + k] += f1 * vx + f4 * vy + f7 * vz + tz * lx - tx * lz
                column[2 * LANES + k] += f2 * vx + f5 * vy + f8 * vz + tx * ly - ty * lx
                if rows == 6:
                    column[3 * LANES + k] += tx
                    column[4 * LANES + k] += ty
                    column[5 * LANES + k] += tz


@njit(**INLINED)
def task(model, targets, axis, rows, w, error, jacobian, cost):
    """Task errors of w.x in error (6 * LANES,), their Jacobians by shares of the ranges in jacobian, squared errors in cost (LANES,).

    Targets (3 * LANES,) are positions [m]; with 6 rows the tip's axis is to be `axis` (3,),
    rotation about it is free.
    """
    evaluate(model, w, rows, jacobian)
    seg = w.segments[model.kinds.size - 1]
    for k in range(LANES):
        x = targets[k] - seg[AFTER + 9 * LANES + k]
        y = targets[LANES + k] - seg[AFTER + 10 * LANES + k]
        z = targets[2 * LANES + k] - seg[AFTER + 11 * LANES + k]
        error[k], error[LANES + k], error[2 * LANES + k], cost[k] = x, y, z, x * x + y * y + z * z
    if rows == 6:
        for k in range(LANES):
            zx, zy, zz = (
                seg[AFTER + 6 * LANES + k],
                seg[AFTER + 7 * LANES + k],
                seg[AFTER + 8 * LANES + k],
            )
            cx, cy, cz = (
                zy * axis[2] - zz * axis[1],
                zz * axis[0] - zx * axis[2],
                zx * axis[1] - zy * axis[0],
            )
            sin, cos = (
                math.sqrt(cx * cx + cy * cy + cz * cz),
                zx * axis[0] + zy * axis[1] + zz * axis[2],
            )
            scale = AXIS_WEIGHT_M * (math.atan2(sin, cos) / sin if sin > 1e-12 else 1.0)
            error[3 * LANES + k], error[4 * LANES + k], error[5 * LANES + k] = (
                scale * cx,
                scale * cy,
                scale * cz,
            )
            cost[k] += scale * scale * (cx * cx + cy * cy + cz * cz)
        for j in range(w.x.shape[0]):
            column = jacobian[j]
            for k in range(LANES):
                zx, zy, zz = (
                    seg[AFTER + 6 * LANES + k],
                    seg[AFTER + 7 * LANES + k],
                    seg[AFTER + 8 * LANES + k],
                )
                spin = (
                    zx * column[3 * LANES + k]
                    + zy * column[4 * LANES + k]
                    + zz * column[5 * LANES + k]
                )
                column[3 * LANES + k] = AXIS_WEIGHT_M * (column[3 * LANES + k] - spin * zx)
                column[4 * LANES + k] = AXIS_WEIGHT_M * (column[4 * LANES + k] - spin * zy)
                column[5 * LANES + k] = AXIS_WEIGHT_M * (column[5 * LANES + k] - spin * zz)
