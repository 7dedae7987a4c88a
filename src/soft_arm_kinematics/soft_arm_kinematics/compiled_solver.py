"""The compiled part of inverse kinematics: tip and Jacobian of one actuation, refinement, scores and improvement along the null space.

All functions that call each other are in this one file, because the compiler's cache looks at one file only. Coordinates are worked on
as they are, steps as shares of their ranges, so that metres, radians and pascals weigh the same.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit, prange

from soft_arm_kinematics.compiled_model import BELLOWS, MODAL, SINGLE_BEND, TENDON
from soft_arm_kinematics.compiled_series import polynomials
from soft_arm_kinematics.pcc import STRAIGHT_RAD

AXIS_WEIGHT_M = 0.1  # 1 rad of axis error counts as so many metres of position error
STOP_M = 1e-9  # residual [m] at which a start is finished
NEAR_M = 1e-5  # residual [m] that is good enough between the steps of an improvement
FIRST_DAMPING, SMALLEST_DAMPING, LARGEST_DAMPING = 1e-5, 1e-12, 1e6  # shares of the mean square of the Jacobian's rows
SMOOTHING_RAD = 5e-4  # bends are rounded off by so much where the scores have kinks
BASIN_SHARE = 0.15  # solutions to be improved differ by so much in some coordinate
TABLE_NODES = 129  # of the pressure shares
_FAST = {'contract', 'nsz', 'arcp'}  # reorderings that keep NaN and infinity
_COMPILED = {'cache': True, 'error_model': 'numpy', 'fastmath': _FAST}

_near_zero = polynomials(fastmath=_FAST, series=[(1, 9), (2, 9), (3, 9), (4, 9)])
_half_angle = polynomials(fastmath=_FAST, series=[(1, 14), (0, 14)])


class Scoring(NamedTuple):
    """What the scores need besides the arm.

    Attributes:
        weights: (3,) of angle change, bend growth and stiffness.
        present: (s, 2) bending vectors now [rad].
        pressed: (n,) whether a coordinate has a pressure.
        shares: (n, TABLE_NODES, 2) share of its pressure range at even steps of the coordinate, and its slope per step.
    """

    weights: np.ndarray
    present: np.ndarray
    pressed: np.ndarray
    shares: np.ndarray


class Workspace(NamedTuple):
    """Scratch arrays, so that nothing is allocated for each candidate."""

    frames: np.ndarray  # (s + 1, 3, 4)
    ends: np.ndarray  # (s, 3)
    twists: np.ndarray  # (s, 6, most)
    arcs: np.ndarray  # (s, 3)
    arc_slopes: np.ndarray  # (s, 3, most)
    jacobian: np.ndarray  # (6, n)
    error: np.ndarray  # (6,)
    step: np.ndarray  # (n,)
    here: np.ndarray  # (n,)
    there: np.ndarray  # (n,)
    free: np.ndarray  # (n,)
    gradient: np.ndarray  # (n,)
    hessian: np.ndarray  # (n, n)
    solved: np.ndarray  # (n, 7)


@njit(**_COMPILED)
def workspace(model):
    """Scratch arrays for an arm."""
    s, n, most = model.kinds.size, model.low.size, model.arc_matrices.shape[2]
    most = max(most, 3)
    return Workspace(
        np.zeros((s + 1, 3, 4)),
        np.zeros((s, 3)),
        np.zeros((s, 6, most)),
        np.zeros((s, 3)),
        np.zeros((s, 3, most)),
        np.zeros((6, n)),
        np.zeros(6),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n, dtype=np.bool_),
        np.zeros(n),
        np.zeros((n, n)),
        np.zeros((n, 7)),
    )


@njit(forceinline=True, **_COMPILED)
def _functions(theta2):
    """A, B, C, dA, dB of `pcc.bend_functions`."""
    if theta2 < 1.0:
        a, b, c, d = _near_zero(theta2)
    else:
        if theta2 < 39.0:  # up to about one turn the polynomials of half the angle are exact to round-off
            half, cos_half = _half_angle(0.25 * theta2)
            a, b = half * cos_half, 0.5 * half * half
        else:
            theta = math.sqrt(theta2)
            a, b = math.sin(theta) / theta, (1.0 - math.cos(theta)) / theta2
        inverse = 1.0 / theta2
        c, d = (1.0 - a) * inverse, (0.5 - b) * inverse
    return a, b, c, c - b, 2.0 * d - c


@njit(**_COMPILED)
def _arc(model, i, x, work):
    """Arc of segment i in work.arcs, its slopes by the segment's coordinates in work.arc_slopes; returns the open twist's cos and sin."""
    first, arc, slopes = model.firsts[i], work.arcs[i], work.arc_slopes[i]
    cos, sin = 1.0, 0.0
    if model.kinds[i] == BELLOWS:
        for r in range(3):
            arc[r] = 0.0
            for j in range(model.counts[i]):
                slopes[r, j] = model.arc_matrices[i, r, j]
                arc[r] += slopes[r, j] * x[first + j]
        theta = math.sqrt(arc[0] * arc[0] + arc[1] * arc[1])
        if theta >= STRAIGHT_RAD:
            cos, sin = arc[0] / theta, arc[1] / theta
        return cos, sin
    if model.kinds[i] == TENDON:
        theta = x[first]
        cos, sin = math.cos(x[first + 1]), math.sin(x[first + 1])
        arc[0], arc[1], arc[2] = theta * cos, theta * sin, x[first + 2]
        slopes[0, 0], slopes[0, 1], slopes[0, 2] = cos, -theta * sin, 0.0
        slopes[1, 0], slopes[1, 1], slopes[1, 2] = sin, theta * cos, 0.0
        slopes[2, 0], slopes[2, 1], slopes[2, 2] = 0.0, 0.0, 1.0
        return cos, sin
    cos, sin = model.directions[i, 0], model.directions[i, 1]
    coefficients = model.theta_coefficients[i] if model.kinds[i] == SINGLE_BEND else model.node_coefficients[i, -1]
    theta, slope = 0.0, 0.0
    for w in range(coefficients.size - 1, -1, -1):
        slope = slope * x[first] + theta
        theta = theta * x[first] + coefficients[w]
    arc[0], arc[1], arc[2] = theta * cos, theta * sin, model.lengths_m[i]
    slopes[0, 0], slopes[1, 0], slopes[2, 0] = slope * cos, slope * sin, 0.0
    return cos, sin


@njit(forceinline=True, **_COMPILED)
def _modal_end(model, i, p):
    """Sideways and along [m] of a modal segment's end and their slopes [m/Pa]."""
    along, sideways, along_slope, sideways_slope = 0.0, 0.0, 0.0, 0.0
    for node in range(model.weights_m.shape[1]):
        theta, slope = 0.0, 0.0
        for w in range(model.node_coefficients.shape[2] - 1, -1, -1):
            slope = slope * p + theta
            theta = theta * p + model.node_coefficients[i, node, w]
        cos, sin, weight = math.cos(theta), math.sin(theta), model.weights_m[i, node]
        along, sideways = along + weight * cos, sideways + weight * sin
        along_slope, sideways_slope = along_slope - weight * sin * slope, sideways_slope + weight * cos * slope
    return sideways, along, sideways_slope, along_slope


