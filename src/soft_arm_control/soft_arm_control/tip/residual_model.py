"""What has been learnt about the model's error over the configurations visited in this run.

A Gaussian process (Rasmussen & Williams 2006, ch. 2) over the actuator lengths. A constant and a
linear term carry what was seen to configurations not yet visited; the local term holds each
neighbourhood to what was measured there. The direction of motion is left out on purpose: as an
input it made the loop oscillate where a run had shown one direction only (hysteresis then is the
estimator's).
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ErrorMapSettings:
    """Prior of the model error; lengths are scaled by `length_scale_m` before they enter.

    The deviations state what order of error a pneumatic arm of half a metre shows, not what one rig
    was seen to have.
    """

    length_scale_m: float = 0.040
    constant_m: float = 0.008
    linear_m: float = 0.006
    local_m: float = 0.002
    noise_m: float = 0.0003
    capacity: int = 80
    same_m: float = 0.001  # a place this near the newest, in every length, is the same one


class ResidualModel:
    """Model error of the tip [m], base frame, as a function of the lengths."""

    def __init__(
        self, middle_lengths_m: np.ndarray, settings: ErrorMapSettings = ErrorMapSettings()
    ):
        self._middle_m, self._settings = np.asarray(middle_lengths_m, float), settings
        n = len(self._middle_m)
        self._x, self._errors_m = np.empty((0, n)), np.empty((0, 3))
        self._weights_m = np.empty((0, 3))

    def __len__(self) -> int:
        return len(self._x)

    def add(self, lengths_m: np.ndarray, error_m: np.ndarray) -> None:
        """Remember the error seen at rest at these lengths; the oldest is forgotten beyond the capacity.

        At the place that was remembered last the newer error replaces the older: staying there must
        not push out all others.

        Args:
            lengths_m: Actuator lengths [m], shape (n,).
            error_m: True tip minus model tip [m], shape (3,).
        """
        x = (lengths_m - self._middle_m) / self._settings.length_scale_m
        same = self._settings.same_m / self._settings.length_scale_m
        stop = (
            len(self._x) - 1
            if len(self._x) and np.abs(self._x[-1] - x).max() <= same
            else len(self._x)
        )
        kept = slice(max(0, stop - self._settings.capacity + 1), stop)
        self._x = np.vstack((self._x[kept], x))
        self._errors_m = np.vstack((self._errors_m[kept], error_m))
        gram = self._kernel(self._x) + self._settings.noise_m**2 * np.eye(len(self._x))
        self._weights_m = np.linalg.solve(gram, self._errors_m)

    def at(self, lengths_m: np.ndarray) -> np.ndarray:
        """Expected error [m], shape (3,); zero before anything was learnt."""
        return (
            self._kernel(((lengths_m - self._middle_m) / self._settings.length_scale_m)[None])[0]
            @ self._weights_m
        )

    def _kernel(self, x):
        s = self._settings
        square = np.sum((x[:, None] - self._x[None]) ** 2, axis=-1)
        return (
            s.constant_m**2 + s.linear_m**2 * (x @ self._x.T) + s.local_m**2 * np.exp(-0.5 * square)
        )
