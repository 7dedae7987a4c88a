"""Measured pressures from commanded ones: first-order valves with delay and limited rate."""

from collections.abc import Sequence

import numpy as np

from soft_arm_identification.identify.pressures import on_grid, valve_response, valve_unknowns
from soft_arm_identification.identify.unknowns import Unknown
from soft_arm_identification.recording import Recording

STEP_SHARE = 1e-3  # of the spread, of finite differences


class ValveModel:
    """Model of the measured pressures; gain and offset of each chamber are unknown, too.

    Args:
        chambers: Names of the chambers.
        recordings: Recordings with commanded and measured pressures.
    """

    least_error = 0.0

    def __init__(self, chambers: Sequence[str], recordings: Sequence[Recording]):
        self.unknowns: list[Unknown] = valve_unknowns()
        for name in chambers:
            self.unknowns.append(Unknown(f'{name}.valve_gain', '1', 1.0, 0.05))
            self.unknowns.append(Unknown(f'{name}.valve_offset', 'Pa', 0.0, 2e3))
        self._grids = [on_grid(r.time_s, r.inputs, chambers, held=True) for r in recordings]
        self._times_s = [r.time_s for r in recordings]
        measured = [
            r.measured.values[:, [r.measured.names.index(name) for name in chambers]]
            for r in recordings
        ]
        self.values, self.lengths = np.concatenate(measured), [len(part) for part in measured]

    def prepare(self, x: np.ndarray) -> None:
        """Nothing has to be fixed."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Return the pressures [Pa], (m, n), at parameters (k,)."""
        gains, offsets_pa = x[3::2], x[4::2]
        return gains * self._reached(x[:3]) + offsets_pa

    def derivatives(self, x: np.ndarray) -> np.ndarray:
        """Return the derivatives of `predict`, (m, n, k)."""
        reached_pa = self._reached(x[:3])
        found = np.zeros((*reached_pa.shape, len(x)))
        for i, unknown in enumerate(self.unknowns[:3]):
            changed = x[:3].copy()
            changed[i] += STEP_SHARE * unknown.spread
            moved_pa = self._reached(changed) - reached_pa
            found[:, :, i] = x[3::2] * moved_pa / (STEP_SHARE * unknown.spread)
        columns = np.arange(reached_pa.shape[1])
        found[:, columns, 3 + 2 * columns] = reached_pa
        found[:, columns, 4 + 2 * columns] = 1.0
        return found

    def states(self, x: np.ndarray) -> np.ndarray:
        """Return the pressures [Pa], (m, n)."""
        return self.predict(x)

    def _reached(self, valve: np.ndarray) -> np.ndarray:
        found = []
        for (grid_s, commands_pa), times_s in zip(self._grids, self._times_s, strict=True):
            pressures_pa = valve_response(grid_s, commands_pa, *valve)
            found.append(np.column_stack([np.interp(times_s, grid_s, p) for p in pressures_pa.T]))
        return np.concatenate(found)