@njit(forceinline=True, **_COMPILED)
def evaluate(model, x, work):
    """Tip frame (3, 4) of one actuation x (n,) in work.frames[-1], its twist Jacobian (6, n) in work.jacobian."""
    segments, frames = model.kinds.size, work.frames
    for r in range(3):
        for k in range(4):
            frames[0, r, k] = 1.0 if r == k else 0.0
    for i in range(segments):
        cos, sin = _arc(model, i, x, work)
        ux, uy, ell = work.arcs[i, 0], work.arcs[i, 1], work.arcs[i, 2]
        theta2 = ux * ux + uy * uy
        a, b, c, da, db = _functions(theta2)
        dx, dy, dz = a * ux, a * uy, 1.0 - b * theta2
        ex, ey, ez = ell * b * ux, ell * b * uy, ell * a
        bellows_spin = model.kinds[i] == BELLOWS and not model.twists[i] and theta2 >= STRAIGHT_RAD**2
        modal = model.kinds[i] == MODAL
        sideways_slope, along_slope = 0.0, 0.0
        if modal:
            sideways, ez, sideways_slope, along_slope = _modal_end(model, i, x[model.firsts[i]])
            ex, ey = sideways * cos, sideways * sin
        for r in range(3):
            fx, fy, fz = frames[i, r, 0], frames[i, r, 1], frames[i, r, 2]
            s = b * (ux * fx + uy * fy) + a * fz
            x_new, y_new = fx - ux * s, fy - uy * s
            if not model.twists[i]:
                x_new, y_new = cos * x_new + sin * y_new, cos * y_new - sin * x_new
            frames[i + 1, r, 0], frames[i + 1, r, 1], frames[i + 1, r, 2] = x_new, y_new, dx * fx + dy * fy + dz * fz
            work.ends[i, r] = frames[i, r, 3] + ex * fx + ey * fy + ez * fz
            frames[i + 1, r, 3] = work.ends[i, r] + model.rigid_m[i] * frames[i + 1, r, 2]
        for j in range(model.counts[i]):
            gx, gy, gl = work.arc_slopes[i, 0, j], work.arc_slopes[i, 1, j], work.arc_slopes[i, 2, j]
            along = ux * gx + uy * gy
            if modal:
                vx, vy, vz = sideways_slope * cos, sideways_slope * sin, along_slope
            else:
                vx = ell * (b * gx + db * along * ux) + b * ux * gl
                vy = ell * (b * gy + db * along * uy) + b * uy * gl
                vz = ell * da * along + a * gl
            across = ux * gy - uy * gx
            wx, wy, wz = -gy + c * ux * across, gx + c * uy * across, b * across
            spin = 0.0
            if bellows_spin:
                spin = across / theta2
            elif model.kinds[i] == TENDON and not model.twists[i] and j == 1:
                spin = 1.0
            wx, wy, wz = wx + spin * dx, wy + spin * dy, wz + spin * dz
            for r in range(3):
                fx, fy, fz = frames[i, r, 0], frames[i, r, 1], frames[i, r, 2]
                work.twists[i, r, j] = fx * vx + fy * vy + fz * vz
                work.twists[i, 3 + r, j] = fx * wx + fy * wy + fz * wz
    jacobian = work.jacobian
    jacobian[:] = 0.0
    for i in range(segments):
        lx = frames[segments, 0, 3] - work.ends[i, 0]
        ly = frames[segments, 1, 3] - work.ends[i, 1]
        lz = frames[segments, 2, 3] - work.ends[i, 2]
        for j in range(model.counts[i]):
            k, twist = model.firsts[i] + j, work.twists[i]
            jacobian[0, k] += twist[0, j] + twist[4, j] * lz - twist[5, j] * ly
            jacobian[1, k] += twist[1, j] + twist[5, j] * lx - twist[3, j] * lz
            jacobian[2, k] += twist[2, j] + twist[3, j] * ly - twist[4, j] * lx
            jacobian[3, k] += twist[3, j]
            jacobian[4, k] += twist[4, j]
            jacobian[5, k] += twist[5, j]


