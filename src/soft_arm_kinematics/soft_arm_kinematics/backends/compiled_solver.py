"""Compiled inverse kinematics: damped least squares inside the limits for `WIDTH` starts at once.

`solve` brings starts to one target, lowers their scores along the solutions that it has, and puts
the results in order. `refine` only brings starts to targets, each to its own.

Coordinates are worked on as they are, steps as shares of their ranges, so that metres, radians and
pascals weigh the same. Every number is a vector (`vectors`): one entry for each start. No type
depends on the arm's shape, so that this is compiled once for all arms.
"""

import math

import numpy as np
from numba import prange

from soft_arm_kinematics.backends.compiled_batch import make_batch
from soft_arm_kinematics.backends.compiled_formulas import (
    bend,
    frame_and_jacobian,
    load,
)
from soft_arm_kinematics.backends.compiled_scores import TINY, score_model, scores
from soft_arm_kinematics.backends.compiled_steps import (
    damped_step,
    factorise,
    solve_lower,
    solve_upper,
)
from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_kinematics.backends.vectors import (
    COMPILED,
    INNER,
    WIDTH,
    any_of,
    as_vectors,
    greatest,
    least,
    sqrt,
    where,
)
from soft_arm_kinematics.segments.formulas import TENDON

AXIS_WEIGHT_M = 0.1  # 1 rad of axis error counts as so many metres of position error
STOP_M = 1e-9  # residual [m] at which a start is finished
FIRST_DAMPING, MIN_DAMPING = 1e-6, 1e-12  # shares of the mean square of the Jacobian's rows
MAX_DAMPING = 1e6
FIRST_BARRIER, LAST_BARRIER = 0.05, 1e-6  # of the interior-point method, in units of the score
FIRST_ROUNDING_RAD, LAST_ROUNDING_RAD = 0.1, 5e-4  # of the scores' kinks
IMPROVEMENT_STEPS, LAST_STEPS = 10, 2  # of interior points and of the refinement after them
MIN_MARGIN = 0.02  # share of the range between a start of the interior-point method and a limit
MIN_CURVATURE = 0.1  # of the score by shares of the ranges
TO_LIMIT, MAX_STEP = 0.95, 0.35  # shares of the room and of the ranges that a step may take
_CACHED = {'cache': True} | COMPILED


@njit(**INNER)
def task(chain, targets, axis, rows, w, error, jacobian):
    """Task errors of w.x and their Jacobian by shares of the ranges; returns the squared error.

    Targets (3,) are positions [m]; with 6 rows the tip's axis is to be `axis` (3,), rotation about
    it is free. The axis error is 2 sin(angle / 2).
    """
    frame = frame_and_jacobian(chain, w.x, jacobian)
    x, y, z = targets[0] - frame[9], targets[1] - frame[10], targets[2] - frame[11]
    error[0], error[1], error[2], cost = x, y, z, x * x + y * y + z * z
    for j in range(chain.low.size):
        for r in range(6):
            jacobian[j, r] = jacobian[j, r] * (chain.high[j] - chain.low[j])
    if rows == 6:
        zx, zy, zz = frame[6], frame[7], frame[8]
        cos = zx * axis[0] + zy * axis[1] + zz * axis[2]
        scale = AXIS_WEIGHT_M * sqrt(2.0 / (1.0 + 1e-12 + cos))
        cx = scale * (zy * axis[2] - zz * axis[1])
        cy = scale * (zz * axis[0] - zx * axis[2])
        cz = scale * (zx * axis[1] - zy * axis[0])
        error[3], error[4], error[5], cost = cx, cy, cz, cost + (cx * cx + cy * cy + cz * cz)
        for j in range(chain.low.size):
            spin = zx * jacobian[j, 3] + zy * jacobian[j, 4] + zz * jacobian[j, 5]
            jacobian[j, 3] = AXIS_WEIGHT_M * (jacobian[j, 3] - spin * zx)
            jacobian[j, 4] = AXIS_WEIGHT_M * (jacobian[j, 4] - spin * zy)
            jacobian[j, 5] = AXIS_WEIGHT_M * (jacobian[j, 5] - spin * zz)
    return cost


