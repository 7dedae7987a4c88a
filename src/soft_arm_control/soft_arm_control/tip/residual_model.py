"""Residual model: a Gaussian process that learns the error of the kinematic model during a run.

A Gaussian process (Rasmussen & Williams 2006, ch. 2) over the actuator lengths. Its constant kernel
extrapolates to configurations not yet visited; its squared exponential kernel fits each
neighbourhood to what was measured there. A linear kernel is unsuitable: it
extrapolates distant samples beyond the arm's range of motion, and the loop diverges. The direction
of motion is not an input: where a run contains one direction only, the loop would oscillate. The
bias filter estimates the hysteresis instead.
"""

import numpy as np

# Prior of the model error: orders of magnitude for a pneumatic arm of half a metre, not fitted to
# one rig. Lengths are divided by LENGTH_SCALE_M before they enter.
LENGTH_SCALE_M = 0.040
CONSTANT_M = 0.008
LOCAL_M = 0.002
NOISE_M = 0.0003
CAPACITY = 80
DUPLICATE_M = 0.001  # largest length difference of duplicate configurations


class ResidualModel:
    """Model error of the tip [m] in the base frame as a function of the actuator lengths."""

    def __init__(self, n_actuators: int):
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
        x = lengths_m / LENGTH_SCALE_M
        same = DUPLICATE_M / LENGTH_SCALE_M
        stop = len(self._x)
        if stop and np.abs(self._x[-1] - x).max() <= same:
            stop -= 1
        kept = slice(max(0, stop - CAPACITY + 1), stop)
        self._x = np.vstack((self._x[kept], x))
        self._errors_m = np.vstack((self._errors_m[kept], error_m))
        self._weights_m = np.linalg.solve(self._gram(), self._errors_m)

    def at(self, lengths_m: np.ndarray) -> np.ndarray:
        """Return the expected error [m], shape (3,); zero before the first sample."""
        x = lengths_m / LENGTH_SCALE_M
        return self._kernel(x[None])[0] @ self._weights_m

    def deviation_m(self, lengths_m: np.ndarray) -> float:
        """Return the standard deviation of the error [m] in each direction."""
        x = lengths_m / LENGTH_SCALE_M
        known = self._kernel(x[None])[0]
        explained_m2 = float(known @ np.linalg.solve(self._gram(), known))
        return float(np.sqrt(max(0.0, CONSTANT_M**2 + LOCAL_M**2 - explained_m2)))

    def _gram(self) -> np.ndarray:
        return self._kernel(self._x) + NOISE_M**2 * np.eye(len(self._x))

    def _kernel(self, x: np.ndarray) -> np.ndarray:
        square = np.sum((x[:, None] - self._x[None]) ** 2, axis=-1)
        return CONSTANT_M**2 + LOCAL_M**2 * np.exp(-0.5 * square)
