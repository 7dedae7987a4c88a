"""Where the tip is: the model fed with measured pressures, plus an estimate of the model's error from the camera.

The model tip at an image's stamp is the forward kinematics of the pressures measured then, seen
through the identified lag of the mechanics and creep of the bellows. What the camera sees minus
that is the model error: partly known beforehand from the error map, the rest a random walk whose
steps grow with the distance travelled. As the comparison is made at the image's own stamp, neither
the camera's delay nor the valves' lag can wind anything up.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.residual_model import ResidualModel
from soft_arm_kinematics.arm import BellowsArm


@dataclass(frozen=True)
class EstimatorSettings:
    """Statistics of the model error that the error map does not know."""

    initial_deviation_m: float = 0.010
    drift_m_per_sqrt_s: float = 0.0004  # creep
    drift_m2_per_m: float = (
        3.0e-4  # variance per metre of tip travel: 10 % of the way, correlated over 30 mm
    )
    timing_s: float = 0.015  # what a moving tip makes uncertain in a comparison
    history_s: float = 2.0
    gate_deviations: float = 6.0  # a ring further off than this many deviations is not believed ..
    gate_images: int = 5  # .. unless it agrees with so many before it that were not believed either
    largest_error_share: float = (
        0.25  # of the arm's length: no model is further off, so something else is wrong
    )
    rest_s: float = 0.3  # at rest the model tip has moved ..
    rest_m: float = 0.0005  # .. less than this for so long


@dataclass(frozen=True)
class _Sample:
    stamp_s: float
    pressures_pa: np.ndarray  # effective: lagged, with creep


class BiasFilter:
    """Model error of the tip, tracked image by image."""

    def __init__(
        self,
        arm: BellowsArm,
        residual_model: ResidualModel,
        dynamics: Dynamics,
        settings: EstimatorSettings = EstimatorSettings(),
    ):
        self._arm, self._map, self._dynamics, self._settings = (
            arm,
            residual_model,
            dynamics,
            settings,
        )
        self._lagged_pa = self._crept_pa = np.zeros(arm.n_actuators)
        self._history: deque[_Sample] = deque()
        self._rest_m = np.zeros(3)
        self._covariance_m2 = settings.initial_deviation_m**2 * np.eye(3)
        self._last: tuple[float, np.ndarray] | None = (
            None  # stamp and model tip of the last comparison
        )
        self._refused_m: deque[np.ndarray] = deque(
            maxlen=settings.gate_images
        )  # errors that the last rings, not believed, would mean
        self._largest_error_m = settings.largest_error_share * float(
            np.linalg.norm(arm.tip(arm.length_limits_m[1]))
        )
        self.contradiction = ''  # why the last ring cannot be that of this arm

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
        self._lagged_pa = self._lagged_pa + _share(dt_s, d.mechanical_lag_s) * (
            pressures_pa - self._lagged_pa
        )
        self._crept_pa = self._crept_pa + _share(dt_s, d.creep_time_constant_s) * (
            self._lagged_pa - self._crept_pa
        )
        self._history.append(
            _Sample(
                stamp_s, (1.0 - d.creep_share) * self._lagged_pa + d.creep_share * self._crept_pa
            )
        )
        while stamp_s - self._history[0].stamp_s > self._settings.history_s:
            self._history.popleft()

    def add_ring(self, stamp_s: float, ring_m: np.ndarray, covariance_m2: np.ndarray) -> bool:
        """Compare a seen ring centre [m] with the model at the image's stamp; return whether it was used.

        Not used: an image older than the history or the last one, a ring that is no tip of this arm
        (see `contradiction`), or one that contradicts the estimate. Where `gate_images` of these
        agree with each other and with this one, the estimate starts anew.
        """
        sample = self._at(stamp_s)
        if sample is None or (self._last is not None and stamp_s <= self._last[0]):
            return False
        s, lengths_m = self._settings, self._lengths(sample)
        tip_m = self._arm.tip(lengths_m)
        self.contradiction = self._contradiction(float(np.linalg.norm(ring_m - tip_m)))
        if self.contradiction:
            return False
        variance_m2 = 0.0
        speed_m_s = 0.0
        if self._last is not None:
            dt_s, travel_m = stamp_s - self._last[0], float(np.linalg.norm(tip_m - self._last[1]))
            variance_m2 = s.drift_m_per_sqrt_s**2 * dt_s + s.drift_m2_per_m * travel_m
            speed_m_s = travel_m / dt_s
        prior_m2 = self._covariance_m2 + variance_m2 * np.eye(3)
        rest_m = ring_m - tip_m - self._map.at(lengths_m)
        innovation_m = rest_m - self._rest_m
        seen_m2 = covariance_m2 + (s.timing_s * speed_m_s) ** 2 * np.eye(3)
        self._last = (stamp_s, tip_m)
        if _squared_deviations(innovation_m, prior_m2 + seen_m2) > s.gate_deviations**2:
            if not self._agrees(rest_m, seen_m2 + variance_m2 * s.gate_images * np.eye(3)):
                self._covariance_m2 = prior_m2
                self._refused_m.append(rest_m)
                return False
            prior_m2 = prior_m2 + s.initial_deviation_m**2 * np.eye(3)
        self._refused_m.clear()
        weighed = np.linalg.solve(prior_m2 + seen_m2, np.column_stack((innovation_m, prior_m2)))
        self._rest_m = self._rest_m + prior_m2 @ weighed[:, 0]
        self._covariance_m2 = prior_m2 - prior_m2 @ weighed[:, 1:]
        return True

    def error_m(self, lengths_m: np.ndarray) -> np.ndarray:
        """Expected true tip minus model tip at these lengths [m], shape (3,)."""
        return self._map.at(lengths_m) + self._rest_m

    @property
    def at_rest(self) -> bool:
        """Whether the model tip has stood still for `rest_s`."""
        if not self._history:
            return False
        newest = self._history[-1]
        before = [
            sample
            for sample in self._history
            if newest.stamp_s - sample.stamp_s >= self._settings.rest_s
        ]
        if not before:
            return False
        since = [sample for sample in self._history if sample.stamp_s >= before[-1].stamp_s]
        tips_m = self._arm.tip(np.array([self._lengths(sample) for sample in since]))
        return bool(np.linalg.norm(tips_m - tips_m[-1], axis=1).max() < self._settings.rest_m)

    def remember(self) -> None:
        """Write the present estimate into the error map if the arm is at rest: in motion it is the lag's error too."""
        if not self.at_rest:
            return
        lengths_m = self._lengths(self._history[-1])
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
        return self._arm.tip(lengths_m) + self.error_m(lengths_m)

    def _contradiction(self, distance_m: float) -> str:
        if distance_m <= self._largest_error_m:
            return ''
        return (
            f"measured tip is {distance_m:.2f} m from the model's, limit {self._largest_error_m:.2f} m: "
            "the camera's extrinsics or the ring pose are wrong"
        )

    def _agrees(self, rest_m, covariance_m2) -> bool:
        """Whether enough rings that were not believed mean the same error as this one."""
        enough = len(self._refused_m) == self._settings.gate_images
        limit = self._settings.gate_deviations**2
        return enough and all(
            _squared_deviations(rest_m - other_m, 2.0 * covariance_m2) <= limit
            for other_m in self._refused_m
        )

    def _lengths(self, sample: _Sample) -> np.ndarray:
        return self._arm.lengths(
            np.clip(sample.pressures_pa, *self._arm.pressure_limits_pa)
        )  # sensors read a little past full vacuum

    def _at(self, stamp_s: float) -> _Sample | None:
        """History interpolated at a stamp; None outside it (up to 50 ms ahead the newest sample stands in)."""
        if (
            not self._history
            or stamp_s < self._history[0].stamp_s
            or stamp_s > self._history[-1].stamp_s + 0.05
        ):
            return None
        after = None
        for sample in reversed(self._history):
            if sample.stamp_s <= stamp_s:
                if after is None:
                    return sample
                share = (stamp_s - sample.stamp_s) / (after.stamp_s - sample.stamp_s)
                return _Sample(
                    stamp_s,
                    sample.pressures_pa + share * (after.pressures_pa - sample.pressures_pa),
                )
            after = sample
        return None


def _squared_deviations(difference_m: np.ndarray, covariance_m2: np.ndarray) -> float:
    """Squared Mahalanobis distance."""
    return float(difference_m @ np.linalg.solve(covariance_m2, difference_m))


def _share(dt_s: float, time_constant_s: float) -> float:
    """Share of the way that a first-order lag goes in a time."""
    return 1.0 - np.exp(-dt_s / time_constant_s) if time_constant_s > 0 else 1.0
