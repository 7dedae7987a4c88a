"""Kalman filter on the model bias: the tip position from measured pressures and the camera.

The model tip at an image's stamp is the forward kinematics of the pressures measured at that time,
after the identified hysteresis and creep of the bellows and lag of the mechanics. The model error
is the measured tip minus the model tip. The residual model predicts a part of it; the rest, the
bias, is a random walk whose variance grows with time and with the distance between two images.
Measurement and model are compared at the image's stamp, so neither the camera's delay nor the
valves' lag biases the estimate.

In motion the arm leads or trails its model, because its lag depends on configuration and load. This
time offset is a state, too: otherwise the difference along the velocity would be attributed to the
bias and remain as an overshoot when the arm stops.

The model does not oscillate, but a hanging arm with a long upper module does (the virtual arm at
1.3 to 3 Hz with a damping ratio of 0.04 to 0.17). A filter that attributes the oscillation to the
bias excites it through the commands. The oscillation is therefore modelled as measurement noise,
and the variance grows with the square of the distance: over many small steps this sum remains
small, so that neither noise of the pressures nor an oscillation raises the gain much.
"""

import math
import statistics
from collections import deque
from dataclasses import dataclass

import numpy as np

from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.pressure_effect import PressureEffect, lag_share
from soft_arm_control.tip.residual_model import ResidualModel
from soft_arm_kinematics.arm import BellowsArm

# Statistics of the part of the model error that the residual model does not predict.
INITIAL_DEVIATION_M = 0.010
DRIFT_M_PER_SQRT_S = 0.0004  # creep
DRIFT_SHARE = 0.05  # of the distance of the model tip between two images
SWING_M = 0.0005  # standard deviation of the tip's swing in one direction
SWING_S = 0.5  # time over which the tip's swing is measured
TIMING_S = 0.03  # standard deviation of the time offset between arm and model
TIMING_MEMORY_S = 10.0  # correlation time of the time offset
BLUR_S = 0.02  # standard deviation of other model errors in motion, divided by speed
HISTORY_S = 2.0
MIN_TIME_JUMP_S = 1.0  # backward step of the stamps that resets the estimate
GATE_DEVIATIONS = 6.0  # innovation gate in standard deviations
GATE_IMAGES = 5  # number of consistent rejected tips that reset the estimate
# Of the arm's length. Sag and swing of a soft arm reach a third of it, so a larger error is due to
# the camera or the tip pose.
MAX_ERROR_SHARE = 0.5
# The arm is at rest when the model tip has moved by less than `MAX_REST_MOTION_M` for `REST_S`.
REST_S = 0.3
MAX_REST_MOTION_M = 0.0005


@dataclass(frozen=True)
class _Sample:
    stamp_s: float
    pressures_pa: np.ndarray  # effective: after hysteresis, creep and lag


