"""Damped Gauss-Newton from many starts at once, inside the length limits: compiled.

Every step is the damped least-norm step of the actuators that are free; one that sits on a limit and would leave it is held. The
damping follows Levenberg-Marquardt: less after a step that helped, more after one that did not.
"""

import numpy as np
from numba import njit

from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.pcc import STRAIGHT_RAD

AXIS_WEIGHT_M = 0.1  # 1 rad of axis error counts as so many metres of position error
MAX_STEPS = 60
STOP_M = 1e-10  # residual [m] at which a start is finished
SMALLEST_DAMPING, FIRST_DAMPING, LARGEST_DAMPING = 1e-12, 1e-5, 1e6


@njit(cache=True)
def _functions(theta2):
    """A, B, C, dA, dB of `pcc.bend_functions`."""
    if theta2 < 1.0:
        a, b, c, d = 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0
        ta, tb, tc, td = 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0
        for k in range(1, 10):
            ta *= -theta2 / ((2 * k + 1) * (2 * k))
            tb *= -theta2 / ((2 * k + 2) * (2 * k + 1))
            tc *= -theta2 / ((2 * k + 3) * (2 * k + 2))
            td *= -theta2 / ((2 * k + 4) * (2 * k + 3))
            a, b, c, d = a + ta, b + tb, c + tc, d + td
    else:
        theta = np.sqrt(theta2)
        a = np.sin(theta) / theta
        b = (1.0 - np.cos(theta)) / theta2
        c = (1.0 - a) / theta2
        d = (0.5 - b) / theta2
    return a, b, c, c - b, 2.0 * d - c


@njit(cache=True)
def _tip(lengths, matrix, twists, rigid, frames, twist_arcs, jacobian):
    """Tip frame (3, 4) in frames[-1] and its twist Jacobian (6, n); `frames` (s + 1, 3, 4), `twist_arcs` (6, 3 s) are scratch."""
    segments, actuators = twists.size, lengths.size
    for r in range(3):
        for k in range(4):
            frames[0, r, k] = 1.0 if r == k else 0.0
    local, rotation, end = np.empty((6, 3)), np.empty((3, 3)), np.empty((segments, 3))
    for i in range(segments):
        ux, uy, ell = 0.0, 0.0, 0.0
        for j in range(actuators):
            ux += matrix[3 * i, j] * lengths[j]
            uy += matrix[3 * i + 1, j] * lengths[j]
            ell += matrix[3 * i + 2, j] * lengths[j]
        theta2 = ux * ux + uy * uy
        a, b, c, da, db = _functions(theta2)
        rotation[0, 0], rotation[0, 1], rotation[0, 2] = 1.0 - b * ux * ux, -b * ux * uy, a * ux
        rotation[1, 0], rotation[1, 1], rotation[1, 2] = -b * ux * uy, 1.0 - b * uy * uy, a * uy
        rotation[2, 0], rotation[2, 1], rotation[2, 2] = -a * ux, -a * uy, 1.0 - b * theta2
        local[0, 0], local[0, 1], local[0, 2] = ell * (b + db * ux * ux), ell * db * ux * uy, b * ux
        local[1, 0], local[1, 1], local[1, 2] = ell * db * ux * uy, ell * (b + db * uy * uy), b * uy
        local[2, 0], local[2, 1], local[2, 2] = ell * da * ux, ell * da * uy, a
        local[3, 0], local[3, 1], local[3, 2] = -c * ux * uy, -1.0 + c * ux * ux, 0.0
        local[4, 0], local[4, 1], local[4, 2] = 1.0 - c * uy * uy, c * ux * uy, 0.0
        local[5, 0], local[5, 1], local[5, 2] = -b * uy, b * ux, 0.0
        if not twists[i] and theta2 >= STRAIGHT_RAD**2:
            theta = np.sqrt(theta2)
            cos, sin = ux / theta, uy / theta
            for r in range(3):
                x, y = rotation[r, 0], rotation[r, 1]
                rotation[r, 0], rotation[r, 1] = cos * x + sin * y, cos * y - sin * x
                local[3 + r, 0] -= rotation[r, 2] * uy / theta2
                local[3 + r, 1] += rotation[r, 2] * ux / theta2
        for r in range(3):
            f0, f1, f2 = frames[i, r, 0], frames[i, r, 1], frames[i, r, 2]
            end[i, r] = frames[i, r, 3] + ell * (f0 * b * ux + f1 * b * uy + f2 * a)
            for k in range(3):
                frames[i + 1, r, k] = f0 * rotation[0, k] + f1 * rotation[1, k] + f2 * rotation[2, k]
                twist_arcs[r, 3 * i + k] = f0 * local[0, k] + f1 * local[1, k] + f2 * local[2, k]
                twist_arcs[3 + r, 3 * i + k] = f0 * local[3, k] + f1 * local[4, k] + f2 * local[5, k]
            frames[i + 1, r, 3] = end[i, r] + rigid[i] * frames[i + 1, r, 2]
    for i in range(segments):
        lx, ly, lz = frames[segments, 0, 3] - end[i, 0], frames[segments, 1, 3] - end[i, 1], frames[segments, 2, 3] - end[i, 2]
        for k in range(3 * i, 3 * i + 3):
            wx, wy, wz = twist_arcs[3, k], twist_arcs[4, k], twist_arcs[5, k]
            twist_arcs[0, k] += wy * lz - wz * ly
            twist_arcs[1, k] += wz * lx - wx * lz
            twist_arcs[2, k] += wx * ly - wy * lx
    for r in range(6):
        for j in range(actuators):
            total = 0.0
            for k in range(3 * segments):
                total += twist_arcs[r, k] * matrix[k, j]
            jacobian[r, j] = total


