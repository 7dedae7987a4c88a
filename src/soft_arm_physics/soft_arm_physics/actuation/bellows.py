"""Force law of bellows on the chain of their segment.

The force law follows from the measured curve L = f(p) and the effective area A alone: F = A (p_eff
- f^-1(L)) pushes the ends apart, vanishes on the curve, and its stiffness A / f'(p) is largest in
vacuum.
"""

import math
from typing import NamedTuple

import numpy as np

from soft_arm_kinematics.backends.machine_code import njit

# Below this argument the logarithm of the inverse curve is continued by its tangent, so that it is
# defined for every length of the chain.
MIN_CURVE_ARGUMENT = 0.05


class BellowsChain(NamedTuple):
    """All bellows of a model, b of them, and the s segments that they drive.

    Attributes:
        chamber: Chamber of each bellows, (b,).
        rest_m, span_m, scale_pa: Curves L = rest + span (exp(p / scale) - 1), (b,). Where the scale
            is 0, the pressure is interpolated in the table: rest and span are its first length and
            its step [m].
        table_pa: Pressures of such curves at equal steps of length, (b, steps + 1); else nan.
        area_m2, radius_m, cosine, sine: Effective areas [m^2], distances from the axis [m] and
            directions, (b,).
        cells: Cells of each segment, (s,).
        rest_length_m: Segment lengths with all slides at zero [m], (s,).
        damping_time_s: Damping / stiffness [s], (s,).
        bellows_start, slide_start, hinge_start: First bellows, slide and hinge pair of each
            segment, (s + 1,).
        slide_dof, hinge_x_dof, hinge_y_dof: Addresses of the joints.
    """

    chamber: np.ndarray
    rest_m: np.ndarray
    span_m: np.ndarray
    scale_pa: np.ndarray
    table_pa: np.ndarray
    area_m2: np.ndarray
    radius_m: np.ndarray
    cosine: np.ndarray
    sine: np.ndarray
    cells: np.ndarray
    rest_length_m: np.ndarray
    damping_time_s: np.ndarray
    bellows_start: np.ndarray
    slide_start: np.ndarray
    hinge_start: np.ndarray
    slide_dof: np.ndarray
    hinge_x_dof: np.ndarray
    hinge_y_dof: np.ndarray


@njit(cache=True, nogil=True)
def curve_pressure(length_m: float, b: int, c: BellowsChain) -> tuple[float, float]:
    """Return the pressure [Pa] at which bellows b has a length [m], and its slope [Pa/m]."""
    x = (length_m - c.rest_m[b]) / c.span_m[b]
    if c.scale_pa[b] == 0.0:
        table = c.table_pa[b]
        i = min(max(int(x), 0), len(table) - 2)
        rise = table[i + 1] - table[i]
        return table[i] + rise * (x - i), rise / c.span_m[b]
    argument = 1.0 + x
    if argument > MIN_CURVE_ARGUMENT:
        return c.scale_pa[b] * math.log1p(x), c.scale_pa[b] / (c.span_m[b] * argument)
    p = math.log(MIN_CURVE_ARGUMENT) + argument / MIN_CURVE_ARGUMENT - 1.0
    return c.scale_pa[b] * p, c.scale_pa[b] / (c.span_m[b] * MIN_CURVE_ARGUMENT)


