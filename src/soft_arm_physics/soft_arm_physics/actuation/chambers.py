"""Chambers: the way from a valve's target to the pressure that acts on a body's shape.

Each chamber has a valve with lag and limited rate, or fills through a flow resistance; its pressure
then passes the hysteresis of the wall (Prandtl-Ishlinskii) and creep. A chamber without any of
them follows its target at once.
"""

import math
from typing import NamedTuple

import numpy as np

from soft_arm_kinematics import hysteresis
from soft_arm_kinematics.backends.machine_code import njit

ATMOSPHERE_PA = 101_325.0

_play = njit(cache=True, nogil=True)(hysteresis.play)


class Chambers(NamedTuple):
    """State and parameters of n chambers with at most k play operators each.

    Attributes:
        target_pa: Pressures to which the valves settle [Pa] gauge, (n,).
        lag_s: Time constants of the valves [s], (n,); 0: the pressure follows at once.
        rate_limit_pa_s: Largest rates of the pressures [Pa/s], (n,).
        resistance_pa_s_m3: Flow resistances between source and chamber [Pa s/m^3], (n,), for a flow
            in cubic metres at ambient pressure; 0: no filling.
        volume_m3: Volumes of the straight chambers [m^3], (n,).
        volume_per_bend_m3_rad: Growth of the straight chambers' volumes with the bend [m^3/rad],
            (n,). A bent one grows in proportion to its volume, which so stays positive.
        bend_rad, bend_rate_rad_s: Bends of the bodies and their rates, (n,); set by the chain.
        thresholds_pa, weights: Play half-widths [Pa] and weights, (n, k); the linear part has
            weight 1 - sum.
        creep_share, creep_time_s: Share of the effective pressure that creeps, and time constant
            [s], (n,).
        pressure_pa, play_pa, crept_pa: State: chamber pressures (n,), play operators (n, k), crept
            pressures (n,) [Pa].
        effective_pa: Result: pressures that act on the shape [Pa], (n,).
    """

    target_pa: np.ndarray
    lag_s: np.ndarray
    rate_limit_pa_s: np.ndarray
    resistance_pa_s_m3: np.ndarray
    volume_m3: np.ndarray
    volume_per_bend_m3_rad: np.ndarray
    bend_rad: np.ndarray
    bend_rate_rad_s: np.ndarray
    thresholds_pa: np.ndarray
    weights: np.ndarray
    creep_share: np.ndarray
    creep_time_s: np.ndarray
    pressure_pa: np.ndarray
    play_pa: np.ndarray
    crept_pa: np.ndarray
    effective_pa: np.ndarray


@njit(cache=True, nogil=True)
def step_chambers(dt_s: float, c: Chambers) -> None:
    """Advance all chambers by `dt_s` [s], in place."""
    for i in range(len(c.pressure_pa)):
        if c.resistance_pa_s_m3[i] > 0.0:
            # Isothermal gas: V dp/dt = p_0 (source - p) / R - p_abs dV/dt.
            resistance = c.resistance_pa_s_m3[i] / ATMOSPHERE_PA
            growth_per_rad = c.volume_per_bend_m3_rad[i] / c.volume_m3[i]
            volume = c.volume_m3[i] * math.exp(growth_per_rad * c.bend_rad[i])
            growth = volume * growth_per_rad * c.bend_rate_rad_s[i]
            absolute = c.pressure_pa[i] + ATMOSPHERE_PA
            settled = c.target_pa[i] - absolute * growth * resistance
            decay = math.exp(-dt_s / (resistance * volume))
            c.pressure_pa[i] = settled + (c.pressure_pa[i] - settled) * decay
        elif c.lag_s[i] > 0.0:
            rate = (c.target_pa[i] - c.pressure_pa[i]) / c.lag_s[i]
            limit = c.rate_limit_pa_s[i]
            c.pressure_pa[i] += dt_s * min(max(rate, -limit), limit)
        else:
            c.pressure_pa[i] = c.target_pa[i]
        p, linear = c.pressure_pa[i], 1.0
        for k in range(c.weights.shape[1]):
            linear -= c.weights[i, k]
        y = linear * p
        for k in range(c.weights.shape[1]):
            threshold = c.thresholds_pa[i, k]
            c.play_pa[i, k] = _play(p, threshold, c.play_pa[i, k])
            y += c.weights[i, k] * c.play_pa[i, k]
        c.crept_pa[i] += dt_s * (y - c.crept_pa[i]) / c.creep_time_s[i]
        c.effective_pa[i] = (1.0 - c.creep_share[i]) * y + c.creep_share[i] * c.crept_pa[i]