@njit(cache=True)
def _error(frame, target, axis, use_axis, error):
    """Position error [m] and, where an axis is wanted, the weighted rotation that brings the tip's z axis onto it."""
    for r in range(3):
        error[r] = target[r] - frame[r, 3]
    if use_axis:
        zx, zy, zz = frame[0, 2], frame[1, 2], frame[2, 2]
        cx, cy, cz = zy * axis[2] - zz * axis[1], zz * axis[0] - zx * axis[2], zx * axis[1] - zy * axis[0]
        sin, cos = np.sqrt(cx * cx + cy * cy + cz * cz), zx * axis[0] + zy * axis[1] + zz * axis[2]
        scale = AXIS_WEIGHT_M * (np.arctan2(sin, cos) / sin if sin > 1e-12 else 1.0)
        error[3], error[4], error[5] = scale * cx, scale * cy, scale * cz
    cost = 0.0
    for r in range(error.size):
        cost += error[r] * error[r]
    return cost


@njit(cache=True)
def _least_norm_step(jacobian, error, free, damping, step):
    """Step = J_f^T (J_f J_f^T + damping I)^-1 error over the free actuators, by Cholesky."""
    rows, actuators = error.size, step.size
    gram = np.empty((rows, rows))
    y = error.copy()
    for r in range(rows):
        for c in range(r + 1):
            total = damping if r == c else 0.0
            for j in range(actuators):
                if free[j]:
                    total += jacobian[r, j] * jacobian[c, j]
            for k in range(c):
                total -= gram[r, k] * gram[c, k]
            gram[r, c] = np.sqrt(max(total, 1e-300)) if r == c else total / gram[c, c]
        for k in range(r):
            y[r] -= gram[r, k] * y[k]
        y[r] /= gram[r, r]
    for r in range(rows - 1, -1, -1):
        for k in range(r + 1, rows):
            y[r] -= gram[k, r] * y[k]
        y[r] /= gram[r, r]
    for j in range(actuators):
        step[j] = 0.0
        if free[j]:
            for r in range(rows):
                step[j] += jacobian[r, j] * y[r]