@njit(parallel=True, **_COMPILED)
def twist_jacobians(model, actuation, jacobians):
    """Twist Jacobians (m, 6, n) of actuation (m, n), on all cores."""
    total, block = actuation.shape[0], 256
    for part in prange((total + block - 1) // block):
        work = workspace(model)
        for m in range(part * block, min(total, (part + 1) * block)):
            evaluate(model, actuation[m], work)
            jacobians[m] = work.jacobian


@njit(forceinline=True, **_COMPILED)
def _task(model, x, target, axis, rows, work):
    """Task error (rows,) in work.error and its Jacobian by shares of the ranges in work.jacobian; returns the squared error."""
    evaluate(model, x, work)
    frame, error, jacobian, n = work.frames[-1], work.error, work.jacobian, x.size
    for r in range(3):
        error[r] = target[r] - frame[r, 3]
    if rows == 6:  # rotation about the tip's own axis is free
        zx, zy, zz = frame[0, 2], frame[1, 2], frame[2, 2]
        cx, cy, cz = zy * axis[2] - zz * axis[1], zz * axis[0] - zx * axis[2], zx * axis[1] - zy * axis[0]
        sin, cos = math.sqrt(cx * cx + cy * cy + cz * cz), zx * axis[0] + zy * axis[1] + zz * axis[2]
        scale = AXIS_WEIGHT_M * (math.atan2(sin, cos) / sin if sin > 1e-12 else 1.0)
        error[3], error[4], error[5] = scale * cx, scale * cy, scale * cz
        for j in range(n):
            spin = zx * jacobian[3, j] + zy * jacobian[4, j] + zz * jacobian[5, j]
            for r in range(3):
                jacobian[3 + r, j] = AXIS_WEIGHT_M * (jacobian[3 + r, j] - spin * frame[r, 2])
    cost = 0.0
    for r in range(rows):
        cost += error[r] * error[r]
        for j in range(n):
            jacobian[r, j] *= model.high[j] - model.low[j]
    return cost


@njit(forceinline=True, **_COMPILED)
def _factor(matrix, size):
    """Cholesky factor of a symmetric positive matrix, in place."""
    for r in range(size):
        for c in range(r + 1):
            total = matrix[r, c]
            for k in range(c):
                total -= matrix[r, k] * matrix[c, k]
            matrix[r, c] = math.sqrt(max(total, 1e-300)) if r == c else total / matrix[c, c]


@njit(forceinline=True, **_COMPILED)
def _substitute(factor, size, rhs):
    """Solve with a Cholesky factor, in place."""
    for r in range(size):
        for k in range(r):
            rhs[r] -= factor[r, k] * rhs[k]
        rhs[r] /= factor[r, r]
    for r in range(size - 1, -1, -1):
        for k in range(r + 1, size):
            rhs[r] -= factor[k, r] * rhs[k]
        rhs[r] /= factor[r, r]


@njit(forceinline=True, **_COMPILED)
def _least_norm_step(model, x, rows, damping, work):
    """Damped least-norm step towards zero error in work.step, as shares of the ranges; coordinates that would leave are held."""
    jacobian, step, free, n = work.jacobian, work.step, work.free, x.size
    gram, y = np.empty((rows, rows)), np.empty(rows)
    for j in range(n):
        free[j] = True
    for _ in range(n):
        trace = 0.0
        for r in range(rows):
            for c in range(r + 1):
                total = 0.0
                for j in range(n):
                    if free[j]:
                        total += jacobian[r, j] * jacobian[c, j]
                gram[r, c] = total
            trace += gram[r, r]
        for r in range(rows):
            gram[r, r] += damping * trace / rows + 1e-14
            y[r] = work.error[r]
        _factor(gram, rows)
        _substitute(gram, rows, y)
        held = False
        for j in range(n):
            step[j] = 0.0
            if free[j]:
                for r in range(rows):
                    step[j] += jacobian[r, j] * y[r]
                if (x[j] <= model.low[j] and step[j] < 0.0) or (x[j] >= model.high[j] and step[j] > 0.0):
                    free[j], held = False, True
        if not held:
            return


@njit(**_COMPILED)
def _refine_one(model, x, target, axis, rows, most_steps, stop, work):
    """Damped Gauss-Newton from x (n,), in place, inside the limits; work.error and work.jacobian hold the end's. Returns squared error."""
    here, there, n = work.here, work.there, x.size
    for j in range(n):
        there[j] = min(max(x[j], model.low[j]), model.high[j])
    cost, damping, steps, repeated = np.inf, 10.0 * FIRST_DAMPING, 0, False
    while True:  # the one place that evaluates, so that the compiler can put everything into this loop
        new_cost = _task(model, there, target, axis, rows, work)
        if new_cost < cost or repeated:
            if new_cost > 0.98 * cost and new_cost > 1e-8:  # a local minimum of the distance, outside or on a limit
                steps += 2
            for j in range(n):
                here[j] = there[j]
            damping = damping if repeated else max(damping * 0.1, SMALLEST_DAMPING)
            cost, repeated = new_cost, False
        else:
            damping, repeated = damping * 10.0, True
            for j in range(n):
                there[j] = here[j]
            continue
        if cost < stop * stop or damping > LARGEST_DAMPING or steps >= most_steps:
            break
        _least_norm_step(model, here, rows, damping, work)
        steps, largest = steps + 1, 0.0
        for j in range(n):
            reach = model.high[j] - model.low[j]
            there[j] = min(max(here[j] + work.step[j] * reach, model.low[j]), model.high[j])
            largest = max(largest, abs(there[j] - here[j]) / reach)
        if largest < 1e-12:
            break
    for j in range(n):
        x[j] = here[j]
    return cost


@njit(**_COMPILED)
def _errors(rows, work):
    """Distance [m] and axis error [rad] of work.error."""
    e = work.error
    distance = math.sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2])
    return distance, math.sqrt(e[3] * e[3] + e[4] * e[4] + e[5] * e[5]) / AXIS_WEIGHT_M if rows == 6 else 0.0


