"""The scores of `scores.principle_scores` for `LANES` actuations at once, compiled, with slopes and curvature."""

import math
from typing import NamedTuple

import numpy as np

from soft_arm_kinematics.backends.compiled_lanes import (
    COMPILED,
    HXX,
    HXY,
    HYY,
    INLINED,
    LANES,
    PULL_X,
    PULL_Y,
    UX,
    UY,
)
from soft_arm_kinematics.backends.machine_code import njit

SHARE_PIECES = 128


class Scoring(NamedTuple):
    """What the scores need besides the arm.

    Attributes:
        weights: (3,) of angle change, bend growth and stiffness.
        pressed: (n,) whether a coordinate has a pressure.
        shares: (n, SHARE_PIECES, 4) share of its pressure range over even pieces of the coordinate's range, as cubics of the share of the
            piece, lowest power first.
    """

    weights: np.ndarray
    pressed: np.ndarray
    shares: np.ndarray


@njit(**INLINED)
def _share(low, scale, pieces, x):
    """Share of the pressure range at x, its slope and curvature by the share of the coordinate's range."""
    at = (x - low) * scale
    piece = min(max(int(at), 0), SHARE_PIECES - 1)
    t, c1, c2, c3 = at - piece, pieces[piece, 1], pieces[piece, 2], pieces[piece, 3]
    share, slope, curvature = (
        pieces[piece, 0] + t * (c1 + t * (c2 + t * c3)),
        c1 + t * (2.0 * c2 + 3.0 * t * c3),
        2.0 * c2 + 6.0 * t * c3,
    )
    return share, slope * SHARE_PIECES, curvature * SHARE_PIECES**2


@njit(**COMPILED)
def scores(model, scoring, present, w, found):
    """Total and the three scores of w, whose arcs are known, into found (4, LANES); present (s, 2) bending vectors now [rad]."""
    segments, weights, pressed = model.kinds.size, scoring.weights, scoring.pressed.sum()
    found[:] = 0.0
    for i in range(segments):
        px, py = present[i]
        was, cheaper, seg, inner = (
            math.sqrt(px * px + py * py),
            (segments - i) / segments,
            w.segments[i],
            w.segments[max(i - 1, 0)],
        )
        planes = 2.0 if i > 0 else 0.0
        for k in range(LANES):
            ux, uy, vx, vy = seg[UX + k], seg[UY + k], inner[UX + k], inner[UY + k]
            u, v, moved = (
                ux * ux + uy * uy,
                vx * vx + vy * vy,
                (ux - px) * (ux - px) + (uy - py) * (uy - py),
            )
            found[1, k] += math.sqrt(moved) * cheaper
            found[2, k] += math.sqrt(u) - was
            found[3, k] += planes * (math.sqrt(u * v) - ux * vx - uy * vy) / max(u + v, 1e-12)
    for j in range(w.x.shape[0]):
        if scoring.pressed[j]:
            low, scale, pieces = (
                model.low[j],
                SHARE_PIECES / (model.high[j] - model.low[j]),
                scoring.shares[j],
            )
            for k in range(LANES):
                found[3, k] += _share(low, scale, pieces, w.x[j, k])[0] / pressed
    for k in range(LANES):
        found[0, k] = weights[0] * found[1, k] + weights[1] * found[2, k] + weights[2] * found[3, k]


@njit(**INLINED)
def score_model(model, scoring, present, rounding, w):
    """Gradients of the totals by shares of the ranges in w.gradient, and matrices that curve about as much in w.hessian, lower halves.

    The kinks of the scores, where a bend is zero or the present one, are rounded off by `rounding`
    [rad]; each length there is replaced by the parabola that touches it from above (iteratively
    reweighted least squares), so that steps do not overshoot.
    """
    segments, n, weights, pressed, gradient, hessian = (
        model.kinds.size,
        w.x.shape[0],
        scoring.weights,
        scoring.pressed.sum(),
        w.gradient,
        w.hessian,
    )
    hessian[:] = 0.0
    gradient[:] = 0.0
    for j in range(n):
        if scoring.pressed[j]:
            low, scale, pieces = (
                model.low[j],
                SHARE_PIECES / (model.high[j] - model.low[j]),
                scoring.shares[j],
            )
            for k in range(LANES):
                _, slope, curvature = _share(low, scale, pieces, w.x[j, k])
                gradient[j, k] = weights[2] * slope / pressed
                hessian[j * n + j, k] = max(weights[2] * curvature / pressed, 0.0)
    rounded = rounding * rounding
    for i in range(segments):
        (px, py), seg, move_weight = (
            present[i],
            w.segments[i],
            weights[0] * (segments - i) / segments,
        )
        for k in range(LANES):
            ux, uy = seg[UX + k], seg[UY + k]
            mx, my = ux - px, uy - py
            by_move = move_weight / math.sqrt(mx * mx + my * my + rounded)
            by_bend = weights[1] / math.sqrt(ux * ux + uy * uy + rounded)
            seg[PULL_X + k], seg[PULL_Y + k] = (
                by_move * mx + by_bend * ux,
                by_move * my + by_bend * uy,
            )
            seg[HXX + k], seg[HXY + k], seg[HYY + k] = by_move + by_bend, 0.0, by_move + by_bend
        for other in (i - 1, i + 1):
            if 0 <= other < segments:
                _pull_of_planes(weights[2], rounded, seg, w.segments[other])
        for a in range(model.counts[i]):
            row, slope_a = model.firsts[i] + a, w.slopes[i, a]
            slopes = gradient[row]
            for k in range(LANES):
                slopes[k] += seg[PULL_X + k] * slope_a[k] + seg[PULL_Y + k] * slope_a[LANES + k]
            for b in range(a + 1):
                slope_b, entry = w.slopes[i, b], hessian[row * n + model.firsts[i] + b]
                for k in range(LANES):
                    ax, ay, bx, by = slope_a[k], slope_a[LANES + k], slope_b[k], slope_b[LANES + k]
                    entry[k] += ax * (seg[HXX + k] * bx + seg[HXY + k] * by) + ay * (
                        seg[HXY + k] * bx + seg[HYY + k] * by
                    )


@njit(**INLINED)
def _pull_of_planes(weight, rounded, seg, neighbour):
    """Add the slopes and curvature of how far a segment's bending plane differs from its neighbour's."""
    for k in range(LANES):
        ux, uy, vx, vy = seg[UX + k], seg[UY + k], neighbour[UX + k], neighbour[UY + k]
        u2, v2 = ux * ux + uy * uy + rounded, vx * vx + vy * vy + rounded
        ratio, below = math.sqrt(v2 / u2), 2.0 * weight / (u2 + v2)
        over = 2.0 * (ratio * u2 - ux * vx - uy * vy) / (u2 + v2)
        seg[PULL_X + k] += below * (ratio * ux - vx - ux * over)
        seg[PULL_Y + k] += below * (ratio * uy - vy - uy * over)
        across = below * ratio / u2
        seg[HXX + k] += across * (uy * uy + rounded)
        seg[HXY + k] -= across * ux * uy
        seg[HYY + k] += across * (ux * ux + rounded)
