"""Scores of the compiled solver, with the gradient and the curvature of their total.

The scores follow the arm paper's three principles (`segments.formulas`); the stiffness also counts
how much of their range the pressures use.
"""

from typing import NamedTuple

import numpy as np

from soft_arm_kinematics.backends.compiled_formulas import bend, bend_slope, ik_penalties
from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_kinematics.backends.vectors import INNER, WIDTH, greatest, sqrt

SHARE_PIECES = 128
TINY = 1e-300  # keeps quotients finite where the limits of a held coordinate are equal


class Scoring(NamedTuple):
    """Inputs of the scores other than the arm.

    Attributes:
        weights: (3,) of angle change, bend growth and stiffness.
        pressed: (n,) whether a coordinate has a pressure.
        shares: (n, SHARE_PIECES, 4) share of its pressure range over even pieces of the
            coordinate's range, as cubics of the share of the piece, lowest power first.
    """

    weights: np.ndarray
    pressed: np.ndarray
    shares: np.ndarray


@njit(**INNER)
def pressure_share(chain, scoring, j, w):
    """Return the share of its pressure range of coordinate j at w.x, its slope and curvature.

    Both are by the share of the coordinate's range.
    """
    pieces, scale = scoring.shares[j], SHARE_PIECES / (chain.high[j] - chain.low[j] + TINY)
    for k in range(WIDTH):
        at = (w.numbers[j, k] - chain.low[j]) * scale
        piece = min(max(int(at), 0), SHARE_PIECES - 1)
        t, c1, c2, c3 = at - piece, pieces[piece, 1], pieces[piece, 2], pieces[piece, 3]
        w.values[0, k] = pieces[piece, 0] + t * (c1 + t * (c2 + t * c3))
        w.values[1, k] = (c1 + t * (2.0 * c2 + 3.0 * t * c3)) * SHARE_PIECES
        w.values[2, k] = (2.0 * c2 + 6.0 * t * c3) * SHARE_PIECES**2
    return w.value[0], w.value[1], w.value[2]


@njit(**INNER)
def scores(chain, scoring, present, w):
    """Write the total and the three scores of w.x to w.value; present as in `ik_penalties`."""
    change, growth, stiffness = ik_penalties(chain, w.x, present)
    for j in range(chain.low.size):
        if scoring.pressed[j]:
            share, _, _ = pressure_share(chain, scoring, j, w)
            stiffness = stiffness + share * (1.0 / scoring.pressed.sum())
    weights = scoring.weights
    w.value[0] = change * weights[0] + growth * weights[1] + stiffness * weights[2]
    w.value[1], w.value[2], w.value[3] = change, growth, stiffness


@njit(**INNER)
def score_model(chain, scoring, present, rounding, w):
    """Write the gradient of the total score at w.x to w.gradient, and its curvature to w.hessian.

    The kinks of the scores, where a bend is zero or the present one, are rounded off by `rounding`
    [rad]; each length there is replaced by the parabola that touches it from above (iteratively
    reweighted least squares), so that steps do not overshoot.
    """
    segments, n, weights, zero = chain.kinds.size, chain.low.size, scoring.weights, 0.0 * w.x[0]
    for j in range(n):
        for c in range(j + 1):
            w.hessian[j, c] = zero
        w.gradient[j, 0] = zero
        if scoring.pressed[j]:
            _, slope, curvature = pressure_share(chain, scoring, j, w)
            factor = weights[2] / scoring.pressed.sum()
            w.gradient[j, 0], w.hessian[j, j] = factor * slope, greatest(factor * curvature, 0.0)
    for i in range(segments):
        w.bends[i, 0], w.bends[i, 1], _, _, _ = bend(chain, i, w.x)
    rounded = rounding * rounding
    for i in range(segments):
        ux, uy = w.bends[i, 0], w.bends[i, 1]
        mx, my = ux - present[i, 0], uy - present[i, 1]
        by_move = weights[0] * (segments - i) / segments / sqrt(mx * mx + my * my + rounded)
        by_bend = weights[1] / sqrt(ux * ux + uy * uy + rounded)
        gx, gy = by_move * mx + by_bend * ux, by_move * my + by_bend * uy
        hxx = hyy = by_move + by_bend
        hxy = zero
        for other in (i - 1, i + 1):
            if 0 <= other < segments:
                vx, vy = w.bends[other, 0], w.bends[other, 1]
                u2, v2 = ux * ux + uy * uy + rounded, vx * vx + vy * vy + rounded
                ratio, below = sqrt(v2 / u2), 2.0 * weights[2] / (u2 + v2)
                over = 2.0 * (ratio * u2 - ux * vx - uy * vy) / (u2 + v2)
                gx, gy = (
                    gx + below * (ratio * ux - vx - ux * over),
                    gy + below * (ratio * uy - vy - uy * over),
                )
                across = below * ratio / u2
                hxx = hxx + across * (uy * uy + rounded)
                hxy = hxy - across * ux * uy
                hyy = hyy + across * (ux * ux + rounded)
        for a in range(chain.counts[i]):
            row = chain.firsts[i] + a
            ax, ay, _, _ = bend_slope(chain, i, a, w.x)
            reach = chain.high[row] - chain.low[row]
            w.gradient[row, 0] = w.gradient[row, 0] + (gx * ax + gy * ay) * reach
            for b in range(a + 1):
                column = chain.firsts[i] + b
                bx, by, _, _ = bend_slope(chain, i, b, w.x)
                entry = ax * (hxx * bx + hxy * by) + ay * (hxy * bx + hyy * by)
                both = reach * (chain.high[column] - chain.low[column])
                w.hessian[row, column] = w.hessian[row, column] + entry * both
