"""The compiled part of inverse kinematics: refinement, improvement along the null space, and one call that does all after the search.

Coordinates are worked on as they are, steps as shares of their ranges, so that metres, radians and
pascals weigh the same. No type depends on the arm's shape, so that this is compiled once for all
arms; what is written out for a shape is called by address (`compiled_steps`).
"""

import math

import numpy as np
from numba import prange

from soft_arm_kinematics.backends.compiled_lanes import (
    AXIS_WEIGHT_M,
    COMPILED,
    LANES,
    arcs,
    evaluate,
    make_lanes,
    task,
)
from soft_arm_kinematics.backends.compiled_model import TENDON
from soft_arm_kinematics.backends.compiled_scores import score_model, scores
from soft_arm_kinematics.backends.compiled_steps import (
    interior_point_steps,
    least_norm_steps,
    steps_for,
)
from soft_arm_kinematics.backends.machine_code import njit

STOP_M = 1e-9  # residual [m] at which a start is finished
FIRST_DAMPING, SMALLEST_DAMPING, LARGEST_DAMPING = (
    1e-6,
    1e-12,
    1e6,
)  # shares of the mean square of the Jacobian's rows
FIRST_BARRIER, LAST_BARRIER = 0.05, 1e-6  # of the interior-point method, in units of the score
FIRST_ROUNDING_RAD, LAST_ROUNDING_RAD = 0.1, 5e-4
IMPROVEMENT_STEPS, LAST_STEPS = 11, 2  # of interior points and of the refinement after them
LEAST_ROOM = 0.02  # share of the range between a start of the interior-point method and a limit
_CACHED = {'cache': True} | COMPILED


@njit(**_CACHED)
def _refine(model, addresses, rows, targets, axis, most_steps, stop, w, cost):
    """Damped Gauss-Newton of w.x (n, LANES) towards targets, in place, inside the limits; the end's errors in w.error, cost (LANES,)."""
    n, here, damping = w.x.shape[0], w.here, w.damping
    new_cost, accepted = np.empty(LANES), np.empty(LANES)
    for j in range(n):
        low, high = model.low[j], model.high[j]
        for k in range(LANES):
            w.x[j, k] = here[j, k] = min(max(w.x[j, k], low), high)
    w.error[:], w.jacobian[:], cost[:], damping[:] = 0.0, 0.0, np.inf, 10.0 * FIRST_DAMPING
    for step in range(most_steps + 1):
        task(model, targets, axis, rows, w, w.new_error, w.new_jacobian, new_cost)
        unfinished = 0
        for k in range(LANES):
            better = new_cost[k] < cost[k]
            accepted[k] = 1.0 if better else 0.0
            damping[k] = max(0.1 * damping[k], SMALLEST_DAMPING) if better else 10.0 * damping[k]
            cost[k] = new_cost[k] if better else cost[k]
            unfinished += (cost[k] > stop * stop) & (damping[k] < LARGEST_DAMPING)
        for j in range(n):
            _accept(accepted, w.x[j], here[j], 1)
            _accept(accepted, w.new_jacobian[j], w.jacobian[j], rows)
        _accept(accepted, w.new_error, w.error, rows)
        if unfinished == 0 or step == most_steps:
            break
        w.free[:] = 1.0
        for _ in range(n):
            if least_norm_steps(addresses[0], model.low, model.high, w.memory) == 0:
                break
        for j in range(n):
            low, high = model.low[j], model.high[j]
            x, there, steps = here[j], w.x[j], w.step[j]
            for k in range(LANES):
                there[k] = min(max(x[k] + steps[k] * (high - low), low), high)
    w.x[:] = here


@njit(**COMPILED)
def _accept(accepted, new, kept, rows):
    """Copy the rows of the lanes that are better than before."""
    for start in range(0, rows * LANES, LANES):
        for k in range(LANES):
            kept[start + k] = new[start + k] if accepted[k] > 0.0 else kept[start + k]


@njit(**COMPILED)
def _errors(w, k):
    """Distance [m] and axis error [rad] of lane k of w.error."""
    squared, axis_squared = 0.0, 0.0
    for r in range(3):
        squared += w.error[r * LANES + k] ** 2
        axis_squared += w.error[(3 + r) * LANES + k] ** 2
    return math.sqrt(squared), math.sqrt(axis_squared) / AXIS_WEIGHT_M


