"""Koopman operator by extended dynamic mode decomposition (EDMD) with delays."""

from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np

from soft_arm_identification.arm_sections import ArmSections
from soft_arm_identification.models.grid import Grid
from soft_arm_identification.models.model import Parameter, Scaling
from soft_arm_identification.recording import Recording

DELAYS = 4  # positions and inputs before the present ones in the state
RIDGE = 1e-4  # per sample, on standardised values


class Koopman:
    """Linear dynamics of lifted states: z' = A z + B u.

    The state z holds the last positions of the tip, the products of pairs of the latest one, and
    the last inputs. Source: Bruder et al., Data-driven control of soft robots using Koopman
    operator theory, IEEE Transactions on Robotics 37(3), 948-961, 2021.
    """

    def __init__(self, arm: ArmSections):
        self._arm = arm

    def fit(self, recordings: Sequence[Recording]) -> None:
        """Ridge regression from each state to the next; see `Model.fit`."""
        self._scaling = Scaling.of(self._arm, recordings)
        grids = [Grid.of(self._arm, self._scaling, recording) for recording in recordings]
        tips_m = np.concatenate([grid.tip_m for grid in grids])
        self._mean_m, self._spread_m = tips_m.mean(axis=0), tips_m.std() + 1e-12
        before, after = [], []
        for grid in grids:
            states, inputs = self._states(grid), grid.inputs
            before.append(np.hstack([states[:-1], inputs[1:], np.ones((len(states) - 1, 1))]))
            after.append(states[1:])
        left, right = np.concatenate(before), np.concatenate(after)
        ridge = RIDGE * len(left) * np.eye(left.shape[1])
        self._x = np.linalg.solve(left.T @ left + ridge, left.T @ right)

    def predict(self, recording: Recording, horizon: int | None = None) -> np.ndarray:
        """Predict the tip; see `Model.predict`.

        The model steps by 0.05 s: fewer positions are used than `horizon` permits.
        """
        grid = Grid.of(self._arm, self._scaling, recording)
        if horizon is None:
            tips = self._roll(self._states(grid)[:1], grid.inputs[None])[0]
        else:
            ahead = grid.steps(recording, horizon)
            states = self._states(grid)[: len(grid.inputs) - ahead]
            shifted = [grid.inputs[k : k + len(states)] for k in range(ahead + 1)]
            tips = self._roll(states, np.stack(shifted, axis=1))[:, -1]
            tips = np.concatenate([self._standard(grid.tip_m[:ahead]), tips])
        return grid.at(recording.time_s, tips * self._spread_m + self._mean_m)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Spectral radius of A; the matrix itself has no physical meaning."""
        size = self._x.shape[1]
        return {
            'spectral_radius': Parameter(float(abs(np.linalg.eigvals(self._x[:size])).max()), '1')
        }

    def _standard(self, tips_m: np.ndarray) -> np.ndarray:
        return (tips_m - self._mean_m) / self._spread_m

    def _states(self, grid: Grid) -> np.ndarray:
        """Lifted states (g, m); before the first sample everything was at rest."""
        tips = self._standard(grid.tip_m)
        parts = [_delayed(tips, delay) for delay in range(DELAYS + 1)]
        products = [np.prod(pair, axis=0) for pair in combinations_with_replacement(tips.T, 2)]
        parts += [np.column_stack(products)]
        return np.hstack(parts + [_delayed(grid.inputs, delay) for delay in range(DELAYS)])

    def _roll(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Tips (b, g, 3) from states (b, m) under inputs (b, g, k); the first are the states'."""
        tips = np.empty((*inputs.shape[:2], 3))
        tips[:, 0] = states[:, :3]
        one = np.ones((len(states), 1))
        for k in range(1, inputs.shape[1]):
            states = np.hstack([states, inputs[:, k], one]) @ self._x
            states = np.clip(states, -10.0, 10.0)  # an unstable fit stays finite
            tips[:, k] = states[:, :3]
        return tips


def _delayed(values: np.ndarray, delay: int) -> np.ndarray:
    """Values (g, k) a number of samples earlier; the first ones are repeated."""
    return values[np.maximum(np.arange(len(values)) - delay, 0)]