@njit(**_COMPILED)
def refine_all(model, starts, target, axis, use_axis, most_steps, residuals, axis_errors):
    """Refine every row of starts (k, n) in place; residuals (k,) [m] and axis errors (k,) [rad] are written."""
    work, rows = workspace(model), 6 if use_axis else 3
    for m in range(starts.shape[0]):
        _refine_one(model, starts[m], target, axis, rows, most_steps, STOP_M, work)
        residuals[m], axis_errors[m] = _errors(rows, work)


@njit(forceinline=True, **_COMPILED)
def _share(scoring, model, x, j):
    """Share of the pressure range at coordinate j, and its slope by the share of the coordinate's range."""
    at = (x[j] - model.low[j]) / (model.high[j] - model.low[j]) * (TABLE_NODES - 1)
    k = min(max(int(at), 0), TABLE_NODES - 2)
    t, table = at - k, scoring.shares[j]
    p0, p1, m0, m1 = table[k, 0], table[k + 1, 0], table[k, 1], table[k + 1, 1]
    c2, c3 = 3.0 * (p1 - p0) - 2.0 * m0 - m1, m0 + m1 - 2.0 * (p1 - p0)
    return p0 + t * (m0 + t * (c2 + t * c3)), (m0 + t * (2.0 * c2 + 3.0 * t * c3)) * (TABLE_NODES - 1)


