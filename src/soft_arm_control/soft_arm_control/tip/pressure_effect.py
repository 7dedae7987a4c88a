"""Hysteresis and creep: conversion between measured and effective pressures.

The pressure p of each chamber passes the hysteresis of its wall, a Prandtl-Ishlinskii operator
y = (1 - sum w) p + sum w play(p), and creep: a share of y follows with a first-order lag. The
result is the effective pressure, which determines the configuration.

The inverse is exact and needs no additional state: from the current state, y is a monotonic,
piecewise linear function of p with corners where a play operator begins to move. Source of model
and inverse: P. Krejci, K. Kuhnen, Inverse control of systems with hysteresis and creep, IEE
Proceedings - Control Theory and Applications 148(3), 185-192, 2001.
"""

import numpy as np

from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_kinematics.hysteresis import play

INVERSE_TOLERANCE_PA = 1e-6


class PressureEffect:
    """State of hysteresis and creep of n chambers.

    Args:
        dynamics: Identified hysteresis and creep.
        start_pa: Initial pressures [Pa], shape (n,), without hysteresis and creep.
    """

    def __init__(self, dynamics: Dynamics, start_pa: np.ndarray):
        self._dynamics = dynamics
        self._thresholds_pa = np.array(dynamics.hysteresis_thresholds_pa)[:, None]  # (k, 1)
        self._weights = np.array(dynamics.hysteresis_weights)
        self._linear = 1.0 - self._weights.sum()
        self._crept_pa = np.array(start_pa, float)
        self._plays_pa = np.tile(self._crept_pa, (len(self._weights), 1))  # (k, n)

    def advance(self, dt_s: float, pressures_pa: np.ndarray) -> np.ndarray:
        """Advance by `dt_s` to pressures [Pa], shape (n,); return the effective ones."""
        self._plays_pa = play(pressures_pa, self._thresholds_pa, self._plays_pa)
        acting_pa = self._superposed(pressures_pa, self._plays_pa)
        share = lag_share(dt_s, self._dynamics.creep_time_constant_s)
        self._crept_pa = self._crept_pa + share * (acting_pa - self._crept_pa)
        return self._with_creep(acting_pa)

    def effective(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Return the effective pressures [Pa], (n,), just after a step to pressures [Pa], (n,)."""
        return self._with_creep(self.settled(pressures_pa))

    def settled(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Return the effective pressures [Pa], (n,), after such a step when creep has ended."""
        plays_pa = play(pressures_pa, self._thresholds_pa, self._plays_pa)
        return self._superposed(pressures_pa, plays_pa)

    def pressures(self, effective_pa: np.ndarray) -> np.ndarray:
        """Return the pressures [Pa], (n,), with these immediate effective pressures [Pa], (n,).

        Inverse of `effective`.
        """
        share = self._dynamics.creep_share
        acting_pa = (effective_pa - share * self._crept_pa) / (1.0 - share)
        pressures_pa = acting_pa
        # Newton's method. The slope of y grows with the distance from the current pressure, so each
        # step before the solution passes at least one corner; there are k on each side.
        for _ in range(len(self._weights) + 2):
            plays_pa = play(pressures_pa, self._thresholds_pa, self._plays_pa)
            residual_pa = acting_pa - self._superposed(pressures_pa, plays_pa)
            if (np.abs(residual_pa) < INVERSE_TOLERANCE_PA).all():
                break
            slope = 1.0 - self._weights @ (plays_pa == self._plays_pa)
            pressures_pa = pressures_pa + residual_pa / slope
        return pressures_pa

    def _superposed(self, pressures_pa: np.ndarray, plays_pa: np.ndarray) -> np.ndarray:
        return self._linear * pressures_pa + self._weights @ plays_pa

    def _with_creep(self, acting_pa: np.ndarray) -> np.ndarray:
        share = self._dynamics.creep_share
        return (1.0 - share) * acting_pa + share * self._crept_pa


def lag_share(dt_s: float, time_constant_s: float) -> float:
    """Return the share of a step that a first-order lag has covered after a time."""
    return 1.0 - float(np.exp(-dt_s / time_constant_s)) if time_constant_s > 0 else 1.0
