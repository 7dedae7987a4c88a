"""Pressures of chambers over time: valves, hysteresis and creep."""

from collections.abc import Sequence

import numpy as np

from soft_arm_identification.errors import RecordingError
from soft_arm_identification.identify.unknowns import Unknown
from soft_arm_identification.recording import Channels
from soft_arm_kinematics import hysteresis
from soft_arm_kinematics.backends.machine_code import njit

GRID_S = 0.02  # step of the grid on which pressures are computed
_play = njit(cache=True)(hysteresis.play)


def valve_unknowns() -> list[Unknown]:
    """Return time constant, rate limit and delay of valves, as unknown parameters."""
    return [
        Unknown('valve_time_constant', 's', 0.2, 0.2, 0.005, 5.0),
        Unknown('valve_rate_limit', 'Pa/s', 2e5, 2e5, 5e3, 2e6),
        Unknown('valve_delay', 's', 0.03, 0.03, 0.0, 1.0),
    ]


def on_grid(
    times_s: np.ndarray, channels: Channels, chambers: Sequence[str], held: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return times (g,) [s], `GRID_S` apart, and the pressures of chambers there, (g, n) [Pa].

    Args:
        times_s: Times of the channels, (m,).
        channels: The pressures.
        chambers: Names of the chambers.
        held: Whether a pressure holds until the next sample, as a command does; else it is
            interpolated.

    Raises:
        RecordingError: If a chamber has no channel in Pa.
    """
    units = dict(zip(channels.names, channels.units, strict=True))
    for name in chambers:
        if units.get(name) != 'Pa':
            raise RecordingError(
                f'chamber {name} of the robot: the recording has '
                f'{", ".join(f"{n} [{u}]" for n, u in units.items()) or "no inputs"}; name its '
                'inputs as the chambers of the robot file, with a unit of pressure'
            )
    values = channels.values[:, [channels.names.index(name) for name in chambers]]
    grid_s = np.arange(times_s[0], times_s[-1] + 2 * GRID_S, GRID_S)
    if held:
        latest = np.searchsorted(times_s, grid_s, 'right') - 1
        return grid_s, values[np.clip(latest, 0, len(times_s) - 1)]
    return grid_s, np.column_stack([np.interp(grid_s, times_s, v) for v in values.T])


def valve_response(
    grid_s: np.ndarray,
    commands_pa: np.ndarray,
    time_constant_s: float,
    rate_limit_pa_s: float,
    delay_s: float,
) -> np.ndarray:
    """Return the pressures (g, n) [Pa] of first-order valves with a delay and a limited rate.

    The first command is taken as reached.

    Args:
        grid_s: Times, `GRID_S` apart, (g,).
        commands_pa: Commanded pressures, (g, n).
        time_constant_s, rate_limit_pa_s, delay_s: Of all valves.
    """
    late_s = grid_s - delay_s
    late_pa = np.column_stack([np.interp(late_s, grid_s, p) for p in commands_pa.T])
    return _filled(late_pa, 1.0 - np.exp(-GRID_S / time_constant_s), rate_limit_pa_s * GRID_S)


@njit(cache=True)
def _filled(commands_pa: np.ndarray, share: float, limit_pa: float) -> np.ndarray:
    found = np.empty_like(commands_pa)
    found[0] = commands_pa[0]
    for t in range(1, len(found)):
        for i in range(found.shape[1]):
            change = share * (commands_pa[t - 1, i] - found[t - 1, i])
            found[t, i] = found[t - 1, i] + min(max(change, -limit_pa), limit_pa)
    return found


@njit(cache=True)
def effective_pressures(
    pressures_pa: np.ndarray,
    thresholds_pa: np.ndarray,
    weights: np.ndarray,
    creep_share: float,
    creep_s: float,
) -> np.ndarray:
    """Return the effective pressures (n, k) [Pa], as `PressureEffect` of the controller.

    Args:
        pressures_pa: Pressures, `GRID_S` apart, shape (n, k). Before them the chambers rested.
        thresholds_pa, weights: Of the play operators, shape (j,); the linear part is 1 - sum.
        creep_share, creep_s: Share and time constant [s] of creep.
    """
    n, k = pressures_pa.shape
    found = np.empty((n, k))
    linear, share = 1.0 - weights.sum(), 1.0 - np.exp(-GRID_S / creep_s)
    for i in range(k):
        plays = np.full(len(weights), pressures_pa[0, i])
        crept = pressures_pa[0, i]
        for t in range(n):
            p = pressures_pa[t, i]
            acting = linear * p
            for j in range(len(weights)):
                plays[j] = _play(p, thresholds_pa[j], plays[j])
                acting += weights[j] * plays[j]
            crept += share * (acting - crept)
            found[t, i] = (1.0 - creep_share) * acting + creep_share * crept
    return found
