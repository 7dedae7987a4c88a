"""Hysteresis, creep and lag of inputs: their effect on the arm over time."""

import numpy as np

from soft_arm_kinematics import hysteresis
from soft_arm_kinematics.backends.machine_code import njit

THRESHOLDS = np.array([0.0, 0.06, 0.14, 0.28, 0.5, 0.9])
"""Half-widths of the play operators, in shares of the largest input; the first one has none."""

_WITHOUT_PLAY = np.eye(len(THRESHOLDS))[0]
_play = njit(cache=True)(hysteresis.play)


@njit(cache=True)
def effect(
    times_s: np.ndarray,
    inputs: np.ndarray,
    weights: np.ndarray,
    start: np.ndarray,
    rising_s: float,
    falling_s: float,
    creep_share: float,
    creep_s: float,
) -> np.ndarray:
    """Return the effective inputs, in the unit of the inputs.

    Each input passes a Prandtl-Ishlinskii operator (play operators of half-widths `THRESHOLDS`),
    then creep (a share that follows by a slow first-order lag), then a first-order lag whose time
    constant differs between rise and fall. Source: Krejci and Kuhnen 2001, (4) and (9).

    Args:
        times_s: Times [s], shape (n,).
        inputs: Shape (n, k).
        weights: Of the play operators, shape (j,), sum 1.
        start: Place of each input in its loop at the first sample, -1 (it has risen) to 1 (it has
            fallen), shape (k,).
        rising_s, falling_s: Time constants of the lag [s].
        creep_share, creep_s: Share and time constant [s] of creep.

    Returns:
        Shape (n, k).
    """
    n, k = inputs.shape
    found = np.empty((n, k))
    for i in range(k):
        play = inputs[0, i] + start[i] * THRESHOLDS
        crept = lagged = np.sum(weights * play)
        for sample in range(n):
            value = inputs[sample, i]
            acting = 0.0
            for j in range(len(THRESHOLDS)):
                play[j] = _play(value, THRESHOLDS[j], play[j])
                acting += weights[j] * play[j]
            if sample > 0:
                dt_s = times_s[sample] - times_s[sample - 1]
                crept += (1.0 - np.exp(-dt_s / creep_s)) * (acting - crept)
                whole = (1.0 - creep_share) * acting + creep_share * crept
                constant_s = rising_s if whole > lagged else falling_s
                lagged += (1.0 - np.exp(-dt_s / constant_s)) * (whole - lagged)
            found[sample, i] = lagged
    return found


def lag(times_s: np.ndarray, values: np.ndarray, constant_s: float) -> np.ndarray:
    """Return the first-order lag of values (n, k), at rest at the first sample."""
    start = np.zeros(values.shape[1])
    return effect(times_s, values, _WITHOUT_PLAY, start, constant_s, constant_s, 0.0, constant_s)


def delayed(times_s: np.ndarray, values: np.ndarray, delay_s: float) -> np.ndarray:
    """Return values (n, k) as they were a delay earlier, constant before the first sample."""
    return np.column_stack([np.interp(times_s - delay_s, times_s, v) for v in values.T])
