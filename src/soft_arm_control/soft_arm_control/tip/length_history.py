"""Actuator lengths of the last seconds, by the stamps of the measured pressures."""

from collections import deque
from dataclasses import dataclass

import numpy as np

HISTORY_S = 2.0
MAX_AHEAD_S = 0.05  # after the newest sample in which it still holds


@dataclass(frozen=True)
class Sample:
    """Lengths [m], (n,), at a stamp.

    Attributes:
        stamp_s: Time of the measured pressures [s].
        lengths_m: Of the effective pressures, which are after hysteresis and creep.
        lagged_m: Behind them by the mechanical lag.
    """

    stamp_s: float
    lengths_m: np.ndarray
    lagged_m: np.ndarray


class LengthHistory:
    """Samples of the last `HISTORY_S`, in the order of their stamps."""

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque()

    def __bool__(self) -> bool:
        return bool(self._samples)

    @property
    def newest(self) -> Sample:
        """Return the newest sample."""
        return self._samples[-1]

    def add(self, sample: Sample) -> None:
        """Add a sample that is newer than all others."""
        self._samples.append(sample)
        while sample.stamp_s - self._samples[0].stamp_s > HISTORY_S:
            self._samples.popleft()

    def at(self, stamp_s: float) -> Sample | None:
        """Interpolate at a stamp; None outside the history.

        Up to `MAX_AHEAD_S` after the newest sample this returns the newest sample.
        """
        if (
            not self._samples
            or stamp_s < self._samples[0].stamp_s
            or stamp_s > self.newest.stamp_s + MAX_AHEAD_S
        ):
            return None
        after = None
        for sample in reversed(self._samples):
            if sample.stamp_s <= stamp_s:
                if after is None:
                    return sample
                share = (stamp_s - sample.stamp_s) / (after.stamp_s - sample.stamp_s)
                return Sample(
                    stamp_s,
                    sample.lengths_m + share * (after.lengths_m - sample.lengths_m),
                    sample.lagged_m + share * (after.lagged_m - sample.lagged_m),
                )
            after = sample
        return None

    def between(self, start_s: float, stop_s: float) -> list[Sample]:
        """Return the samples at two stamps and all between; empty if the stop is not in here."""
        stop = self.at(stop_s)
        if stop is None:
            return []
        inside = (sample for sample in self._samples if start_s < sample.stamp_s < stop.stamp_s)
        return [self.at(start_s) or self._samples[0], *inside, stop]

    def last(self, duration_s: float) -> list[Sample]:
        """Return the samples of at least the last `duration_s`; empty if the history is shorter."""
        before = [s for s in self._samples if self.newest.stamp_s - s.stamp_s >= duration_s]
        return [s for s in self._samples if s.stamp_s >= before[-1].stamp_s] if before else []
