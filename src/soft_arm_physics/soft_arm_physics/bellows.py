"""Laws of one bellows: length curve, force, and the way from valve target to effective pressure.

The force law follows from the measured curve L = f(p) and the effective area A alone: F = A (p_eff
- f^-1(L)) pushes the ends apart, vanishes on the curve, and its stiffness A / f'(p) is largest in
vacuum.
"""

import math

import numpy as np

from soft_arm_kinematics.backends.machine_code import njit

# Below this argument the logarithm of the inverse curve is continued by its tangent, so that it is
# defined for every length of the chain.
MIN_CURVE_ARGUMENT = 0.05


@njit(cache=True)
def step_pressures(
    dt_s: float,
    target_pa: np.ndarray,
    lag_s: float,
    rate_limit_pa_s: float,
    thresholds_pa: np.ndarray,
    weights: np.ndarray,
    creep_share: float,
    creep_time_s: float,
    pressure_pa: np.ndarray,
    play_pa: np.ndarray,
    crept_pa: np.ndarray,
    effective_pa: np.ndarray,
) -> None:
    """Advance valve lag, Prandtl-Ishlinskii hysteresis and creep of every chamber, in place.

    Args:
        dt_s: Step [s].
        target_pa: Pressures to which the valves settle [Pa], shape (n,).
        lag_s: Time constant of the valve [s].
        rate_limit_pa_s: Largest pressure rate [Pa/s].
        thresholds_pa: Play half-widths [Pa], shape (k,).
        weights: Play weights, shape (k,); the linear part has weight 1 - sum.
        creep_share: Share of the effective pressure that creeps, 0..1.
        creep_time_s: Time constant of the creep [s].
        pressure_pa: State: chamber pressures [Pa], shape (n,).
        play_pa: State: play operators [Pa], shape (n, k).
        crept_pa: State: crept pressures [Pa], shape (n,).
        effective_pa: Result: effective pressures [Pa], shape (n,).
    """
    linear = 1.0 - weights.sum()
    for i in range(len(pressure_pa)):
        rate = (target_pa[i] - pressure_pa[i]) / lag_s
        pressure_pa[i] += dt_s * min(max(rate, -rate_limit_pa_s), rate_limit_pa_s)
        p = pressure_pa[i]
        y = linear * p
        for k in range(len(thresholds_pa)):
            play_pa[i, k] = max(p - thresholds_pa[k], min(p + thresholds_pa[k], play_pa[i, k]))
            y += weights[k] * play_pa[i, k]
        crept_pa[i] += dt_s * (y - crept_pa[i]) / creep_time_s
        effective_pa[i] = (1.0 - creep_share) * y + creep_share * crept_pa[i]


@njit(cache=True)
def chain_forces(
    qpos: np.ndarray,
    effective_pa: np.ndarray,
    rest_m: np.ndarray,
    span_m: np.ndarray,
    scale_pa: np.ndarray,
    area_m2: np.ndarray,
    radius_m: np.ndarray,
    cosine: np.ndarray,
    sine: np.ndarray,
    cells: np.ndarray,
    rest_length_m: np.ndarray,
    bellows_start: np.ndarray,
    slide_start: np.ndarray,
    slide_dof: np.ndarray,
    hinge_start: np.ndarray,
    hinge_x_dof: np.ndarray,
    hinge_y_dof: np.ndarray,
    damping_time_s: float,
    force: np.ndarray,
    damping: np.ndarray,
) -> None:
    """Compute the generalised forces of all bellows on the pseudo-rigid chain, in place.

    They derive from an energy, summed over half cells. A cell bends at its centre, by its two
    hinges. For a bend angle a, a half cell whose side of the tangent polygon has length t has arc
    length t (a/2) / tan(a/2), which puts the slides between the cells on the true arc.

    Args:
        qpos: Joint positions [m, rad], shape (nq,); every joint has one degree of freedom.
        effective_pa, rest_m, span_m, scale_pa, area_m2, radius_m, cosine, sine: Per bellows, shape
            (n,): effective pressure [Pa], curve L = rest + span (exp(p/scale) - 1), area [m^2],
            distance from the axis [m] and direction.
        cells: Cells of each segment, shape (s,).
        rest_length_m: Segment lengths with all slides at zero [m], shape (s,).
        bellows_start, slide_start, hinge_start: First bellows, slide and hinge pair of each
            segment, shape (s + 1,).
        slide_dof, hinge_x_dof, hinge_y_dof: Addresses in `qpos`.
        damping_time_s: Damping / stiffness [s].
        force: Result [N, N m], shape (nq,).
        damping: Result, diagonal [N s/m, N m s/rad], shape (nq,).
    """
    for s in range(len(cells)):
        n = cells[s]
        half = 0.5 * rest_length_m[s] / n
        for i in range(slide_start[s], slide_start[s + 1]):
            force[slide_dof[i]] = 0.0
            damping[slide_dof[i]] = 0.0
        for c in range(n):
            x, y = hinge_x_dof[hinge_start[s] + c], hinge_y_dof[hinge_start[s] + c]
            ux, uy = qpos[x], qpos[y]
            a2 = ux * ux + uy * uy
            arc = 1.0 - a2 / 12.0 - a2 * a2 / 720.0  # (a/2) / tan(a/2)
            d_arc = -1.0 / 6.0 - a2 / 180.0  # its derivative over a
            force[x] = force[y] = damping[x] = damping[y] = 0.0
            for side in range(2):
                local = c + side
                slide = slide_dof[slide_start[s] + local]
                share = 1.0 if local == 0 or local == n else 0.5
                tangent = half + share * qpos[slide]
                for b in range(bellows_start[s], bellows_start[s + 1]):
                    offset = 0.5 * radius_m[b] * (ux * cosine[b] + uy * sine[b])
                    length = 2 * n * (tangent * arc - offset)
                    strain = (length - rest_m[b]) / span_m[b]
                    argument = 1.0 + strain
                    if argument > MIN_CURVE_ARGUMENT:
                        p = scale_pa[b] * math.log1p(strain)
                    else:
                        p = scale_pa[b] * (
                            math.log(MIN_CURVE_ARGUMENT) + argument / MIN_CURVE_ARGUMENT - 1.0
                        )
                        argument = MIN_CURVE_ARGUMENT
                    push = area_m2[b] * (effective_pa[b] - p)
                    stiffness = 2 * n * area_m2[b] * scale_pa[b] / (span_m[b] * argument)
                    gx = tangent * d_arc * ux - 0.5 * radius_m[b] * cosine[b]
                    gy = tangent * d_arc * uy - 0.5 * radius_m[b] * sine[b]
                    force[slide] += push * arc * share
                    force[x] += push * gx
                    force[y] += push * gy
                    damping[slide] += damping_time_s * stiffness * share
                    damping[x] += damping_time_s * stiffness * gx * gx
                    damping[y] += damping_time_s * stiffness * gy * gy
