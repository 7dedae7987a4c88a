"""The gripper's finger: pieces that bend with one chamber, on two valves for supply and vacuum.

The pieces are single-bend segments of the robot file. The seed draws what a rig does not know: how
their curves deviate from the robot file's cubics, and how the regulators deviate from their set
points.
"""

import math
import threading

import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_description.segments import SingleBendSegment
from soft_arm_physics.errors import PhysicsError

ATMOSPHERE_PA = 101_325.0
LONGEST_STEP_S = 0.005

# Pneumatics: the chamber fills through the valve's flow resistance and grows with the bend.
SUPPLY_RESISTANCE_PA_S_M3 = 1.6e9
VENT_RESISTANCE_PA_S_M3 = 2.4e9
VOLUME_M3 = 3.0e-6
VOLUME_PER_BEND_M3_RAD = 1.2e-6
REGULATOR_GAIN_SIGMA, REGULATOR_OFFSET_SIGMA_PA = 0.005, 200.0
SENSOR_NOISE_RMS_PA = 40.0

# Rubber: play operators (Prandtl-Ishlinskii) in the pressure, and a lag of the shape behind it.
PLAY_THRESHOLDS_PA = np.array([2.0e3, 6.0e3])
PLAY_WEIGHTS = np.array([0.10, 0.08])
SHAPE_LAG_S = 0.05
CURVE_SIGMA = 0.08  # relative deviation of each coefficient of the cubics
REST_SIGMA_RAD = 0.008