@njit(cache=True, **INNER)
def levenberg_marquardt(chain, rows, targets, axis, most_steps, stop, w):
    """Bring w.x towards targets inside the limits; returns the squared errors of w.error.

    A coordinate whose step would leave the limits is held, and the others take over.
    """
    n, zero = chain.low.size, 0.0 * w.x[0]
    for j in range(n):
        w.x[j] = w.current[j] = greatest(least(w.x[j], chain.high[j]), chain.low[j])
        w.gradient[j, 0] = zero
    cost, damping = zero + np.inf, zero + 10.0 * FIRST_DAMPING
    for step in range(most_steps + 1):
        trial = task(chain, targets, axis, rows, w, w.trial_error, w.trial_jacobian)
        better = trial < cost
        damping = where(better, greatest(0.1 * damping, MIN_DAMPING), 10.0 * damping)
        cost = where(better, trial, cost)
        for r in range(rows):
            w.error[r] = where(better, w.trial_error[r], w.error[r])
        for j in range(n):
            w.current[j] = where(better, w.x[j], w.current[j])
            w.free[j] = zero + 1.0
            for r in range(rows):
                w.jacobian[j, r] = where(better, w.trial_jacobian[j, r], w.jacobian[j, r])
        if step == most_steps or not any_of((cost > stop * stop) & (damping < MAX_DAMPING)):
            break
        for _ in range(n):
            for j in range(n):
                for r in range(rows):
                    w.white[j, r] = w.jacobian[j, r] * w.free[j]
            damped_step(w, n, rows, damping)
            held = False
            for j in range(n):
                now, change = w.current[j], w.step[j, 0]
                leaves = ((now <= chain.low[j]) & (change < 0.0)) | (
                    (now >= chain.high[j]) & (change > 0.0)
                )
                w.step[j, 0], w.free[j] = where(leaves, 0.0, change), where(leaves, 0.0, w.free[j])
                held = held or any_of(leaves)
            if not held:
                break
        for j in range(n):
            low, high = chain.low[j], chain.high[j]
            w.x[j] = greatest(least(w.current[j] + w.step[j, 0] * (high - low), high), low)
    for j in range(n):
        w.x[j] = w.current[j]
    return cost


@njit(**INNER)
def improve(chain, rows, scoring, present, targets, axis, w):
    """Lower the scores of w.x along the task's null space by a primal-dual interior-point method.

    The barrier in front of the limits and the rounding of the scores' kinks fall from step to step.
    Every start makes the same steps; the result meets the task to about 1e-6 m and wants a last
    refinement.
    """
    n, barrier, rounding, zero = chain.low.size, FIRST_BARRIER, FIRST_ROUNDING_RAD, 0.0 * w.x[0]
    for j in range(n):
        y = (w.x[j] - chain.low[j]) * (1.0 / (chain.high[j] - chain.low[j] + TINY))
        y = least(greatest(y, MIN_MARGIN), 1.0 - MIN_MARGIN)
        w.share[j], w.below[j], w.above[j] = y, barrier / y, barrier / (1.0 - y)
    for step in range(IMPROVEMENT_STEPS + 1):
        for j in range(n):
            w.x[j] = w.share[j] * (chain.high[j] - chain.low[j]) + chain.low[j]
        if step == IMPROVEMENT_STEPS:
            break
        task(chain, targets, axis, rows, w, w.error, w.white)
        score_model(chain, scoring, present, rounding, w)
        for j in range(n):
            low, high = 1.0 / w.share[j], 1.0 / (1.0 - w.share[j])
            curvature = MIN_CURVATURE + w.below[j] * low + w.above[j] * high
            w.hessian[j, j] = w.hessian[j, j] + curvature
            w.gradient[j, 0] = w.gradient[j, 0] + barrier * (high - low)
        factorise(w.hessian, n)
        solve_lower(w.hessian, w.gradient, 0, n)
        for r in range(rows):
            solve_lower(w.hessian, w.white, r, n)
        damped_step(w, n, rows, zero + 1e-9)
        solve_upper(w.hessian, w.step, 0, n)
        most, part = zero + 1e-9, zero + 1.0
        for j in range(n):
            y, size = w.share[j], where(w.step[j, 0] > 0.0, w.step[j, 0], -w.step[j, 0])
            room = where(w.step[j, 0] > 0.0, 1.0 - y, y)
            most, part = greatest(most, size), least(part, TO_LIMIT * room / greatest(size, 1e-12))
        part = least(part, MAX_STEP / most)
        for j in range(n):
            y, change, below, above = w.share[j], w.step[j, 0], w.below[j], w.above[j]
            w.share[j] = y + part * change
            w.below[j] = greatest((barrier - below * change) / y, 0.1 * below)
            w.above[j] = greatest((barrier + above * change) / (1.0 - y), 0.1 * above)
        barrier, rounding = max(0.4 * barrier, LAST_BARRIER), max(0.5 * rounding, LAST_ROUNDING_RAD)


@njit(**INNER)
def task_errors(rows, w):
    """Write distances [m] and axis errors [rad] of w.error to w.values[4] and w.values[5]."""
    position, axis = 0.0 * w.error[0], 0.0 * w.error[0]
    for r in range(3):
        position = position + w.error[r] * w.error[r]
        if rows == 6:
            axis = axis + w.error[3 + r] * w.error[3 + r]
    w.value[4], w.value[5] = sqrt(position), sqrt(axis) * (0.5 / AXIS_WEIGHT_M)
    for k in range(WIDTH):
        w.values[5, k] = 2.0 * math.asin(min(w.values[5, k], 1.0))


@njit(**INNER)
def _keep(chain, rows, scoring, present, tolerances, used, w, found, residuals, every, count):
    """Append the starts among the first `used` that meet the task; return the new count."""
    scores(chain, scoring, present, w)
    task_errors(rows, w)
    for k in range(used):
        if w.values[4, k] <= tolerances[0] and w.values[5, k] <= tolerances[1]:
            for j in range(chain.low.size):
                found[count, j] = w.numbers[j, k]
            residuals[count] = w.values[4, k]
            for r in range(4):
                every[count, r] = w.values[r, k]
            count += 1
    return count