@njit(forceinline=True, **_COMPILED)
def _length(x, y, rounding):
    return math.sqrt(x * x + y * y + rounding * rounding)


@njit(**_COMPILED)
def _scores(model, scoring, x, rounding, work):
    """The three scores, as `scores.principle_scores`, of work.arcs; bends rounded off by `rounding` [rad]."""
    segments, change, growth, planes, unused, pressed = model.kinds.size, 0.0, 0.0, 0.0, 0.0, 0
    for i in range(segments):
        ux, uy, px, py = work.arcs[i, 0], work.arcs[i, 1], scoring.present[i, 0], scoring.present[i, 1]
        change += _length(ux - px, uy - py, rounding) * (segments - i) / segments
        growth += _length(ux, uy, rounding) - _length(px, py, 0.0)
        if i:
            vx, vy = work.arcs[i - 1, 0], work.arcs[i - 1, 1]
            u, v = _length(ux, uy, rounding), _length(vx, vy, rounding)
            planes += 2.0 * (u * v - ux * vx - uy * vy) / max(u * u + v * v, 1e-12)
    for j in range(x.size):
        if scoring.pressed[j]:
            unused += _share(scoring, model, x, j)[0]
            pressed += 1
    return change, growth, planes + (unused / pressed if pressed else 0.0)


@njit(**_COMPILED)
def _total(scoring, scores):
    return scoring.weights[0] * scores[0] + scoring.weights[1] * scores[1] + scoring.weights[2] * scores[2]


