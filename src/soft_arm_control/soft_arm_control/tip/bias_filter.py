"""Kalman filter on the model bias and the swing of the tip, from pressures and the camera.

The model tip at an image's stamp is the quasi-static tip (`loaded_arm`) of the pressures measured
at that time, after the identified hysteresis and creep of the bellows and lag of the mechanics. In
the slow modes (`swing_modes`) an oscillator takes the place of the lag. The model error is the
measured tip minus the model tip. The residual model predicts a part of it. The rest is the sum of

- the bias, a random walk whose variance grows with time and with the distance between two images;
- the swing, the displacement of the slow modes from their quasi-static position. Its motion excites
  them: the arm stays behind, then oscillates;
- the speed multiplied by the time by which the arm leads or trails its model otherwise.

Measurement and model are compared at the image's stamp, so neither the camera's delay nor the
valves' lag biases the estimate. The present swing is that at the last image, continued with the
pressures measured since.
"""

import math
import statistics
from collections import deque
from itertools import pairwise

import numpy as np

from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.length_history import LengthHistory, Sample
from soft_arm_control.tip.loaded_arm import LoadedArm
from soft_arm_control.tip.pressure_effect import PressureEffect, lag_share
from soft_arm_control.tip.residual_model import ResidualModel
from soft_arm_control.tip.swing_modes import N_MODES, SwingModes
from soft_arm_kinematics.arm import BellowsArm

# Statistics of the part of the model error that the residual model does not predict.
INITIAL_DEVIATION_M = 0.010
DRIFT_M_PER_SQRT_S = 0.0004  # creep
DRIFT_SHARE = 0.05  # of the distance of the model tip between two images
# Standard deviations of a mode: at the start, error of the modelled excitation and of the free
# motion as a share of both, and other excitation.
INITIAL_SWING_M = 0.002
SWING_SHARE = 0.1
SWING_M_PER_SQRT_S = 0.001
UNEXPLAINED_S = 0.5  # time over which the motion that the estimate does not contain is measured
TIMING_S = 0.03  # standard deviation of the time offset between arm and model
TIMING_MEMORY_S = 10.0  # correlation time of the time offset
BLUR_S = 0.02  # standard deviation of other model errors in motion, divided by speed
MIN_TIME_JUMP_S = 1.0  # backward step of the stamps that resets the estimate
GATE_DEVIATIONS = 6.0  # innovation gate in standard deviations
GATE_M = 0.001  # standard deviation of disturbances of the arm that the gate allows for
GATE_IMAGES = 5  # number of consistent rejected tips that reset the estimate
# Of the arm's length. Sag and swing of a soft arm reach a third of it, so a larger error is due to
# the camera or the tip pose.
MAX_ERROR_SHARE = 0.5
# The arm is at rest when the model tip has moved by less than `MAX_REST_MOTION_M` for `REST_S`.
REST_S = 0.3
MAX_REST_MOTION_M = 0.0005
MAX_IMAGE_AGE_S = 0.5  # of the last measured tip for an estimate of the payload