class BiasFilter:
    """Estimate the model error of the tip, image by image."""

    def __init__(self, arm: BellowsArm, residual_model: ResidualModel, dynamics: Dynamics):
        self._arm = arm
        self._residual_model = residual_model
        self._dynamics = dynamics
        self._max_error_m = MAX_ERROR_SHARE * float(
            np.linalg.norm(arm.at(arm.length_limits_m[1]).tip_m)
        )
        self.time_jumps = 0  # resets because time has jumped back
        self._begin()

    def _begin(self) -> None:
        self._lagged_pa = np.zeros(self._arm.n_actuators)
        self.effect = PressureEffect(self._dynamics, self._lagged_pa)
        self._history: deque[_Sample] = deque()
        # Bias [m] (3) and time [s] by which the arm leads its model, with their covariance.
        self._state = np.zeros(4)
        self._covariance = np.diag([INITIAL_DEVIATION_M**2] * 3 + [TIMING_S**2])
        self._last: tuple[float, np.ndarray] | None = None  # stamp and model tip of the last image
        self._rejected_m: deque[np.ndarray] = deque(maxlen=GATE_IMAGES)  # biases
        # Stamp, and squared distance of measured from estimated tip less the camera's variance.
        self._swings_m2: deque[tuple[float, float]] = deque()
        self.contradiction = ''  # why the last measured tip contradicts the model, else empty

    @property
    def covariance_m2(self) -> np.ndarray:
        """Return the covariance of the estimated model error [m^2], shape (3, 3)."""
        return self._covariance[:3, :3]

    @property
    def deviation_m(self) -> float:
        """Return the standard deviation of the model error [m] in its least certain direction."""
        return float(np.sqrt(np.linalg.eigvalsh(self.covariance_m2)[-1]))

    @property
    def swing_m(self) -> float:
        """Return the root median square distance [m] of the last measured from the estimated tips.

        The camera's noise is subtracted. The estimate contains no oscillation, so this is its
        amplitude. The median suppresses outliers of the measurement.
        """
        squares_m2 = [square_m2 for _, square_m2 in self._swings_m2]
        return math.sqrt(max(0.0, statistics.median(squares_m2))) if squares_m2 else 0.0

    def add_pressures(self, stamp_s: float, pressures_pa: np.ndarray) -> bool:
        """Add measured gauge pressures [Pa], shape (n,); return whether they were used.

        A sample out of order is not used. A sample older than the newest one by `min_time_jump_s`,
        as when a bag is replayed, resets the estimate.
        """
        pressures_pa = np.asarray(pressures_pa, float)
        if self._history and stamp_s < self._history[-1].stamp_s - MIN_TIME_JUMP_S:
            self._begin()
            self.time_jumps += 1
        if not self._history:
            self._lagged_pa = pressures_pa
            self.effect = PressureEffect(self._dynamics, pressures_pa)
            self._history.append(_Sample(stamp_s, pressures_pa))
            return True
        last = self._history[-1]
        if stamp_s <= last.stamp_s:
            return False
        dt_s = stamp_s - last.stamp_s
        share = lag_share(dt_s, self._dynamics.mechanical_lag_s)
        effective_pa = self.effect.advance(dt_s, pressures_pa)
        self._lagged_pa = self._lagged_pa + share * (effective_pa - self._lagged_pa)
        self._history.append(_Sample(stamp_s, self._lagged_pa))
        while stamp_s - self._history[0].stamp_s > HISTORY_S:
            self._history.popleft()
        return True

    def add_tip_pose(
        self, stamp_s: float, measured_m: np.ndarray, covariance_m2: np.ndarray
    ) -> bool:
        """Update the estimate with a measured tip [m]; return whether it was used.

        It is not used if its image is older than the history or the last image, if it contradicts
        the model (see `contradiction`), or if it is outside the gate around the estimate. When
        `gate_images` such tips are consistent with each other and with this one, the estimate is
        reset.
        """
        sample = self._at(stamp_s)
        if sample is None or (self._last is not None and stamp_s <= self._last[0]):
            return False
        lengths_m = self._lengths(sample)
        tip_m = self._arm.at(lengths_m).tip_m
        self.contradiction = self._contradiction(float(np.linalg.norm(measured_m - tip_m)))
        if self.contradiction:
            return False
        dt_s, way_m = 1.0, np.zeros(3)
        if self._last is not None:
            dt_s, way_m = stamp_s - self._last[0], tip_m - self._last[1]
        self._last = (stamp_s, tip_m)
        variance_m2 = DRIFT_M_PER_SQRT_S**2 * dt_s + DRIFT_SHARE**2 * float(way_m @ way_m)
        keep = np.exp(-dt_s / TIMING_MEMORY_S)
        self._state[3] *= keep
        prior = self._covariance.copy()
        prior[3] *= keep
        prior[:, 3] *= keep
        prior.flat[::5] += (*[variance_m2] * 3, (1.0 - keep**2) * TIMING_S**2)
        observed = np.eye(3, 4)  # bias, and speed times time
        observed[:, 3] = way_m / dt_s
        bias_m = measured_m - tip_m - self._residual_model.at(lengths_m)
        innovation_m = bias_m - observed @ self._state
        blur_m = BLUR_S * float(np.linalg.norm(way_m)) / dt_s
        noise_m2 = covariance_m2 + (SWING_M**2 + blur_m**2) * np.eye(3)
        square_m2 = float(innovation_m @ innovation_m - np.trace(covariance_m2))
        self._swings_m2.append((stamp_s, square_m2))
        while stamp_s - self._swings_m2[0][0] > SWING_S:
            self._swings_m2.popleft()
        expected_m2 = observed @ prior @ observed.T + noise_m2
        if _squared_deviations(innovation_m, expected_m2) > GATE_DEVIATIONS**2:
            if not self._agrees(bias_m, noise_m2 + variance_m2 * GATE_IMAGES * np.eye(3)):
                self._covariance = prior
                self._rejected_m.append(bias_m)
                return False
            reset_m2 = INITIAL_DEVIATION_M**2 * np.diag([1, 1, 1, 0])
            prior, expected_m2 = prior + reset_m2, expected_m2 + reset_m2[:3, :3]
        self._rejected_m.clear()
        gain = np.linalg.solve(expected_m2, observed @ prior).T  # (4, 3)
        self._state = self._state + gain @ innovation_m
        self._covariance = prior - gain @ observed @ prior
        return True

    @property
    def ahead_s(self) -> float:
        """Return the time [s] by which the moving arm leads its model; negative: it trails."""
        return float(self._state[3])

    def error_m(self, lengths_m: np.ndarray) -> np.ndarray:
        """Return the expected true tip minus the model tip at these lengths [m], shape (3,)."""
        return self._residual_model.at(lengths_m) + self._state[:3]

    @property
    def at_rest(self) -> bool:
        """Return True if the model tip has rested for `rest_s`."""
        if not self._history:
            return False
        newest = self._history[-1]
        before = [sample for sample in self._history if newest.stamp_s - sample.stamp_s >= REST_S]
        if not before:
            return False
        since = [sample for sample in self._history if sample.stamp_s >= before[-1].stamp_s]
        tips_m = self._arm.at(np.array([self._lengths(sample) for sample in since])).tip_m
        return bool(np.linalg.norm(tips_m - tips_m[-1], axis=1).max() < MAX_REST_MOTION_M)

    def learn(self) -> None:
        """Add the current estimate to the residual model if the arm is at rest.

        In motion the estimate contains errors of the lag model too.
        """
        if not self.at_rest:
            return
        lengths_m = self._lengths(self._history[-1])
        total_m = self.error_m(lengths_m)
        self._residual_model.add(lengths_m, total_m)
        self._state[:3] = total_m - self._residual_model.at(lengths_m)

    def tip_m(self) -> np.ndarray:
        """Return the current tip [m], shape (3,): the model tip plus the estimated model error."""
        lengths_m = self._lengths(self._history[-1])
        return self._arm.at(lengths_m).tip_m + self.error_m(lengths_m)

    def _contradiction(self, distance_m: float) -> str:
        if distance_m <= self._max_error_m:
            return ''
        return (
            f"measured tip is {distance_m:.2f} m from the model's, "
            f'limit {self._max_error_m:.2f} m: '
            "check the camera's extrinsics and the tip pose"
        )

    def _agrees(self, bias_m: np.ndarray, covariance_m2: np.ndarray) -> bool:
        """Return True if enough rejected tips are consistent with this bias."""
        enough = len(self._rejected_m) == GATE_IMAGES
        limit = GATE_DEVIATIONS**2
        return enough and all(
            _squared_deviations(bias_m - other_m, 2.0 * covariance_m2) <= limit
            for other_m in self._rejected_m
        )

    def _lengths(self, sample: _Sample) -> np.ndarray:
        # Sensors may read slightly below full vacuum.
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