@njit(cache=True)
def _refine(starts, target, axis, use_axis, matrix, twists, rigid, low, high, lengths, residuals, axis_errors):
    segments, actuators, rows = twists.size, starts.shape[1], (6 if use_axis else 3)
    for m in range(starts.shape[0]):
        frames, twist_arcs, jacobian = np.empty((segments + 1, 3, 4)), np.empty((6, 3 * segments)), np.empty((6, actuators))
        here, there = np.empty(actuators), np.empty(actuators)
        error, new_error, step, free = np.empty(rows), np.empty(rows), np.empty(actuators), np.empty(actuators, dtype=np.bool_)
        for j in range(actuators):
            here[j] = min(max(starts[m, j], low[j]), high[j])
        _tip(here, matrix, twists, rigid, frames, twist_arcs, jacobian)
        cost = _error(frames[segments], target, axis, use_axis, error)
        damping = FIRST_DAMPING
        for _ in range(MAX_STEPS):
            if cost < STOP_M * STOP_M or damping > LARGEST_DAMPING:
                break
            if use_axis:  # rotation about the tip's own axis is free
                for j in range(actuators):
                    spin = 0.0
                    for r in range(3):
                        spin += frames[segments, r, 2] * jacobian[3 + r, j]
                    for r in range(3):
                        jacobian[3 + r, j] = AXIS_WEIGHT_M * (jacobian[3 + r, j] - spin * frames[segments, r, 2])
            free[:] = True
            for _ in range(actuators):
                _least_norm_step(jacobian, error, free, damping, step)
                held = False
                for j in range(actuators):
                    if free[j] and ((here[j] <= low[j] and step[j] < 0.0) or (here[j] >= high[j] and step[j] > 0.0)):
                        free[j], held = False, True
                if not held:
                    break
            largest = 0.0
            for j in range(actuators):
                there[j] = min(max(here[j] + step[j], low[j]), high[j])
                largest = max(largest, abs(there[j] - here[j]))
            if largest < 1e-13:
                break
            _tip(there, matrix, twists, rigid, frames, twist_arcs, jacobian)
            new_cost = _error(frames[segments], target, axis, use_axis, new_error)
            if new_cost < cost:
                here[:], error[:], cost = there, new_error, new_cost
                damping = max(damping * 0.1, SMALLEST_DAMPING)
            else:
                damping *= 10.0
                _tip(here, matrix, twists, rigid, frames, twist_arcs, jacobian)
        lengths[m] = here
        residuals[m] = np.sqrt(error[0] ** 2 + error[1] ** 2 + error[2] ** 2)
        axis_errors[m] = np.sqrt(error[3] ** 2 + error[4] ** 2 + error[5] ** 2) / AXIS_WEIGHT_M if use_axis else 0.0


def refine(arm: Arm, starts_m: np.ndarray, target_m: np.ndarray, axis: np.ndarray | None = None):
    """Bring many starts to a target, inside the length limits.

    Args:
        arm: The arm.
        starts_m: (k, n) lengths [m]; those outside the limits start on them.
        target_m: (3,) tip position [m].
        axis: (3,) wanted unit direction of the tip's z axis, or None for any.

    Returns:
        Lengths (k, n) [m], distances from the target (k,) [m], angles from the axis (k,) [rad] (0 where none is wanted). A start that
        cannot reach the target ends where its distance is locally least.
    """
    starts_m = np.ascontiguousarray(starts_m, dtype=float)
    lengths_m, residuals_m, axis_errors_rad = np.empty_like(starts_m), np.empty(len(starts_m)), np.empty(len(starts_m))
    wanted_axis = np.ascontiguousarray(np.zeros(3) if axis is None else axis, dtype=float)
    _refine(
        starts_m,
        np.ascontiguousarray(target_m, dtype=float),
        wanted_axis,
        axis is not None,
        arm.arcs_from_lengths_matrix,
        np.array(arm.closing_twists),
        arm.rigid_lengths_m,
        *arm.length_limits_m,
        lengths_m,
        residuals_m,
        axis_errors_rad,
    )
    return lengths_m, residuals_m, axis_errors_rad


@njit(cache=True)
def merge_near(lengths_m, spacing_m):
    """Rows to keep of (k, n) lengths, in order: a row closer than the spacing [m] to a kept one, in every length, is dropped."""
    kept = np.empty(lengths_m.shape[0], dtype=np.int64)
    count = 0
    for m in range(lengths_m.shape[0]):
        new = True
        for i in range(count):
            near = True
            for j in range(lengths_m.shape[1]):
                if abs(lengths_m[m, j] - lengths_m[kept[i], j]) >= spacing_m:
                    near = False
                    break
            if near:
                new = False
                break
        if new:
            kept[count] = m
            count += 1
    return kept[:count]