@njit(cache=True, nogil=True)
def add_bellows_forces(
    q: np.ndarray,
    effective_pa: np.ndarray,
    c: BellowsChain,
    force: np.ndarray,
    damping: np.ndarray,
) -> None:
    """Set the generalised forces of all bellows on the pseudo-rigid chain, in place.

    They derive from an energy, summed over half cells. A cell bends at its centre, by its two
    hinges. For a bend angle a, a half cell whose side of the tangent polygon has length t has arc
    length t (a/2) / tan(a/2), which puts the slides between the cells on the true arc.

    Args:
        q: Joint positions [m, rad], shape (nv,).
        effective_pa: Effective pressures of all chambers [Pa], at least (chambers,).
        c: The bellows.
        force: Result [N, N m], shape (nv,).
        damping: Result, diagonal [N s/m, N m s/rad], shape (nv,).
    """
    for s in range(len(c.cells)):
        n = c.cells[s]
        half = 0.5 * c.rest_length_m[s] / n
        time_s = c.damping_time_s[s]
        for i in range(c.slide_start[s], c.slide_start[s + 1]):
            force[c.slide_dof[i]] = 0.0
            damping[c.slide_dof[i]] = 0.0
        for cell in range(n):
            x, y = c.hinge_x_dof[c.hinge_start[s] + cell], c.hinge_y_dof[c.hinge_start[s] + cell]
            ux, uy = q[x], q[y]
            a2 = ux * ux + uy * uy
            arc = 1.0 - a2 / 12.0 - a2 * a2 / 720.0  # (a/2) / tan(a/2)
            d_arc = -1.0 / 6.0 - a2 / 180.0  # its derivative over a
            force[x] = force[y] = damping[x] = damping[y] = 0.0
            for side in range(2):
                local = cell + side
                slide = c.slide_dof[c.slide_start[s] + local]
                share = 1.0 if local == 0 or local == n else 0.5
                tangent = half + share * q[slide]
                for b in range(c.bellows_start[s], c.bellows_start[s + 1]):
                    offset = 0.5 * c.radius_m[b] * (ux * c.cosine[b] + uy * c.sine[b])
                    length = 2 * n * (tangent * arc - offset)
                    p, slope = curve_pressure(length, b, c)
                    push = c.area_m2[b] * (effective_pa[c.chamber[b]] - p)
                    stiffness = 2 * n * c.area_m2[b] * slope
                    gx = tangent * d_arc * ux - 0.5 * c.radius_m[b] * c.cosine[b]
                    gy = tangent * d_arc * uy - 0.5 * c.radius_m[b] * c.sine[b]
                    force[slide] += push * arc * share
                    force[x] += push * gx
                    force[y] += push * gy
                    damping[slide] += time_s * stiffness * share
                    damping[x] += time_s * stiffness * gx * gx
                    damping[y] += time_s * stiffness * gy * gy


def bellows_lengths(q: np.ndarray, c: BellowsChain) -> np.ndarray:
    """Return the lengths of all bellows [m], (b,), at joint positions (nv,)."""
    found = np.zeros(len(c.chamber))
    for s, n in enumerate(c.cells):
        slides = c.slide_dof[c.slide_start[s] : c.slide_start[s + 1]]
        cells = slice(c.hinge_start[s], c.hinge_start[s + 1])
        bends = np.stack([q[c.hinge_x_dof[cells]], q[c.hinge_y_dof[cells]]])
        shares = np.full(n + 1, 0.5)
        shares[[0, -1]] = 1.0
        ends_m = 0.5 * c.rest_length_m[s] / n + shares * q[slides]
        arcs_m = (ends_m[:-1] + ends_m[1:]) * (1.0 - np.square(bends).sum(axis=0) / 12.0)
        own = slice(c.bellows_start[s], c.bellows_start[s + 1])
        towards = c.cosine[own, None] * bends[0] + c.sine[own, None] * bends[1]
        found[own] = arcs_m.sum() - c.radius_m[own] * towards.sum(axis=1)
    return found


def bellows_stiffness(c: BellowsChain, n_dof: int) -> np.ndarray:
    """Return the stiffness of all bellows in the straight robot, (n_dof, n_dof) [N/m, N, N m/rad].

    It is the negative Jacobian of their forces, by central differences.
    """
    pressures_pa, damping = np.zeros(c.chamber.max(initial=-1) + 1), np.zeros(n_dof)
    found, step = np.zeros((n_dof, n_dof)), 1e-6
    for dof in np.concatenate([c.slide_dof, c.hinge_x_dof, c.hinge_y_dof]):
        for sign in (-1.0, 1.0):
            q, force = np.zeros((2, n_dof))
            q[dof] = sign * step
            add_bellows_forces(q, pressures_pa, c, force, damping)
            found[:, dof] -= sign * force / (2.0 * step)
    return (found + found.T) / 2.0