@njit(**_COMPILED)
def _score_model(model, scoring, x, rounding, work):
    """Gradient (n,) of the total score by shares of the ranges, and a positive matrix (n, n) near its curvature."""
    gradient, hessian, n, segments = work.gradient, work.hessian, x.size, model.kinds.size
    pressed = 0
    for j in range(n):
        pressed += scoring.pressed[j]
    for j in range(n):
        gradient[j] = scoring.weights[2] * _share(scoring, model, x, j)[1] / pressed if scoring.pressed[j] else 0.0
        for k in range(n):
            hessian[j, k] = 0.0
    for i in range(segments):
        ux, uy = work.arcs[i, 0], work.arcs[i, 1]
        mx, my = ux - scoring.present[i, 0], uy - scoring.present[i, 1]
        moved, theta = _length(mx, my, rounding), _length(ux, uy, rounding)
        weight = scoring.weights[0] * (segments - i) / segments
        gx, gy = weight * mx / moved + scoring.weights[1] * ux / theta, weight * my / moved + scoring.weights[1] * uy / theta
        across_move, across_bend = weight / moved, scoring.weights[1] / theta  # curvature; along the vectors there is none
        for other in (i - 1, i + 1):
            if 0 <= other < segments:
                vx, vy = work.arcs[other, 0], work.arcs[other, 1]
                v = _length(vx, vy, rounding)
                below = max(theta * theta + v * v, 1e-12)
                over = 2.0 * (theta * v - ux * vx - uy * vy)
                gx += scoring.weights[2] * (2.0 * (v * ux / theta - vx) - 2.0 * ux * over / below) / below
                gy += scoring.weights[2] * (2.0 * (v * uy / theta - vy) - 2.0 * uy * over / below) / below
                across_bend += scoring.weights[2] * 2.0 * v / theta / below
        across_move, across_bend = across_move / moved**2, across_bend / theta**2
        hxx = across_move * (my * my + rounding**2) + across_bend * (uy * uy + rounding**2)
        hyy = across_move * (mx * mx + rounding**2) + across_bend * (ux * ux + rounding**2)
        hxy = -across_move * mx * my - across_bend * ux * uy
        for j in range(model.counts[i]):
            a = model.firsts[i] + j
            reach_a = model.high[a] - model.low[a]
            ax, ay = work.arc_slopes[i, 0, j] * reach_a, work.arc_slopes[i, 1, j] * reach_a
            gradient[a] += gx * ax + gy * ay
            for k in range(model.counts[i]):
                b = model.firsts[i] + k
                reach_b = model.high[b] - model.low[b]
                bx, by = work.arc_slopes[i, 0, k] * reach_b, work.arc_slopes[i, 1, k] * reach_b
                hessian[a, b] += ax * (hxx * bx + hxy * by) + ay * (hxy * bx + hyy * by)


@njit(**_COMPILED)
def _improving_step(model, x, rows, damping, work):
    """Step in work.step that lowers the modelled score along the null space of the task, inside the limits; False where there is none."""
    n, step, free, solved, jacobian = x.size, work.step, work.free, work.solved, work.jacobian
    factor, schur, multipliers, place = np.empty((n, n)), np.empty((rows, rows)), np.empty(rows), np.empty(n, dtype=np.int64)
    column = np.empty(n)
    for j in range(n):
        free[j], step[j] = True, 0.0
    for _ in range(n):
        size = 0
        for j in range(n):
            if free[j]:
                place[size], size = j, size + 1
        if size <= rows - (rows == 6):
            return False
        for r in range(size):
            for c in range(r + 1):
                factor[r, c] = work.hessian[place[r], place[c]]
            factor[r, r] += damping
        _factor(factor, size)
        for k in range(rows + 1):
            for r in range(size):
                j = place[r]
                if k < rows:
                    column[r] = jacobian[k, j]
                else:
                    column[r] = -work.gradient[j]
                    for m in range(n):
                        if not free[m]:
                            column[r] -= work.hessian[j, m] * step[m]
            _substitute(factor, size, column)
            for r in range(size):
                solved[r, k] = column[r]
        trace = 0.0
        for k in range(rows):
            for c in range(k + 1):
                schur[k, c] = 0.0
                for r in range(size):
                    schur[k, c] += jacobian[k, place[r]] * solved[r, c]
            trace += schur[k, k]
            multipliers[k] = 0.0
            for r in range(size):
                multipliers[k] += jacobian[k, place[r]] * solved[r, rows]
            for m in range(n):
                if not free[m]:
                    multipliers[k] += jacobian[k, m] * step[m]
        for k in range(rows):
            schur[k, k] += 1e-10 * trace
        _factor(schur, rows)
        _substitute(schur, rows, multipliers)
        for r in range(size):
            j = place[r]
            step[j] = solved[r, rows]
            for k in range(rows):
                step[j] -= solved[r, k] * multipliers[k]
        share, first = 1.0, -1  # how much of the step the limits allow, and the coordinate that meets its limit first
        for r in range(size):
            j = place[r]
            reach = model.high[j] - model.low[j]
            room = (model.high[j] - x[j] if step[j] > 0.0 else x[j] - model.low[j]) / reach
            if abs(step[j]) * share > room:
                share, first = room / abs(step[j]), j
        if first < 0:
            return True
        if share >= 0.5 or (size - 1 <= rows - (rows == 6) and share > 1e-3):
            for j in range(n):
                step[j] *= share
            return True
        reach = model.high[first] - model.low[first]
        step[first] = (model.high[first] - x[first] if step[first] > 0.0 else model.low[first] - x[first]) / reach
        free[first] = False
    return False


