"""Latest pressures of one chamber, interpolated at the times of poses."""

from collections import deque

import numpy as np

LENGTH = 100


class PressureHistory:
    """The latest `LENGTH` stamped pressures.

    Args:
        age_s: Largest time between a pose and the nearest pressure [s].

    Attributes:
        samples: Stamps [s] and pressures [Pa], oldest first.
    """

    def __init__(self, age_s: float):
        self._age_s = age_s
        self.samples: deque[tuple[float, float]] = deque(maxlen=LENGTH)

    def add(self, time_s: float, pressure_pa: float) -> None:
        """Append a pressure [Pa]; an earlier stamp than the last clears the history."""
        if self.samples and time_s < self.samples[-1][0]:
            self.samples.clear()  # the clock was set back, or one stamp was wrong
        self.samples.append((time_s, pressure_pa))

    def at(self, time_s: float) -> float | None:
        """Return the pressure [Pa] interpolated at a time; None without a sample near it."""
        if not self.samples:
            return None
        times_s, pressures_pa = np.array(self.samples).T
        if np.abs(times_s - time_s).min() > self._age_s:
            return None
        return float(np.interp(time_s, times_s, pressures_pa))
