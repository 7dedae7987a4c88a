"""Kalman filter on the model bias: the tip position from measured pressures and the camera.

The model tip at an image's stamp is the forward kinematics of the pressures measured then,
filtered by the identified lag of the mechanics and creep of the bellows. The measured ring position
minus the model tip is the model error. The residual model predicts a part of it; the rest, the
bias, is a random walk whose deviation grows with time and with the way between two images.
Measurement and model are compared at the image's own stamp, so neither the camera's delay nor the
valves' lag biases the estimate.

The model does not swing, but a hanging arm with a long upper module does (the virtual arm at 1.3 to
3 Hz with a damping ratio of 0.04 to 0.17). A filter that takes the swing for bias excites it
through the commands. So the swing counts as noise of the measurement. And the variance grows with
the square of the way: summed over many small steps the square stays small, so that neither noise of
the pressures nor an oscillation raises the gain much.
"""

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.residual_model import ResidualModel
from soft_arm_kinematics.arm import BellowsArm


@dataclass(frozen=True)
class BiasFilterSettings:
    """Statistics of the part of the model error that the residual model does not predict."""

    initial_deviation_m: float = 0.010
    drift_m_per_sqrt_s: float = 0.0004  # creep
    drift_share: float = 0.1  # of the way of the model tip between two images
    swing_m: float = 0.0005  # standard deviation of the tip's swing in one direction
    swing_s: float = 0.5  # time over which the tip's swing is measured
    timing_s: float = 0.015  # standard deviation of an image's stamp
    history_s: float = 2.0
    gate_deviations: float = 6.0  # a ring further off, in standard deviations, is rejected
    gate_images: int = 5  # so many rejected rings that agree with each other reset the estimate
    # Of the arm's length: sag and swing of a soft arm come to a third of it, so beyond this the
    # camera or the ring pose is wrong.
    largest_error_share: float = 0.5
    rest_s: float = 0.3  # the arm is at rest when the model tip has moved less than `rest_m` ..
    rest_m: float = 0.0005  # .. for `rest_s`


@dataclass(frozen=True)
class _Sample:
    stamp_s: float
    pressures_pa: np.ndarray  # effective: after lag and creep


