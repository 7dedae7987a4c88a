"""The calibrated arm of the PyPI package `soft-robotic-arm`, a plant that others wrote.

Three pairs of chambers bend and lengthen it; their commanded pressures pass a dead time and a lag.
"""

from typing import Any

import numpy as np
from soft_robotic_arm import make_calibrated_sim

from soft_arm_identification.recording import Channels, Recording
from soft_arm_identification.units import UNITS

HZ = 100.0  # of the commands
SAMPLE_EVERY = 5  # commands
HELD_S = 2.0  # each random step
SETTLING_S = 3.0
MAX_PSI = 9.0  # the limit of the package's tracking task
LENGTH_M = 0.296
INPUTS = ('segment_2', 'segment_3', 'segment_4')


def record(seed: int, duration_s: float) -> Recording:
    """Record the tip under random steps of the three pressures; the recording begins at rest.

    Args:
        seed: Of the steps and of the plant.
        duration_s: Duration of the recording [s].
    """
    random, simulation = np.random.default_rng(seed), make_calibrated_sim(control_hz=HZ, seed=seed)
    simulation.reset()
    level_psi = np.full(len(INPUTS), MAX_PSI / 2)
    for _ in range(round(SETTLING_S * HZ)):
        simulation.step(level_psi)
    times_s, levels_psi, tips_m = [], [], []
    for k in range(round(duration_s * HZ)):
        if k and k % round(HELD_S * HZ) == 0:
            level_psi = random.uniform(0.0, MAX_PSI, len(INPUTS))
        seen = simulation.step(level_psi)
        if k % SAMPLE_EVERY == 0:
            times_s.append(k / HZ)
            levels_psi.append(level_psi)
            tips_m.append(np.array(seen['tip_pos']))
    return recording(f'steps_{seed}', np.array(times_s), np.array(levels_psi), np.array(tips_m))


def recording(
    name: str, times_s: np.ndarray, levels_psi: np.ndarray, tips_m: np.ndarray
) -> Recording:
    """Make a recording of times (n,) [s], commanded pressures (n, 3) [psi] and tips (n, 3) [m]."""
    n = len(times_s)
    return Recording(
        name,
        times_s,
        Channels(INPUTS, ('Pa',) * len(INPUTS), levels_psi * UNITS['psi'][1]),
        Channels((), (), np.empty((n, 0))),
        ('tip',),
        tips_m[:, None],
        np.full((n, 1, 4), np.nan),
        LENGTH_M,
    )


class Baseline:
    """The constant pressures of the task: the only baseline that the package ships."""

    def __init__(self, command_psi: np.ndarray):
        self._command_psi = command_psi

    def compute(self, t: float, obs: dict[str, Any], ref: np.ndarray) -> np.ndarray:
        """Return the pressures [psi], shape (3,)."""
        return self._command_psi