class FingerPlant:
    """One finger; every method may be called from any thread.

    Args:
        robot: Robot file of single-bend segments on one chamber.
        seed: Draws what deviates from the robot file and the sensor's noise. The same seed is the
            same finger.

    Raises:
        PhysicsError: If the robot is no such finger.
    """

    def __init__(self, robot: Robot, seed: int):
        segments = [s for s in robot.segments if isinstance(s, SingleBendSegment)]
        if len(robot.chambers) != 1 or len(segments) != len(robot.segments):
            raise PhysicsError(
                f'robot {robot.name!r} is no finger: the plant needs single_bend segments on one '
                'chamber, such as four_piece_finger'
            )
        self.robot = robot
        self._lock = threading.Lock()
        draw = np.random.default_rng([seed, 0])
        nominal = np.array([s.theta_coefficients_rad for s in segments])
        self._coefficients_rad = nominal * (1.0 + CURVE_SIGMA * draw.standard_normal(nominal.shape))
        self._coefficients_rad[:, 0] += REST_SIGMA_RAD * draw.standard_normal(len(nominal))
        self._units_pa = np.array([s.pressure_unit_pa for s in segments])
        self._lengths_m = np.array([s.length_m for s in segments])
        self._limits_pa = tuple(float(limit) for limit in robot.pressure_limits_pa[:, 0])
        self._gains = 1.0 + REGULATOR_GAIN_SIGMA * draw.standard_normal(2)
        self._offsets_pa = REGULATOR_OFFSET_SIGMA_PA * draw.standard_normal(2)
        self._noise = np.random.default_rng([seed, 1])
        self._gap_m: float | None = None
        self._pressure_pa = 0.0
        self._play_pa = np.zeros(len(PLAY_THRESHOLDS_PA))
        self._angles_rad = self._free_angles_rad()

    @property
    def pressure_pa(self) -> float:
        """True gauge pressure in the chamber [Pa]."""
        with self._lock:
            return self._pressure_pa

    @property
    def piece_angles_rad(self) -> np.ndarray:
        """Copy of the true bends [rad], base to tip, shape (n,)."""
        with self._lock:
            return self._angles_rad.copy()

    def sensor_pressure_pa(self) -> float:
        """What the pressure sensor reads now [Pa] gauge."""
        with self._lock:
            return self._pressure_pa + SENSOR_NOISE_RMS_PA * self._noise.standard_normal()

    def place_object(self, gap_m: float | None) -> None:
        """Put an object before the finger, a flat face along the straight finger, or take it away.

        The finger stops where its tip meets the face: its pieces stop bending, and the chamber
        stops growing.

        Args:
            gap_m: Distance from the straight finger's axis to the face [m], on the side to which
                positive pressure bends; None: no object.

        Raises:
            PhysicsError: If the gap is not positive.
        """
        if gap_m is not None and not (math.isfinite(gap_m) and gap_m > 0.0):
            raise PhysicsError(
                f'gap {gap_m} m must be greater than 0 m: None takes the object away'
            )
        with self._lock:
            self._gap_m = gap_m

    def advance(
        self,
        dt_s: float,
        positive_target_pa: float,
        negative_target_pa: float,
        positive_trigger: bool,
        negative_trigger: bool,
    ) -> None:
        """Simulate `dt_s` [s] with these set points [Pa] gauge and open (True) or shut valves.

        With both valves shut, the chamber is vented. With both open, supply and vacuum work against
        each other.
        """
        low_pa, high_pa = self._limits_pa
        sources_pa = (
            np.clip([positive_target_pa, negative_target_pa], [0.0, low_pa], [high_pa, 0.0])
            * self._gains
            + self._offsets_pa
        )
        open_pa = sources_pa[[bool(positive_trigger), bool(negative_trigger)]]
        source_pa, resistance = 0.0, VENT_RESISTANCE_PA_S_M3
        if open_pa.size:
            source_pa, resistance = float(open_pa.mean()), SUPPLY_RESISTANCE_PA_S_M3 / open_pa.size
        steps = max(1, math.ceil(dt_s / LONGEST_STEP_S))
        with self._lock:
            for _ in range(steps):
                self._step(dt_s / steps, source_pa, resistance)

    def _step(self, dt_s: float, source_pa: float, resistance_pa_s_m3: float) -> None:
        before_pa = self._pressure_pa
        time_s = resistance_pa_s_m3 * self._capacity_m3() / ATMOSPHERE_PA
        self._pressure_pa = source_pa + (before_pa - source_pa) * math.exp(-dt_s / time_s)
        self._play_pa = np.clip(
            self._play_pa,
            self._pressure_pa - PLAY_THRESHOLDS_PA,
            self._pressure_pa + PLAY_THRESHOLDS_PA,
        )
        self._angles_rad = self._angles_rad + (self._free_angles_rad() - self._angles_rad) * (
            1.0 - math.exp(-dt_s / SHAPE_LAG_S)
        )
        self._stop_at_object()

    def _capacity_m3(self) -> float:
        """Return the gas volume [m^3] taken up per relative rise of the absolute pressure.

        It is the chamber's volume plus (absolute pressure) x (growth of the volume per pascal).
        """
        volume_m3 = VOLUME_M3 + VOLUME_PER_BEND_M3_RAD * max(self._angles_rad.sum(), 0.0)
        if self._touching():
            return volume_m3
        slope_rad_pa = (
            self._curves_rad(self._pressure_pa + 500.0)
            - self._curves_rad(self._pressure_pa - 500.0)
        ).sum() / 1e3
        return volume_m3 + (ATMOSPHERE_PA + self._pressure_pa) * VOLUME_PER_BEND_M3_RAD * max(
            slope_rad_pa, 0.0
        )

    def _curves_rad(self, pressure_pa: float) -> np.ndarray:
        x = pressure_pa / self._units_pa
        return (self._coefficients_rad * x[:, None] ** np.arange(4)).sum(axis=1)

    def _free_angles_rad(self) -> np.ndarray:
        return self._curves_rad(
            (1.0 - PLAY_WEIGHTS.sum()) * self._pressure_pa + PLAY_WEIGHTS @ self._play_pa
        )

    def _reach_m(self, angles_rad: np.ndarray) -> float:
        """Return the largest distance of a piece's end from the straight finger's axis [m]."""
        ends_rad = np.cumsum(angles_rad)
        half = 0.5 * angles_rad
        chords_m = self._lengths_m * np.sinc(half / np.pi)
        return float(np.cumsum(chords_m * np.sin(ends_rad - half)).max())

    def _touching(self) -> bool:
        return self._gap_m is not None and self._reach_m(self._angles_rad) >= self._gap_m - 1e-5

    def _stop_at_object(self) -> None:
        if self._gap_m is None or self._reach_m(self._angles_rad) <= self._gap_m:
            return
        for _ in range(4):  # the reach is almost proportional to the bends, so this converges fast
            self._angles_rad = self._angles_rad * self._gap_m / self._reach_m(self._angles_rad)
