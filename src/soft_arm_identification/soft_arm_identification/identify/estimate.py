"""Estimate unknown parameters by their prediction errors, with intervals.

Gauss-Newton with the first guesses as prior. Errors of successive samples are correlated: their
autocorrelation enters weights and covariance. Samples with large errors count less (Huber's
weights). The covariance holds an error of the model, too, a Gaussian process over the states.
Sources: L. Ljung, System Identification, 2nd ed., 1999, sections 7.2, 9.3 and 15.2; W. K. Newey,
K. D. West, Econometrica 55(3), 1987 (weights of the lags); M. C. Kennedy, A. O'Hagan, J. R. Stat.
Soc. B 63(3), 2001 (error of the model).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import least_squares

from soft_arm_identification.identify.unknowns import Unknown

ROUNDS, EVALUATIONS = 3, 10
TOLERANCE = 1e-4  # relative, of each round
MAX_LAG = 0.15  # of the samples, up to which errors are correlated
HUBER = 1.5  # of the rms of typical errors, above which an error counts less
MAD = 0.6745  # median of absolute values of a standard normal distribution
DETERMINED = 0.5  # largest ratio of posterior to prior standard deviation of a determined parameter
CONFOUNDED = 0.95  # least absolute correlation of two confounded parameters
STATE_LENGTH = 1.5  # of the error of the model, in standard deviations of each state
MODEL_SAMPLES = 1000  # at most, at which the error of the model is taken


class Model(Protocol):
    """A model whose parameters are estimated from values of m samples.

    Attributes:
        unknowns: The parameters.
        values: Measured values, (m, d).
        lengths: Samples of each run, in their order.
        least_error: Least standard deviation of the error of the model, in the unit of the values.
    """

    unknowns: list[Unknown]
    values: np.ndarray
    lengths: list[int]
    least_error: float

    def prepare(self, x: np.ndarray) -> None:
        """Fix what later predictions keep, near parameters (k,)."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Return the values (m, d) at parameters (k,)."""

    def derivatives(self, x: np.ndarray) -> np.ndarray:
        """Return the derivatives of `predict`, (m, d, k)."""

    def states(self, x: np.ndarray) -> np.ndarray:
        """Return the states (m, s) over which the error of the model is smooth."""