class BiasFilter:
    """Estimate the model error of the tip, image by image."""

    def __init__(self, arm: BellowsArm, residual_model: ResidualModel, dynamics: Dynamics):
        self._arm = arm
        self._residual_model = residual_model
        self._dynamics = dynamics
        self.model = self._loaded(0.0)
        self._max_error_m = MAX_ERROR_SHARE * float(
            np.linalg.norm(arm.at(arm.length_limits_m[1]).tip_m)
        )
        self.time_jumps = 0  # resets because time has jumped back
        self._begin()

    def _begin(self) -> None:
        self.effect = PressureEffect(self._dynamics, np.zeros(self._arm.n_actuators))
        self._history = LengthHistory()
        # Bias [m] (3), time [s] by which the arm leads its model, and the modes' displacements [m]
        # and velocities [m/s], with their covariance.
        self._state = np.zeros(4 + 2 * N_MODES)
        self._modes = self.model.modes(np.mean(self._arm.length_limits_m, axis=0))
        self._covariance = self._initial_covariance()
        self._last: tuple[float, np.ndarray] | None = None  # stamp and model tip of the last image
        self._now: tuple[tuple, np.ndarray] | None = None  # swing, for stamps of sample and image
        self._rejected_m: deque[np.ndarray] = deque(maxlen=GATE_IMAGES)  # biases
        # Stamp, and squared distance of measured from estimated tip less the camera's variance.
        self._unexplained_m2: deque[tuple[float, float]] = deque()
        self.image_period_s = math.nan  # between the last two measured tips
        self.tip_deviation_m = math.nan  # standard deviation of the last measured tip
        self.contradiction = ''  # why the last measured tip contradicts the model, else empty

    def _initial_covariance(self) -> np.ndarray:
        swing_m = np.full(N_MODES, INITIAL_SWING_M)
        deviations = [*[INITIAL_DEVIATION_M] * 3, TIMING_S, *swing_m]
        return np.diag(np.square([*deviations, *(swing_m * self._modes.omega_rad_s)]))

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
        """Return the amplitude [m] of the tip's oscillation.

        The larger one of two amplitudes: of the modes, and of the motion that the estimate does not
        contain. The latter is the root median square distance of the last measured from the
        estimated tips, less the camera's noise; the median suppresses outliers.
        """
        squares_m2 = [square_m2 for _, square_m2 in self._unexplained_m2]
        unexplained_m2 = max(0.0, statistics.median(squares_m2)) if squares_m2 else 0.0
        return max(self._modes.amplitude_m(self._swing_now()), math.sqrt(unexplained_m2))

    def damping_m(self, ahead_s: float, added_ratio: float, target_m_s: np.ndarray) -> np.ndarray:
        """Return the change of the actuator lengths [m], (n,), that adds to the modes' damping.

        Args:
            ahead_s: Time until the change acts [s].
            added_ratio: Added damping ratio of each mode.
            target_m_s: Velocity of the target [m/s], (3,). The change opposes the velocity of the
                modes relative to it.
        """
        velocities_m_s = self._modes.moved(self._swing_now(), ahead_s)[N_MODES:]
        relative_m_s = velocities_m_s - np.linalg.pinv(self._modes.tip) @ target_m_s
        wanted_m = -2.0 * added_ratio / self._modes.omega_rad_s * relative_m_s
        return self._modes.lengths @ wanted_m

    def set_payload(self, payload_kg: float) -> None:
        """Set the payload [kg], as in `Goal`; the estimated tip does not jump."""
        before = self.model
        if payload_kg == before.payload_kg:
            return
        self.model = self._loaded(payload_kg)
        if not self._history:
            return
        lengths_m = self._history.newest.lagged_m
        change_m = self.model.at(lengths_m).tip_m - before.at(lengths_m).tip_m
        self._state[:3] -= change_m
        self._covariance[:3, :3] += np.outer(change_m, change_m)
        if self._last is not None:
            self._last = self._last[0], self._last[1] + change_m
        self._rejected_m.clear()

    def payload_kg(self) -> tuple[float, float] | None:
        """Return the estimated total payload and its standard deviation [kg].

        It is the payload whose sag explains the bias. The deviation is small where the model error
        was learned without the payload. None in motion, and while the tip is not measured.
        """
        if not self.at_rest or not self._measured_lately:
            return None
        lengths_m = self._history.newest.lagged_m
        sag = self.model.tip_per_payload(lengths_m)
        deviation_m = math.hypot(self._residual_model.deviation_m(lengths_m), self.deviation_m)
        found_kg = self.model.payload_kg + float(sag @ self._state[:3]) / float(sag @ sag)
        return found_kg, deviation_m / float(np.linalg.norm(sag))

    def add_pressures(self, stamp_s: float, pressures_pa: np.ndarray) -> bool:
        """Add measured gauge pressures [Pa], shape (n,); return whether they were used.

        A sample out of order is not used. A sample older than the newest one by `min_time_jump_s`,
        as when a bag is replayed, resets the estimate.
        """
        pressures_pa = np.asarray(pressures_pa, float)
        if self._history and stamp_s < self._history.newest.stamp_s - MIN_TIME_JUMP_S:
            self._begin()
            self.time_jumps += 1
        if not self._history:
            self.effect = PressureEffect(self._dynamics, pressures_pa)
            lengths_m = self._lengths(pressures_pa)
            self._history.add(Sample(stamp_s, lengths_m, lengths_m))
            return True
        last = self._history.newest
        if stamp_s <= last.stamp_s:
            return False
        dt_s = stamp_s - last.stamp_s
        effective_pa = self.effect.advance(dt_s, pressures_pa)
        lengths_m = self._lengths(effective_pa)
        share = lag_share(dt_s, self._dynamics.mechanical_lag_s)
        lagged_m = last.lagged_m + share * (lengths_m - last.lagged_m)
        self._history.add(Sample(stamp_s, lengths_m, lagged_m))
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
        sample = self._history.at(stamp_s)
        if sample is None or (self._last is not None and stamp_s <= self._last[0]):
            return False
        lengths_m = sample.lagged_m
        tip_m = self.model.at(lengths_m).tip_m
        self.contradiction = self._contradiction(float(np.linalg.norm(measured_m - tip_m)))
        if self.contradiction:
            return False
        self._use_modes(lengths_m)
        dt_s, way_m = 1.0, np.zeros(3)
        swing, ways_m2 = self._state[4:], np.zeros(N_MODES)
        self.tip_deviation_m = math.sqrt(float(np.trace(covariance_m2)) / 3.0)
        if self._last is not None:
            self.image_period_s = stamp_s - self._last[0]
            dt_s, way_m = stamp_s - self._last[0], tip_m - self._last[1]
            swing, ways_m2 = self._swing_at(stamp_s)
        self._last = (stamp_s, tip_m)
        variance_m2 = DRIFT_M_PER_SQRT_S**2 * dt_s + DRIFT_SHARE**2 * float(way_m @ way_m)
        keep = np.exp(-dt_s / TIMING_MEMORY_S)
        omega_rad_s = self._modes.omega_rad_s
        displacements_m, velocities_m_s = np.split(swing, 2)
        turns_m2 = dt_s**2 * ((omega_rad_s * displacements_m) ** 2 + velocities_m_s**2)
        swing_m2 = SWING_SHARE**2 * (ways_m2 + turns_m2) + SWING_M_PER_SQRT_S**2 * dt_s
        self._state[3:] = keep * self._state[3], *swing
        forward = np.eye(len(self._state))
        forward[3, 3] = keep
        forward[4:, 4:] = self._modes.transition(dt_s)
        prior = forward @ self._covariance @ forward.T
        prior.flat[:: len(prior) + 1] += (
            *[variance_m2] * 3,
            (1.0 - keep**2) * TIMING_S**2,
            *swing_m2,
            *(omega_rad_s**2 * swing_m2),
        )
        observed = np.zeros((3, len(self._state)))
        observed[:, :3] = np.eye(3)
        observed[:, 3] = way_m / dt_s
        observed[:, 4 : 4 + N_MODES] = self._modes.tip
        expected_m = tip_m + self._residual_model.at(lengths_m) + self._ahead_of_lag_m(sample)
        bias_m = measured_m - expected_m
        innovation_m = bias_m - observed @ self._state
        blur_m = BLUR_S * float(np.linalg.norm(way_m)) / dt_s
        noise_m2 = covariance_m2 + blur_m**2 * np.eye(3)
        square_m2 = float(innovation_m @ innovation_m - np.trace(covariance_m2))
        self._unexplained_m2.append((stamp_s, square_m2))
        while stamp_s - self._unexplained_m2[0][0] > UNEXPLAINED_S:
            self._unexplained_m2.popleft()
        expected_m2 = observed @ prior @ observed.T + noise_m2
        gate_m2 = expected_m2 + GATE_M**2 * np.eye(3)
        if _squared_deviations(innovation_m, gate_m2) > GATE_DEVIATIONS**2:
            if not self._agrees(bias_m, noise_m2 + variance_m2 * GATE_IMAGES * np.eye(3)):
                self._covariance = prior
                self._rejected_m.append(bias_m)
                return False
            prior = prior + self._initial_covariance()
            expected_m2 = observed @ prior @ observed.T + noise_m2
        self._rejected_m.clear()
        gain = np.linalg.solve(expected_m2, observed @ prior).T  # (4 + 2 k, 3)
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
        samples = self._history.last(REST_S)
        if not samples:
            return False
        tips_m = self._arm.at(np.array([sample.lengths_m for sample in samples])).tip_m
        return bool(np.linalg.norm(tips_m - tips_m[-1], axis=1).max() < MAX_REST_MOTION_M)

    @property
    def _measured_lately(self) -> bool:
        newest_s = self._history.newest.stamp_s
        return self._last is not None and newest_s - self._last[0] < MAX_IMAGE_AGE_S

    @property
    def modes(self) -> SwingModes:
        """Return the modes in which the swing is estimated."""
        return self._modes

    def learn(self) -> None:
        """Add the current estimate to the residual model if the arm is at rest.

        In motion the estimate contains errors of the lag model too.
        """
        if not self.at_rest:
            return
        lengths_m = self._history.newest.lengths_m
        total_m = self.error_m(lengths_m)
        self._residual_model.add(lengths_m, total_m)
        self._state[:3] = total_m - self._residual_model.at(lengths_m)

    def tip_m(self) -> np.ndarray:
        """Return the present tip [m], (3,): model tip, estimated model error and swing."""
        newest = self._history.newest
        error_m = self.error_m(newest.lagged_m) + self._ahead_of_lag_m(newest)
        swing_m = self._modes.tip @ self._swing_now()[:N_MODES]
        return self.model.at(newest.lagged_m).tip_m + error_m + swing_m

    def _ahead_of_lag_m(self, sample: Sample) -> np.ndarray:
        """Return what the modes' quasi-static displacement adds to the lagged tip [m], (3,)."""
        return self._modes.tip @ self._modes.from_lengths @ (sample.lengths_m - sample.lagged_m)

    def _use_modes(self, lengths_m: np.ndarray) -> None:
        """Express the swing in the modes at these lengths."""
        modes = self.model.modes(lengths_m)
        if modes is self._modes:
            return
        change = np.eye(len(self._state))
        change[4:, 4:] = np.kron(np.eye(2), modes.from_lengths @ self._modes.lengths)
        self._state = change @ self._state
        self._covariance = change @ self._covariance @ change.T
        self._modes = modes

    def _swing_now(self) -> np.ndarray:
        """Return the state of the modes (2k,) at the last measured pressures."""
        at = self._history.newest.stamp_s, self._last and self._last[0]
        if self._now is None or self._now[0] != at:
            self._now = at, self._swing_at(at[0])[0]
        return self._now[1]

    def _swing_at(self, stamp_s: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the state of the modes (2k,) at a stamp, from that at the last image.

        Also returns the sum of the squared steps [m^2] of the quasi-static tip meanwhile, (k,).
        """
        state, ways_m2 = self._state[4:].copy(), np.zeros(N_MODES)
        if self._last is None or stamp_s <= self._last[0]:
            return state, ways_m2
        samples = self._history.between(self._last[0], stamp_s)
        if not samples:
            return state, ways_m2
        for before, after in pairwise(samples):
            way_m = self._modes.from_lengths @ (after.lengths_m - before.lengths_m)
            state[:N_MODES] -= way_m / 2.0  # the arm stays behind, one half at each end of the step
            state = self._modes.moved(state, after.stamp_s - before.stamp_s)
            state[:N_MODES] -= way_m / 2.0
            ways_m2 += way_m**2
        return self._modes.moved(state, stamp_s - samples[-1].stamp_s), ways_m2

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

    def _loaded(self, payload_kg: float) -> LoadedArm:
        d = self._dynamics
        return LoadedArm(self._arm, payload_kg, (d.mode_frequency_scale, d.mode_damping_scale))

    def _lengths(self, pressures_pa: np.ndarray) -> np.ndarray:
        # Sensors may read slightly below full vacuum.
        return self._arm.lengths(np.clip(pressures_pa, *self._arm.pressure_limits_pa))


def _squared_deviations(difference_m: np.ndarray, covariance_m2: np.ndarray) -> float:
    """Return the squared Mahalanobis distance."""
    return float(difference_m @ np.linalg.solve(covariance_m2, difference_m))