class BiasFilter:
    """Estimate the model error of the tip, image by image."""

    def __init__(
        self,
        arm: BellowsArm,
        residual_model: ResidualModel,
        dynamics: Dynamics,
        settings: BiasFilterSettings = BiasFilterSettings(),
    ):
        self._arm = arm
        self._residual_model = residual_model
        self._dynamics = dynamics
        self._settings = settings
        self._lagged_pa = self._crept_pa = np.zeros(arm.n_actuators)
        self._history: deque[_Sample] = deque()
        self._bias_m = np.zeros(3)
        self._covariance_m2 = settings.initial_deviation_m**2 * np.eye(3)
        self._last: tuple[float, np.ndarray] | None = None  # stamp and model tip of the last image
        self._rejected_m: deque[np.ndarray] = deque(maxlen=settings.gate_images)  # biases
        # Stamp, and squared distance of the ring from the estimate less the camera's variance.
        self._swings_m2: deque[tuple[float, float]] = deque()
        self._largest_error_m = settings.largest_error_share * float(
            np.linalg.norm(arm.tip(arm.length_limits_m[1]))
        )
        self.contradiction = ''  # why the last ring cannot be this arm's; empty if it can

    @property
    def covariance_m2(self) -> np.ndarray:
        """Return the covariance of the estimated model error [m^2], shape (3, 3)."""
        return self._covariance_m2

    @property
    def deviation_m(self) -> float:
        """Return the standard deviation of the model error [m] in its least certain direction."""
        return float(np.sqrt(np.linalg.eigvalsh(self._covariance_m2)[-1]))

    @property
    def swing_m(self) -> float:
        """Return the root mean square distance [m] of the last rings from the estimated tip.

        The camera's own noise is taken off. The estimate contains no swing, so this is the swing.
        """
        squares_m2 = [square_m2 for _, square_m2 in self._swings_m2]
        return math.sqrt(max(0.0, float(np.mean(squares_m2)))) if squares_m2 else 0.0

    def add_pressures(self, stamp_s: float, pressures_pa: np.ndarray) -> None:
        """Add measured gauge pressures [Pa], shape (n,); samples out of order are dropped."""
        pressures_pa = np.asarray(pressures_pa, float)
        if not self._history:
            self._lagged_pa = self._crept_pa = pressures_pa
            self._history.append(_Sample(stamp_s, pressures_pa))
            return
        last = self._history[-1]
        if stamp_s <= last.stamp_s:
            return
        d = self._dynamics
        dt_s = stamp_s - last.stamp_s
        lag_share = _lag_share(dt_s, d.mechanical_lag_s)
        self._lagged_pa = self._lagged_pa + lag_share * (pressures_pa - self._lagged_pa)
        creep_share = _lag_share(dt_s, d.creep_time_constant_s)
        self._crept_pa = self._crept_pa + creep_share * (self._lagged_pa - self._crept_pa)
        effective_pa = (1.0 - d.creep_share) * self._lagged_pa + d.creep_share * self._crept_pa
        self._history.append(_Sample(stamp_s, effective_pa))
        while stamp_s - self._history[0].stamp_s > self._settings.history_s:
            self._history.popleft()

    def add_ring(self, stamp_s: float, ring_m: np.ndarray, covariance_m2: np.ndarray) -> bool:
        """Update the estimate with a measured ring centre [m]; return whether it was used.

        It is not used if its image is older than the history or the last image, if it cannot be
        the tip of this arm (see `contradiction`), or if it is outside the gate around the
        estimate. Once `gate_images` such rings agree with each other and with this one, the
        estimate is reset.
        """
        sample = self._at(stamp_s)
        if sample is None or (self._last is not None and stamp_s <= self._last[0]):
            return False
        s = self._settings
        lengths_m = self._lengths(sample)
        tip_m = self._arm.tip(lengths_m)
        self.contradiction = self._contradiction(float(np.linalg.norm(ring_m - tip_m)))
        if self.contradiction:
            return False
        variance_m2 = 0.0
        speed_m_s = 0.0
        if self._last is not None:
            dt_s = stamp_s - self._last[0]
            travel_m = float(np.linalg.norm(tip_m - self._last[1]))
            variance_m2 = s.drift_m_per_sqrt_s**2 * dt_s + (s.drift_share * travel_m) ** 2
            speed_m_s = travel_m / dt_s
        prior_m2 = self._covariance_m2 + variance_m2 * np.eye(3)
        bias_m = ring_m - tip_m - self._residual_model.at(lengths_m)
        innovation_m = bias_m - self._bias_m
        noise_m2 = covariance_m2 + (s.swing_m**2 + (s.timing_s * speed_m_s) ** 2) * np.eye(3)
        self._last = (stamp_s, tip_m)
        square_m2 = float(innovation_m @ innovation_m - np.trace(covariance_m2))
        self._swings_m2.append((stamp_s, square_m2))
        while stamp_s - self._swings_m2[0][0] > s.swing_s:
            self._swings_m2.popleft()
        if _squared_deviations(innovation_m, prior_m2 + noise_m2) > s.gate_deviations**2:
            if not self._agrees(bias_m, noise_m2 + variance_m2 * s.gate_images * np.eye(3)):
                self._covariance_m2 = prior_m2
                self._rejected_m.append(bias_m)
                return False
            prior_m2 = prior_m2 + s.initial_deviation_m**2 * np.eye(3)
        self._rejected_m.clear()
        gain = np.linalg.solve(prior_m2 + noise_m2, prior_m2).T
        self._bias_m = self._bias_m + gain @ innovation_m
        self._covariance_m2 = prior_m2 - gain @ prior_m2
        return True

    def error_m(self, lengths_m: np.ndarray) -> np.ndarray:
        """Return the expected true tip minus the model tip at these lengths [m], shape (3,)."""
        return self._residual_model.at(lengths_m) + self._bias_m

    @property
    def at_rest(self) -> bool:
        """Return whether the model tip has stood still for `rest_s`."""
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
        """Add the present estimate to the residual model if the arm is at rest.

        In motion the estimate contains errors of the lag model too.
        """
        if not self.at_rest:
            return
        lengths_m = self._lengths(self._history[-1])
        total_m = self.error_m(lengths_m)
        self._residual_model.add(lengths_m, total_m)
        self._bias_m = total_m - self._residual_model.at(lengths_m)

    def creep_deficit_pa(self, effective_pa: np.ndarray) -> np.ndarray:
        """Return the pressure offset [Pa], shape (n,), that compensates the remaining creep.

        Raised by it, the pressures act now as they will once creep has settled.
        """
        share = self._dynamics.creep_share
        return share / (1.0 - share) * (effective_pa - self._crept_pa)

    def tip_m(self) -> np.ndarray:
        """Return the present tip [m], shape (3,): the model tip plus the estimated model error."""
        lengths_m = self._lengths(self._history[-1])
        return self._arm.tip(lengths_m) + self.error_m(lengths_m)

    def _contradiction(self, distance_m: float) -> str:
        if distance_m <= self._largest_error_m:
            return ''
        return (
            f"measured tip is {distance_m:.2f} m from the model's, "
            f'limit {self._largest_error_m:.2f} m: '
            "the camera's extrinsics or the ring pose are wrong"
        )

    def _agrees(self, bias_m: np.ndarray, covariance_m2: np.ndarray) -> bool:
        """Return whether enough rejected rings give the same bias as this one."""
        enough = len(self._rejected_m) == self._settings.gate_images
        limit = self._settings.gate_deviations**2
        return enough and all(
            _squared_deviations(bias_m - other_m, 2.0 * covariance_m2) <= limit
            for other_m in self._rejected_m
        )

    def _lengths(self, sample: _Sample) -> np.ndarray:
        # Sensors read a little past full vacuum.
        return self._arm.lengths(np.clip(sample.pressures_pa, *self._arm.pressure_limits_pa))

    def _at(self, stamp_s: float) -> _Sample | None:
        """Interpolate the history at a stamp; None outside it.

        Up to 50 ms after the newest sample this returns the newest sample.
        """
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
    """Return the squared Mahalanobis distance."""
    return float(difference_m @ np.linalg.solve(covariance_m2, difference_m))


def _lag_share(dt_s: float, time_constant_s: float) -> float:
    """Return the share of a step that a first-order lag has covered after a time."""
    return 1.0 - np.exp(-dt_s / time_constant_s) if time_constant_s > 0 else 1.0