@dataclass(frozen=True)
class Estimate:
    """Estimated parameters.

    Attributes:
        unknowns: The parameters.
        x: Estimates, (k,).
        covariance: From the autocorrelation of the prediction errors and the error of the model,
            (k, k).
        errors: Predicted less measured values, (m, d).
    """

    unknowns: Sequence[Unknown]
    x: np.ndarray
    covariance: np.ndarray
    errors: np.ndarray

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations, (k,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def determined(self) -> np.ndarray:
        """True for each parameter that the recordings determine, (k,)."""
        spreads = np.array([unknown.spread for unknown in self.unknowns])
        return self.deviations < DETERMINED * spreads

    @property
    def confounded(self) -> list[tuple[str, str, float]]:
        """Pairs of confounded parameters, with their correlation."""
        correlation = self.covariance / np.outer(self.deviations, self.deviations)
        rows, columns = np.nonzero(np.triu(np.abs(correlation) > CONFOUNDED, 1))
        return [
            (self.unknowns[i].name, self.unknowns[j].name, float(correlation[i, j]))
            for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        ]

    def value(self, name: str) -> float:
        """Return the estimate of a parameter."""
        return float(self.x[[unknown.name for unknown in self.unknowns].index(name)])


def estimate(model: Model, first_error: float, on_step: Callable[[], None]) -> Estimate:
    """Estimate the parameters of a model.

    Args:
        model: The model.
        first_error: Expected error of a value after the first round, in its unit.
        on_step: Called before each evaluation of the derivatives.
    """
    guess, spread, low, high = (
        np.array([getattr(unknown, key) for unknown in model.unknowns])
        for key in ('guess', 'spread', 'low', 'high')
    )
    bounds = (low - guess) / spread, (high - guess) / spread
    z, eye = np.zeros(len(guess)), np.eye(len(guess))
    scale = np.full((len(model.values), 1), first_error)
    for _ in range(ROUNDS):
        model.prepare(guess + spread * z)

        def residuals(z: np.ndarray, scale: np.ndarray = scale) -> np.ndarray:
            errors = (model.predict(guess + spread * z) - model.values) / scale
            return np.concatenate([errors.ravel(), z])

        def jacobian(z: np.ndarray, scale: np.ndarray = scale) -> np.ndarray:
            on_step()
            found = model.derivatives(guess + spread * z) * spread / scale[:, :, None]
            return np.concatenate([found.reshape(-1, len(z)), eye])

        found = least_squares(
            residuals, z, jacobian, bounds, max_nfev=EVALUATIONS, xtol=TOLERANCE, ftol=TOLERANCE
        )
        z = found.x
        errors = model.predict(guess + spread * z) - model.values
        sizes = np.sqrt(np.mean(errors**2, axis=1, keepdims=True))
        share = np.sqrt(np.minimum(1.0, HUBER * np.median(sizes) / MAD / np.maximum(sizes, 1e-12)))
        correlation = _autocorrelation(share * errors, model.lengths)
        per_error = 1.0 + 2.0 * correlation[1:].sum()
        scale = np.sqrt(np.mean((share * errors) ** 2) * per_error) / share
    x = guess + spread * z
    rows = model.derivatives(x) * spread / scale[:, :, None]
    inverse = np.linalg.inv(np.tensordot(rows, rows, ((0, 1), (0, 1))) + eye)
    middle = eye + _correlated(rows, correlation / per_error, model.lengths)
    weighted = rows / scale[:, :, None]
    middle += _model_error(weighted, share * errors, model.states(x), model.least_error)
    covariance = inverse @ middle @ inverse * np.outer(spread, spread)
    return Estimate(model.unknowns, x, covariance, errors)


def _autocorrelation(errors: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """Weighted autocorrelation of the errors over the lags, (l,), first 1."""
    most = max(2, int(MAX_LAG * max(lengths)))
    sums = np.zeros(most)
    for run in np.split(errors, np.cumsum(lengths)[:-1]):
        for lag in range(min(most, len(run))):
            sums[lag] += (run[lag:] * run[: len(run) - lag]).sum()
    return np.maximum(sums / sums[0], 0.0) * (1.0 - np.arange(most) / most)


def _correlated(rows: np.ndarray, correlation: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """Covariance (k, k) of the gradient by errors with a covariance (l,) over the lags.

    Args:
        rows: Derivatives of the scaled errors by the scaled parameters, (m, d, k).
        correlation: Covariance of the scaled errors.
        lengths: Samples of each run.
    """
    found = np.zeros((rows.shape[-1],) * 2)
    for run in np.split(rows, np.cumsum(lengths)[:-1]):
        for lag, weight in enumerate(correlation[: len(run)]):
            product = np.tensordot(run[lag:], run[: len(run) - lag], ((0, 1), (0, 1)))
            found += weight * (product + product.T) / (1.0 if lag else 2.0)
    return found


def _model_error(
    rows: np.ndarray, errors: np.ndarray, states: np.ndarray, least: float
) -> np.ndarray:
    """Covariance (k, k) of the gradient by an error of the model that is smooth over the states.

    Its variance is the covariance of errors at near states that are far apart in time.

    Args:
        rows: Derivatives by the scaled parameters, weighted, (m, d, k).
        errors: Errors, (m, d).
        states: States of the samples, (m, s).
        least: Least standard deviation.
    """
    step = 1 + (len(rows) - 1) // MODEL_SAMPLES
    some, few = np.swapaxes(rows[::step], 0, 1), errors[::step]
    chosen = states[::step] / (STATE_LENGTH * np.std(states, axis=0) + 1e-12)
    apart = np.square(chosen[:, None] - chosen).sum(axis=2)
    order = np.arange(len(few))
    soon = np.abs(order[:, None] - order) < MAX_LAG * len(few)
    nearest = np.where(soon, np.inf, apart).argmin(axis=1)
    variance = max(least**2, float(np.mean(few * few[nearest])))
    gradients = np.swapaxes(some, 1, 2) @ np.exp(-apart / 2.0) @ some
    return step**2 * variance * gradients.sum(axis=0)