@njit(**COMPILED)
def _improve(model, addresses, rows, scoring, present, targets, axis, w):
    """Lower the scores of w.x (n, LANES) along the null space of the task, inside the limits, by a primal-dual interior-point method.

    The barrier in front of the limits and the rounding of the scores' kinks fall from step to step.
    Every lane makes the same steps; the result meets the task to about 1e-6 m and wants a last
    refinement.
    """
    n, cost, barrier, rounding = w.x.shape[0], np.empty(LANES), FIRST_BARRIER, FIRST_ROUNDING_RAD
    for j in range(n):
        for k in range(LANES):
            y = min(
                max((w.x[j, k] - model.low[j]) / (model.high[j] - model.low[j]), LEAST_ROOM),
                1.0 - LEAST_ROOM,
            )
            w.share[j, k], w.below[j, k], w.above[j, k] = y, barrier / y, barrier / (1.0 - y)
    for step in range(IMPROVEMENT_STEPS + 1):
        for j in range(n):
            low, reach, x, share = model.low[j], model.high[j] - model.low[j], w.x[j], w.share[j]
            for k in range(LANES):
                x[k] = low + share[k] * reach
        if step == IMPROVEMENT_STEPS:
            break
        task(model, targets, axis, rows, w, w.error, w.jacobian, cost)
        score_model(model, scoring, present, rounding, w)
        interior_point_steps(addresses[1], barrier, w.memory)
        barrier, rounding = max(0.4 * barrier, LAST_BARRIER), max(0.5 * rounding, LAST_ROUNDING_RAD)


@njit(**COMPILED)
def _keep(model, scoring, present, tolerances, lanes, w, work, found, residuals, every, count):
    """Append those of the first `lanes` lanes that meet the task to found, residuals and every; returns how many there are then."""
    arcs(model, w)
    scores(model, scoring, present, w, work)
    for k in range(lanes):
        distance, angle = _errors(w, k)
        if distance <= tolerances[0] and angle <= tolerances[1]:
            for j in range(w.x.shape[0]):
                found[count, j] = w.x[j, k]
            residuals[count] = distance
            for r in range(4):
                every[count, r] = work[r, k]
            count += 1
    return count


