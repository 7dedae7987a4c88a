"""Estimate unknown parameters by their prediction errors, with intervals.

Gauss-Newton with the first guesses as prior. Errors of successive samples are correlated: their
autocorrelation enters weights and covariance. Samples with large errors count less (Huber's
weights). Source: L. Ljung, System Identification, 2nd ed., 1999, sections 7.2, 9.3 and 15.2;
W. K. Newey, K. D. West, Econometrica 55(3), 1987 (weights of the lags).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import least_squares

from soft_arm_identification.identify.unknowns import Unknown

ROUNDS, EVALUATIONS = 3, 10
TOLERANCE = 1e-4  # relative, of each round
MAX_LAG = 0.1  # of the samples, up to which errors are correlated
HUBER = 1.5  # of the rms of typical errors, above which an error counts less
MAD = 0.6745  # median of absolute values of a standard normal distribution
DETERMINED = 0.5  # largest ratio of posterior to prior standard deviation of a determined parameter
CONFOUNDED = 0.95  # least absolute correlation of two confounded parameters
BLOCKS = 20  # of consecutive samples, for the jackknife
BINS = 5  # of samples by rate and by deflection, for the jackknife


class Model(Protocol):
    """A model whose parameters are estimated from values of m samples.

    Attributes:
        unknowns: The parameters.
        values: Measured values, (m, d).
        lengths: Samples of each run, in their order.
    """

    unknowns: list[Unknown]
    values: np.ndarray
    lengths: list[int]

    def prepare(self, x: np.ndarray) -> None:
        """Fix what later predictions keep, near parameters (k,)."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Return the values (m, d) at parameters (k,)."""

    def derivatives(self, x: np.ndarray) -> np.ndarray:
        """Return the derivatives of `predict`, (m, d, k)."""


@dataclass(frozen=True)
class Estimate:
    """Estimated parameters.

    Attributes:
        unknowns: The parameters.
        x: Estimates, (k,).
        covariance: From the autocorrelation of the prediction errors, scaled up to the largest
            variance from a jackknife over time, rate and deflection, which shows model errors,
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
        """Whether each parameter is practically identifiable from the recordings, (k,)."""
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
    rows = model.derivatives(guess + spread * z) * spread / scale[:, :, None]
    correlation = correlation / per_error
    covariance = _covariance(rows, errors / scale, correlation, model.values, model.lengths, z)
    return Estimate(
        model.unknowns,
        guess + spread * z,
        covariance * np.outer(spread, spread),
        errors,
    )


def _autocorrelation(errors: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """Weighted autocorrelation of the errors over the lags, (l,), first 1."""
    most = max(2, int(MAX_LAG * max(lengths)))
    sums = np.zeros(most)
    for run in np.split(errors, np.cumsum(lengths)[:-1]):
        for lag in range(min(most, len(run))):
            sums[lag] += (run[lag:] * run[: len(run) - lag]).sum()
    return np.maximum(sums / sums[0], 0.0) * (1.0 - np.arange(most) / most)


def _covariance(
    rows: np.ndarray,
    errors: np.ndarray,
    correlation: np.ndarray,
    values: np.ndarray,
    lengths: Sequence[int],
    z: np.ndarray,
) -> np.ndarray:
    """Covariance (k, k) of the scaled parameters.

    Args:
        rows: Derivatives of the scaled errors by the scaled parameters, (m, d, k).
        errors: Scaled errors, (m, d).
        correlation: Covariance of the scaled errors over the lags, (l,).
        values: Measured values, (m, d).
        lengths: Samples of each run.
        z: Scaled parameters, (k,).
    """
    k = rows.shape[-1]
    flat = rows.reshape(-1, k)
    information = flat.T @ flat + np.eye(k)
    inverse, middle = np.linalg.inv(information), np.eye(k)
    for run in np.split(rows, np.cumsum(lengths)[:-1]):
        for lag, weight in enumerate(correlation[: len(run)]):
            product = np.tensordot(run[lag:], run[: len(run) - lag], ((0, 1), (0, 1)))
            middle += weight * (product + product.T) / (1.0 if lag else 2.0)
    widest = np.diag(inverse @ middle @ inverse)
    for groups in _partitions(values, lengths):
        moved = []
        for group in groups:  # one Gauss-Newton step without each
            own = rows[group].reshape(-1, k)
            gradient = flat.T @ errors.ravel() + z - own.T @ errors[group].ravel()
            moved.append(-np.linalg.solve(information - own.T @ own, gradient))
        change = np.array(moved) - np.mean(moved, axis=0)
        variances = (len(groups) - 1) / len(groups) * np.square(change).sum(axis=0)
        widest = np.maximum(widest, variances)
    covariance = inverse @ middle @ inverse
    wider = np.sqrt(widest / np.diag(covariance))
    return covariance * np.outer(wider, wider)


def _partitions(values: np.ndarray, lengths: Sequence[int]) -> list[list[np.ndarray]]:
    """Groups of samples by time, by rate and by distance from the mean of all values (m, d)."""
    runs = np.split(values, np.cumsum(lengths)[:-1])
    rate = np.concatenate([np.linalg.norm(np.gradient(run, axis=0), axis=1) for run in runs])
    distance = np.linalg.norm(values - values.mean(axis=0), axis=1)
    return [
        np.array_split(np.arange(len(values)), BLOCKS),
        np.array_split(np.argsort(rate), BINS),
        np.array_split(np.argsort(distance), BINS),
    ]
