"""Residual model: a Gaussian process that learns the error of the kinematic model during a run.

A Gaussian process (Rasmussen & Williams 2006, ch. 2) over the actuator lengths. Its constant kernel
extrapolates to configurations not yet visited; its squared exponential kernel fits each
neighbourhood to what was measured there. A linear kernel is unsuitable: it
extrapolates distant samples beyond the arm's range of motion, and the loop diverges. The direction
of motion is not an input: where a run contains one direction only, the loop would oscillate. The
bias filter estimates the hysteresis instead.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ResidualModelSettings:
    """Prior of the model error; lengths are divided by `length_scale_m` before they enter.

    The standard deviations are orders of magnitude for a pneumatic arm of half a metre, not fitted
    to one rig.
    """

    length_scale_m: float = 0.040
    constant_m: float = 0.008
    local_m: float = 0.002
    noise_m: float = 0.0003
    capacity: int = 80
    duplicate_m: float = 0.001  # largest length difference of duplicate configurations


class ResidualModel:
    """Model error of the tip [m] in the base frame as a function of the actuator lengths."""

    def __init__(
        self,
        n_actuators: int,
        settings: ResidualModelSettings = ResidualModelSettings(),
    ):
        self._settings = settings
        self._x: np.ndarray = np.empty((0, n_actuators))
        self._errors_m: np.ndarray = np.empty((0, 3))
        self._weights_m: np.ndarray = np.empty((0, 3))

    def __len__(self) -> int:
        return len(self._x)

    def add(self, lengths_m: np.ndarray, error_m: np.ndarray) -> None:
        """Add an error measured at rest; beyond the capacity the oldest sample is dropped.

        At the configuration of the newest sample the new error replaces it, so that holding one
        configuration does not displace all other samples.

        Args:
            lengths_m: Actuator lengths [m], shape (n,).
            error_m: True tip minus model tip [m], shape (3,).
        """
        x = lengths_m / self._settings.length_scale_m
        same = self._settings.duplicate_m / self._settings.length_scale_m
        stop = len(self._x)
        if stop and np.abs(self._x[-1] - x).max() <= same:
            stop -= 1
        kept = slice(max(0, stop - self._settings.capacity + 1), stop)
        self._x = np.vstack((self._x[kept], x))
        self._errors_m = np.vstack((self._errors_m[kept], error_m))
        gram = self._kernel(self._x) + self._settings.noise_m**2 * np.eye(len(self._x))
        self._weights_m = np.linalg.solve(gram, self._errors_m)

    def at(self, lengths_m: np.ndarray) -> np.ndarray:
        """Return the expected error [m], shape (3,); zero before the first sample."""
        x = lengths_m / self._settings.length_scale_m
        return self._kernel(x[None])[0] @ self._weights_m

    def _kernel(self, x: np.ndarray) -> np.ndarray:
        s = self._settings
        square = np.sum((x[:, None] - self._x[None]) ** 2, axis=-1)
        return s.constant_m**2 + s.local_m**2 * np.exp(-0.5 * square)