@njit(**COMPILED)
def _apart(model, actuation, totals, spacing):
    """Rows of actuation (m, n), best first, each of which differs from all before it by the spacing in some coordinate.

    A tendon's bend and direction are compared as its bending vector, which is the same for equal
    shapes.
    """
    shares, kept, count = np.empty_like(actuation), np.empty(totals.size, dtype=np.int64), 0
    for m in range(totals.size):
        for j in range(actuation.shape[1]):
            shares[m, j] = (actuation[m, j] - model.low[j]) / (model.high[j] - model.low[j])
        for i in range(model.kinds.size):
            if model.kinds[i] == TENDON:
                first = model.firsts[i]
                theta, phi, reach = (
                    actuation[m, first],
                    actuation[m, first + 1],
                    model.high[first] - model.low[first],
                )
                shares[m, first], shares[m, first + 1] = (
                    theta * math.cos(phi) / reach,
                    theta * math.sin(phi) / reach,
                )
    for m in np.argsort(totals):
        new = True
        for other in kept[:count]:
            new = False
            for j in range(actuation.shape[1]):
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
    model,
    addresses,
    rows,
    scoring,
    present,
    table,
    near,
    at_most,
    target,
    axis,
    most_steps,
    tolerances,
    spacing,
):
    """Refine starts near a target, improve every one along the null space, merge and sort.

    Args:
        model, scoring: The arm.
        addresses: Of `compiled_steps.steps_for`, for as many coordinates and rows.
        rows: Of the task: 3, or 6 with the axis.
        present: (n,) where it is now, the first start.
        table: (m, n) actuation of the workspace table.
        near: (c,) its rows to start from; of more than `at_most`, as many spread over them.
        target, axis: (3,) [m] and (3,).
        most_steps: Of refinement.
        tolerances: (2,) of position [m] and axis [rad].
        spacing: Share of the ranges by which solutions differ in some coordinate.

    Returns:
        Solutions best first: actuation (k, n), residuals (k,) [m], scores (k, 4), the total first.
    """
    n, taken = model.low.size, min(near.size, at_most)
    starts = taken + 1
    w, cost, work, targets = (
        make_lanes(model),
        np.empty(LANES),
        np.empty((4, LANES)),
        np.empty(3 * LANES),
    )
    for r in range(3):
        targets[r * LANES : (r + 1) * LANES] = target[r]
    found, residuals, every, count = (
        np.empty((2 * starts, n)),
        np.empty(2 * starts),
        np.empty((2 * starts, 4)),
        0,
    )
    bends = np.empty((model.kinds.size, 2))
    for first in range(0, starts, LANES):
        lanes = min(LANES, starts - first)
        for k in range(LANES):  # idle lanes repeat the last start
            row = first + min(k, lanes - 1)
            for j in range(n):
                w.x[j, k] = (
                    present[j] if row == 0 else table[near[(row - 1) * near.size // taken], j]
                )
        if first == 0:
            arcs(model, w)
            for i in range(model.kinds.size):
                bends[i, 0], bends[i, 1] = w.segments[i, 0], w.segments[i, LANES]
        _refine(model, addresses, rows, targets, axis, most_steps, 0.1 * tolerances[0], w, cost)
        before = count
        count = _keep(
            model, scoring, bends, tolerances, lanes, w, work, found, residuals, every, count
        )
        free = n - (3 if rows == 3 else 5)
        if count > before and free > 0:
            _improve(model, addresses, rows, scoring, bends, targets, axis, w)
            _refine(model, addresses, rows, targets, axis, LAST_STEPS, 0.1 * tolerances[0], w, cost)
            count = _keep(
                model, scoring, bends, tolerances, lanes, w, work, found, residuals, every, count
            )
    kept = _apart(model, found[:count], every[:count, 0], spacing)
    return found[kept], residuals[kept], every[kept]


def refine_all(model, starts, target, axis, use_axis, most_steps, residuals, axis_errors):
    """Refine every row of starts (k, n) in place; residuals (k,) [m] and axis errors (k,) [rad] are written."""
    rows = 6 if use_axis else 3
    _refine_all(
        model,
        steps_for(starts.shape[1], rows),
        rows,
        starts,
        target,
        axis,
        most_steps,
        residuals,
        axis_errors,
    )


@njit(**_CACHED)
def _refine_all(model, addresses, rows, starts, target, axis, most_steps, residuals, axis_errors):
    w, cost, targets = make_lanes(model), np.empty(LANES), np.empty(3 * LANES)
    for r in range(3):
        targets[r * LANES : (r + 1) * LANES] = target[r]
    for first in range(0, starts.shape[0], LANES):
        lanes = min(LANES, starts.shape[0] - first)
        for k in range(LANES):
            w.x[:, k] = starts[first + min(k, lanes - 1)]
        _refine(model, addresses, rows, targets, axis, most_steps, STOP_M, w, cost)
        for k in range(lanes):
            starts[first + k] = w.x[:, k]
            residuals[first + k], axis_errors[first + k] = _errors(w, k)


@njit(**COMPILED)
def _refine_block(model, addresses, first, starts, targets, most_steps, residuals):
    w, cost, wanted, total = (
        make_lanes(model),
        np.empty(LANES),
        np.empty(3 * LANES),
        starts.shape[0],
    )
    for k in range(LANES):
        row = min(first + k, total - 1)
        w.x[:, k] = starts[row]
        for r in range(3):
            wanted[r * LANES + k] = targets[row, r]
    _refine(model, addresses, 3, wanted, np.zeros(3), most_steps, STOP_M, w, cost)
    for k in range(min(LANES, total - first)):
        starts[first + k] = w.x[:, k]
        residuals[first + k] = math.sqrt(cost[k])


@njit(**COMPILED)
def _jacobian_block(model, first, actuation, jacobians):
    w, total = make_lanes(model), actuation.shape[0]
    for k in range(LANES):
        w.x[:, k] = actuation[min(first + k, total - 1)]
    evaluate(model, w, 6, w.new_jacobian)
    for k in range(min(LANES, total - first)):
        for j in range(actuation.shape[1]):
            for r in range(6):
                jacobians[first + k, r, j] = w.new_jacobian[j, r * LANES + k] / (
                    model.high[j] - model.low[j]
                )


def refine_each(model, starts, targets, most_steps, residuals):
    """Refine each row of starts (m, n), in place, to its own target (m, 3), on all cores; residuals (m,) [m] are written."""
    _refine_each(model, steps_for(starts.shape[1], 3), starts, targets, most_steps, residuals)


@njit(parallel=True, **_CACHED)
def _refine_each(model, addresses, starts, targets, most_steps, residuals):
    for block in prange((starts.shape[0] + LANES - 1) // LANES):
        _refine_block(
            model, addresses, np.int64(block) * LANES, starts, targets, most_steps, residuals
        )


@njit(parallel=True, **_CACHED)
def twist_jacobians(model, actuation, jacobians):
    """Twist Jacobians (m, 6, n) of actuation (m, n), on all cores."""
    for block in prange((actuation.shape[0] + LANES - 1) // LANES):
        _jacobian_block(model, np.int64(block) * LANES, actuation, jacobians)
