"""Tracking with a fitted model: its inverse at the extrapolated reference, and integral action."""

from collections import deque
from typing import Any

import numpy as np

from soft_arm_benchmarks.outside_plant import plant
from soft_arm_identification.models.model import Model

DIFFERENCE_S = 0.1  # step of the reference's derivatives
HALF = round(DIFFERENCE_S * plant.HZ)
STEP_PSI = 0.05  # of the model's derivatives
SETTLED_S = 120.0


class ModelInverse:
    """Law of the package's `Controller` protocol.

    The pressures hold the extrapolated reference by the model's settled gain at the start, plus the
    integral of the measured error. The reference is extrapolated by the delay of the plant with its
    first two derivatives. The gain of the integral is 1 / (4 delay); a plant of pure delay becomes
    unstable at pi / (2 delay).

    Args:
        model: A model that was fitted to recordings of the plant.
        start_psi: Pressures at which the arm is at rest at the start, shape (3,).
        ahead_s: Dead time and lag from command to tip [s].
    """

    def __init__(self, model: Model, start_psi: np.ndarray, ahead_s: float):
        self._model, self._start_psi, self._ahead_s = model, start_psi, ahead_s
        self._integral_m = np.zeros(2)
        self._home_m: np.ndarray | None = None
        self._inverse = np.zeros((len(start_psi), 2))
        self._references_m: deque[np.ndarray] = deque(maxlen=2 * HALF + 1)

    def compute(self, t: float, obs: dict[str, Any], ref: np.ndarray) -> np.ndarray:
        """Return the pressures [psi], shape (3,)."""
        tip_m = np.array(obs['tip_pos'][:2])
        if self._home_m is None:
            self._home_m = tip_m
            self._inverse = np.linalg.pinv(self._gains(obs['tip_pos'])[:2])
        self._references_m.append(np.array(ref[:2]))
        self._integral_m += (ref[:2] - tip_m) / (4.0 * self._ahead_s * plant.HZ)
        wanted_m = self._extrapolated_m() - self._home_m + self._integral_m
        return np.clip(self._start_psi + self._inverse @ wanted_m, 0.0, plant.MAX_PSI)

    def _extrapolated_m(self) -> np.ndarray:
        """Return the reference [m] when the present command acts."""
        last = self._references_m
        if len(last) <= 2 * HALF:
            return last[-1]
        before, middle, now = last[0], last[HALF], last[-1]
        acceleration = (now - 2 * middle + before) / DIFFERENCE_S**2
        velocity = (now - middle) / DIFFERENCE_S + acceleration * DIFFERENCE_S / 2
        return now + self._ahead_s * velocity + self._ahead_s**2 / 2 * acceleration

    def _gains(self, home_m: np.ndarray) -> np.ndarray:
        """Return the derivatives of the settled tip [m/psi], shape (3, 3), at the start."""
        columns = []
        for step_psi in STEP_PSI * np.eye(len(self._start_psi)):
            low_m, high_m = (
                self._settled_m(self._start_psi + sign * step_psi, home_m) for sign in (-1, 1)
            )
            columns.append((high_m - low_m) / (2 * STEP_PSI))
        return np.column_stack(columns)

    def _settled_m(self, level_psi: np.ndarray, home_m: np.ndarray) -> np.ndarray:
        """Tip [m] of the model after these pressures (3,) [psi] were held."""
        times_s = np.array([0.0, SETTLED_S])
        held = plant.recording('held', times_s, np.tile(level_psi, (2, 1)), np.tile(home_m, (2, 1)))
        return self._model.predict(held)[-1]