@njit(**_COMPILED)
def improve(model, scoring, x, target, axis, rows, most_steps, rounding, work):
    """Lower the score of a solution x (n,), in place, along the null space of the task and inside the limits.

    The scores' kinks are rounded off by `rounding` [rad] at first, then less and less.
    """
    n, damping, rounding = x.size, 1e-2, 0.03
    best = np.empty(n)
    _refine_one(model, x, target, axis, rows, 0, NEAR_M, work)
    for _ in range(most_steps):
        rounding = max(SMOOTHING_RAD, 0.4 * rounding)
        now = _total(scoring, _scores(model, scoring, x, rounding, work))
        _score_model(model, scoring, x, rounding, work)
        if not _improving_step(model, x, rows, damping, work):
            break
        largest = 0.0
        for j in range(n):
            largest = max(largest, abs(work.step[j]))
            best[j] = min(max(x[j] + work.step[j] * (model.high[j] - model.low[j]), model.low[j]), model.high[j])
        cost = _refine_one(model, best, target, axis, rows, 6, NEAR_M, work)
        if cost < NEAR_M * NEAR_M and _total(scoring, _scores(model, scoring, best, rounding, work)) < now:
            x[:] = best
            damping = max(damping * 0.35, 1e-3)
            if largest < 1e-3 and rounding == SMOOTHING_RAD:
                break
        else:
            damping *= 8.0
            if damping > 1e5:
                break
            _refine_one(model, x, target, axis, rows, 0, NEAR_M, work)
    _refine_one(model, x, target, axis, rows, 6, STOP_M, work)


@njit(**_COMPILED)
def _shape_shares(model, x, work, shares):
    """Coordinates as shares of their ranges; a tendon's bend and direction as its bending vector, which is the same for equal shapes."""
    for j in range(x.size):
        shares[j] = (x[j] - model.low[j]) / (model.high[j] - model.low[j])
    for i in range(model.kinds.size):
        if model.kinds[i] == TENDON:
            first = model.firsts[i]
            reach = model.high[first] - model.low[first]
            shares[first], shares[first + 1] = work.arcs[i, 0] / reach, work.arcs[i, 1] / reach


@njit(**_COMPILED)
def apart(shares, kept, count, row, spacing):
    """Whether a row of shares differs from each of the first `count` kept rows by the spacing in some coordinate."""
    for k in range(count):
        nearest = True
        for j in range(shares.shape[1]):
            if abs(shares[row, j] - shares[kept[k], j]) >= spacing:
                nearest = False
                break
        if nearest:
            return False
    return True


