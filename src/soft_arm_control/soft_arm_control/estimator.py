"""Where the tip is: the model fed with measured pressures, plus an estimate of the model's error from the camera.

The model tip at an image's stamp is the forward kinematics of the pressures measured then, seen through the identified lag of the
mechanics and creep of the bellows. What the camera sees minus that is the model error: partly known beforehand from the error map, the
rest a random walk whose steps grow with the distance travelled. As the comparison is made at the image's own stamp, neither the
camera's delay nor the valves' lag can wind anything up.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from soft_arm_control.dynamics import Dynamics
from soft_arm_control.error_map import ErrorMap
from soft_arm_kinematics.arm import Arm


@dataclass(frozen=True)
class EstimatorSettings:
    """Statistics of the model error that the error map does not know."""

    initial_deviation_m: float = 0.010
    drift_m_per_sqrt_s: float = 0.0004  # creep
    drift_m2_per_m: float = 3.0e-4  # variance per metre of tip travel: 10 % of the way, correlated over 30 mm
    timing_s: float = 0.015  # what a moving tip makes uncertain in a comparison
    history_s: float = 2.0
    gate_deviations: float = 6.0  # a ring further off than this many deviations is not believed ..
    gate_images: int = 5  # .. unless so many in a row agree


@dataclass(frozen=True)
class _Sample:
    stamp_s: float
    pressures_pa: np.ndarray  # effective: lagged, with creep


class TipEstimator:
    """Model error of the tip, tracked image by image."""

    def __init__(self, arm: Arm, error_map: ErrorMap, dynamics: Dynamics, settings: EstimatorSettings = EstimatorSettings()):
        self._arm, self._map, self._dynamics, self._settings = arm, error_map, dynamics, settings
        self._lagged_pa = self._crept_pa = np.zeros(arm.n_actuators)
        self._history: deque[_Sample] = deque()
        self._rest_m = np.zeros(3)
        self._covariance_m2 = settings.initial_deviation_m**2 * np.eye(3)
        self._last: tuple[float, np.ndarray] | None = None  # stamp and model tip of the last comparison
        self._refused = 0

    @property
    def covariance_m2(self) -> np.ndarray:
        """Of the estimated model error [m^2], shape (3, 3)."""
        return self._covariance_m2

    @property
    def deviation_m(self) -> float:
        """Largest standard deviation of the estimated model error along any axis [m]."""
        return float(np.sqrt(np.linalg.eigvalsh(self._covariance_m2)[-1]))

    def add_pressures(self, stamp_s: float, pressures_pa: np.ndarray) -> None:
        """Take measured gauge pressures [Pa], shape (n,); out-of-order samples are dropped."""
        pressures_pa = np.asarray(pressures_pa, float)
        if not self._history:
            self._lagged_pa = self._crept_pa = pressures_pa
            self._history.append(_Sample(stamp_s, pressures_pa))
            return
        last = self._history[-1]
        if stamp_s <= last.stamp_s:
            return
        d, dt_s = self._dynamics, stamp_s - last.stamp_s
        self._lagged_pa = self._lagged_pa + _share(dt_s, d.mechanical_lag_s) * (pressures_pa - self._lagged_pa)
        self._crept_pa = self._crept_pa + _share(dt_s, d.creep_time_constant_s) * (self._lagged_pa - self._crept_pa)
        self._history.append(_Sample(stamp_s, (1.0 - d.creep_share) * self._lagged_pa + d.creep_share * self._crept_pa))
        while stamp_s - self._history[0].stamp_s > self._settings.history_s:
            self._history.popleft()

    def add_ring(self, stamp_s: float, ring_m: np.ndarray, covariance_m2: np.ndarray) -> bool:
        """Compare a seen ring centre [m] with the model at the image's stamp; return whether it was used.

        Not used: an image older than the history or the last one, or a ring that contradicts the estimate (an outlier).
        """
        sample = self._at(stamp_s)
        if sample is None or (self._last is not None and stamp_s <= self._last[0]):
            return False
        s, lengths_m = self._settings, self._lengths(sample)
        tip_m = self._arm.tip_from_lengths(lengths_m)
        variance_m2 = 0.0
        speed_m_s = 0.0
        if self._last is not None:
            dt_s, travel_m = stamp_s - self._last[0], float(np.linalg.norm(tip_m - self._last[1]))
            variance_m2 = s.drift_m_per_sqrt_s**2 * dt_s + s.drift_m2_per_m * travel_m
            speed_m_s = travel_m / dt_s
        prior_m2 = self._covariance_m2 + variance_m2 * np.eye(3)
        innovation_m = ring_m - tip_m - self._map.at(lengths_m) - self._rest_m
        total_m2 = prior_m2 + covariance_m2 + (s.timing_s * speed_m_s) ** 2 * np.eye(3)
        weighed = np.linalg.solve(total_m2, np.column_stack((innovation_m, prior_m2)))
        self._last = (stamp_s, tip_m)
        if innovation_m @ weighed[:, 0] > s.gate_deviations**2 and self._refused < s.gate_images:
            self._covariance_m2 = prior_m2
            self._refused += 1
            return False
        self._refused = 0
        self._rest_m = self._rest_m + prior_m2 @ weighed[:, 0]
        self._covariance_m2 = prior_m2 - prior_m2 @ weighed[:, 1:]
        return True

    def error_m(self, lengths_m: np.ndarray) -> np.ndarray:
        """Expected true tip minus model tip at these lengths [m], shape (3,)."""
        return self._map.at(lengths_m) + self._rest_m

    def remember(self) -> None:
        """Write the present estimate into the error map. Call it at rest."""
        sample = self._history[-1]
        lengths_m = self._lengths(sample)
        total_m = self.error_m(lengths_m)
        self._map.add(lengths_m, total_m)
        self._rest_m = total_m - self._map.at(lengths_m)

    def creep_deficit_pa(self, effective_pa: np.ndarray) -> np.ndarray:
        """What pressures must be raised by [Pa], shape (n,), to have now the effect that they have at rest, after creep."""
        share = self._dynamics.creep_share
        return share / (1.0 - share) * (effective_pa - self._crept_pa)

    def tip_m(self) -> np.ndarray:
        """Where the tip is now [m], shape (3,): model at the newest measured pressures plus the estimated error."""
        lengths_m = self._lengths(self._history[-1])
        return self._arm.tip_from_lengths(lengths_m) + self.error_m(lengths_m)

    def _lengths(self, sample: _Sample) -> np.ndarray:
        return self._arm.lengths(np.clip(sample.pressures_pa, *self._arm.pressure_limits_pa))  # sensors read a little past full vacuum

    def _at(self, stamp_s: float) -> _Sample | None:
        """History interpolated at a stamp; None outside it (up to 50 ms ahead the newest sample stands in)."""
        if not self._history or stamp_s < self._history[0].stamp_s or stamp_s > self._history[-1].stamp_s + 0.05:
            return None
        after = None
        for sample in reversed(self._history):
            if sample.stamp_s <= stamp_s:
                if after is None:
                    return sample
                share = (stamp_s - sample.stamp_s) / (after.stamp_s - sample.stamp_s)
                return _Sample(stamp_s, sample.pressures_pa + share * (after.pressures_pa - sample.pressures_pa))
            after = sample
        return None


def _share(dt_s: float, time_constant_s: float) -> float:
    """Share of the way that a first-order lag goes in a time."""
    return 1.0 - np.exp(-dt_s / time_constant_s) if time_constant_s > 0 else 1.0
