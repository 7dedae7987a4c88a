"""Polynomials of the inputs and of their first-order lags."""

from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np

from soft_arm_identification.arm_sections import ArmSections
from soft_arm_identification.models.memory import lag
from soft_arm_identification.models.model import Parameter, Scaling, with_offset
from soft_arm_identification.recording import Recording

DEGREE = 2
LAGS_S = 0.3, 2.0
RIDGE = 1e-4  # per sample


class Polynomial:
    """The tip as a polynomial of degree 2 of the inputs and of their first-order lags.

    Args:
        arm: The arm.
        lags_s: Time constants [s].
    """

    def __init__(self, arm: ArmSections, lags_s: Sequence[float] = ()):
        self._arm, self._lags_s = arm, () if arm.at_rest else tuple(lags_s)

    def fit(self, recordings: Sequence[Recording]) -> None:
        """Ridge regression; see `Model.fit`."""
        self._scaling = Scaling.of(self._arm, recordings)
        features = np.concatenate([self._features(recording) for recording in recordings])
        tips_m = np.concatenate([recording.tip_m for recording in recordings])
        known = np.isfinite(tips_m).all(axis=1)
        terms = _terms(features[known])
        ridge = RIDGE * len(terms) * np.eye(terms.shape[1])
        self._x = np.linalg.solve(terms.T @ terms + ridge, terms.T @ tips_m[known])

    def predict(self, recording: Recording, horizon: int | None = None) -> np.ndarray:
        """Predict the tip; see `Model.predict`."""
        free_m = _terms(self._features(recording)) @ self._x
        return with_offset(free_m, recording.tip_m, horizon)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Coefficients of the terms, of inputs in shares of the largest one."""
        return {
            f'{axis}_{term}': Parameter(float(value), 'm')
            for axis, values in zip('xyz', self._x.T, strict=True)
            for term, value in enumerate(values)
        }

    def _features(self, recording: Recording) -> np.ndarray:
        inputs = self._scaling.inputs(self._arm, recording)
        lagged = [lag(recording.time_s, inputs, constant_s) for constant_s in self._lags_s]
        return np.hstack([inputs, *lagged])


def _terms(features: np.ndarray) -> np.ndarray:
    """Products of up to `DEGREE` features (n, k), shape (n, m)."""
    terms = [np.ones(len(features))]
    for degree in range(1, DEGREE + 1):
        for factors in combinations_with_replacement(features.T, degree):
            terms.append(np.prod(factors, axis=0))
    return np.column_stack(terms)


def with_lags(arm: ArmSections) -> Polynomial:
    """Polynomial of inputs and lags."""
    return Polynomial(arm, LAGS_S)