@njit(**_CACHED)
def deduplicate(chain, q, totals, spacing):
    """Return the rows of q (m, n), lowest total first, without near duplicates.

    Rows that differ from a better one by less than the spacing in every coordinate are left out.

    A tendon's bend and direction are compared as its bending vector, which is the same for equal
    shapes.
    """
    shares, kept, count = np.empty_like(q), np.empty(totals.size, dtype=np.int64), 0
    for m in range(totals.size):
        for j in range(q.shape[1]):
            shares[m, j] = (q[m, j] - chain.low[j]) / (chain.high[j] - chain.low[j])
        for i in range(chain.kinds.size):
            if chain.kinds[i] == TENDON:
                first = chain.firsts[i]
                theta, phi = q[m, first], q[m, first + 1]
                reach = chain.high[first] - chain.low[first]
                shares[m, first] = theta * math.cos(phi) / reach
                shares[m, first + 1] = theta * math.sin(phi) / reach
    for m in np.argsort(totals):
        new = True
        for other in kept[:count]:
            new = False
            for j in range(q.shape[1]):
                if abs(shares[m, j] - shares[other, j]) >= spacing:
                    new = True
                    break
            if not new:
                break
        if new:
            kept[count], count = m, count + 1
    return kept[:count]


@njit(**_CACHED)
def solve(
    chain,
    rows,
    scoring,
    present,
    table,
    near,
    target,
    axis,
    most_steps,
    tolerances,
    spacing,
):
    """Refine starts towards a target, improve the best along the null space, merge and sort.

    Args:
        chain, scoring: The arm.
        rows: Of the task: 3, or 6 with the axis.
        present: (n,) where the arm is now, the first start.
        table: (m, n) configurations of the workspace table.
        near: (c,) its rows to start from.
        target, axis: (3,) [m] and (3,).
        most_steps: Of refinement.
        tolerances: (2,) of position [m] and axis [rad].
        spacing: Share of the ranges by which solutions differ in some coordinate.

    Returns:
        Solutions best first: q (k, n), residuals (k,) [m], scores (k, 4), the total first.
    """
    n, total, w = chain.low.size, near.size + 1, make_batch(chain)
    starts = np.empty((total, n))
    for j in range(n):
        starts[0, j] = present[j]
        for row in range(near.size):
            starts[1 + row, j] = table[near[row], j]
    targets, bends = as_vectors(np.empty((3, WIDTH))), np.empty((chain.kinds.size, 2))
    for r in range(3):
        targets[r] = 0.0 * w.x[0] + target[r]
    most = total + WIDTH
    found, residuals, every, count = np.empty((most, n)), np.empty(most), np.empty((most, 4)), 0
    stop = 0.1 * tolerances[0]
    for first in range(0, total, WIDTH):
        load(starts, first, w.numbers)
        if first == 0:
            for i in range(chain.kinds.size):
                w.value[0], w.value[1], _, _, _ = bend(chain, i, w.x)
                bends[i, 0], bends[i, 1] = w.values[0, 0], w.values[1, 0]
        used = min(WIDTH, total - first)
        levenberg_marquardt(chain, rows, targets, axis, most_steps, stop, w)
        count = _keep(
            chain, rows, scoring, bends, tolerances, used, w, found, residuals, every, count
        )
    if count > 0 and n > (3 if rows == 3 else 5):
        best = np.argsort(every[:count, 0])[:WIDTH]
        load(found[best], 0, w.numbers)
        improve(chain, rows, scoring, bends, targets, axis, w)
        levenberg_marquardt(chain, rows, targets, axis, LAST_STEPS, stop, w)
        count = _keep(
            chain, rows, scoring, bends, tolerances, best.size, w, found, residuals, every, count
        )
    kept = deduplicate(chain, found[:count], every[:count, 0], spacing)
    return found[kept], residuals[kept], every[kept]


@njit(**INNER)
def _refine_batch(chain, rows, first, starts, targets, axis, most_steps, residuals, axis_errors):
    w, wanted = make_batch(chain), np.empty((3, WIDTH))
    load(starts, first, w.numbers)
    load(targets, first, wanted)
    levenberg_marquardt(chain, rows, as_vectors(wanted), axis, most_steps, STOP_M, w)
    task_errors(rows, w)
    for k in range(min(WIDTH, starts.shape[0] - first)):
        starts[first + k] = w.numbers[:, k]
        residuals[first + k], axis_errors[first + k] = w.values[4, k], w.values[5, k]


@njit(parallel=True, **_CACHED)
def refine(chain, rows, starts, targets, axis, most_steps, residuals, axis_errors):
    """Refine each row of starts (m, n), in place, to its target of (m, 3), on all cores.

    Distances (m,) [m] and axis errors (m,) [rad] are written.
    """
    for batch in prange((starts.shape[0] + WIDTH - 1) // WIDTH):
        _refine_batch(
            chain,
            rows,
            np.int64(batch) * WIDTH,
            starts,
            targets,
            axis,
            most_steps,
            residuals,
            axis_errors,
        )