@njit(**_COMPILED)
def solve(model, scoring, starts, target, axis, use_axis, most_steps, improved, improvement_steps, tolerances, spacing, residuals, scores):
    """Refine all starts in place, improve copies of the best few, score, merge and sort them.

    `starts` (k, n) ends with as many spare rows as solutions are improved.

    Returns:
        Rows of `starts` that are solutions, best first; residuals (k,) [m] and scores (k, 4), the total first, are written.
    """
    work, rows, given = workspace(model), 6 if use_axis else 3, starts.shape[0] - improved
    total = starts.shape[0]
    shares, totals = np.empty_like(starts), np.full(total, np.inf)
    kept = np.empty(total, dtype=np.int64)

    for m in range(given):
        _refine_one(model, starts[m], target, axis, rows, most_steps, 0.1 * tolerances[0], work)
        residuals[m], axis_error = _errors(rows, work)
        if residuals[m] <= tolerances[0] and axis_error <= tolerances[1]:
            _arc_all(model, starts[m], work)
            _shape_shares(model, starts[m], work, shares[m])
            totals[m] = _total(scoring, _scores(model, scoring, starts[m], 0.0, work))
    order = np.argsort(totals)
    count = 0
    for m in order:
        if count == improved or totals[m] == np.inf:
            break
        if apart(shares, kept, count, m, BASIN_SHARE):
            kept[count], count = m, count + 1
    best, least = 0, np.inf
    for k in range(count):
        m = given + k
        starts[m] = starts[kept[k]]
        improve(model, scoring, starts[m], target, axis, rows, improvement_steps[0], 0.2, work)
        _arc_all(model, starts[m], work)
        total_now = _total(scoring, _scores(model, scoring, starts[m], 0.0, work))
        totals[m] = total_now
        if total_now < least:
            best, least = m, total_now
    if count:
        improve(model, scoring, starts[best], target, axis, rows, improvement_steps[1], 0.1, work)
    for m in range(total):
        if totals[m] < np.inf:
            _refine_one(model, starts[m], target, axis, rows, 0, 1e-8, work)
            residuals[m], _ = _errors(rows, work)
            _shape_shares(model, starts[m], work, shares[m])
            three = _scores(model, scoring, starts[m], 0.0, work)
            scores[m, 0], scores[m, 1], scores[m, 2], scores[m, 3] = _total(scoring, three), three[0], three[1], three[2]
            totals[m] = scores[m, 0]
    order, count = np.argsort(totals), 0
    for m in order:
        if totals[m] == np.inf:
            break
        if apart(shares, kept, count, m, spacing):
            kept[count], count = m, count + 1
    return kept[:count].copy()


@njit(**_COMPILED)
def _arc_all(model, x, work):
    for i in range(model.kinds.size):
        _arc(model, i, x, work)


@njit(**_COMPILED)
def totals_of(model, scoring, actuation, totals):
    """Total scores (k,) of actuation (k, n), whatever their tips."""
    work = workspace(model)
    for m in range(actuation.shape[0]):
        _arc_all(model, actuation[m], work)
        totals[m] = _total(scoring, _scores(model, scoring, actuation[m], 0.0, work))


@njit(**_COMPILED)
def bends_of(model, x):
    """Bending vectors (s, 2) [rad] of one actuation x (n,)."""
    work = workspace(model)
    _arc_all(model, x, work)
    return work.arcs[:, :2].copy()


@njit(parallel=True, **_COMPILED)
def refine_each(model, starts, targets, most_steps, residuals):
    """Refine each row of starts (m, n), in place, to its own target (m, 3), on all cores; residuals (m,) [m] are written."""
    total, block = starts.shape[0], 64
    for part in prange((total + block - 1) // block):
        work, axis = workspace(model), np.zeros(3)
        for m in range(part * block, min(total, (part + 1) * block)):
            residuals[m] = math.sqrt(_refine_one(model, starts[m], targets[m], axis, 3, most_steps, STOP_M, work))


@njit(**_COMPILED)
def improve_all(model, scoring, solutions, target, most_steps):
    """Improve each row of solutions (k, n) of one position, in place."""
    work, axis = workspace(model), np.zeros(3)
    for m in range(solutions.shape[0]):
        improve(model, scoring, solutions[m], target, axis, 3, most_steps, 0.1, work)
