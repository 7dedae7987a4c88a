"""The plant: a pneumatic soft arm as a pseudo-rigid MuJoCo chain driven by the bellows' force law.

Single-threaded, except that `set_valve_targets_pa` and `sensor_pressures_pa` may be called from one
other thread (the valve board).
"""

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from soft_arm_description.robot import Robot
from soft_arm_kinematics.calibration.pressure_length import curve_of_robot_file
from soft_arm_physics.arm_model import bellows_of, build_arm, chain_rest_length_m
from soft_arm_physics.bellows import chain_forces, step_pressures
from soft_arm_physics.errors import PhysicsError
from soft_arm_physics.plant_parameters import PlantParameters

NEARLY_STRAIGHT_PER_PA = 1e-9
RESTING_PA_S = 50.0
RESTING_M_S = 1e-5


class Plant:
    """One arm: a robot file, plant parameters and a seed that draws this arm's mismatch.

    Args:
        robot: The robot file; any number of bellows segments.
        parameters: See `plant_parameters`.
        seed: Draws valve, sensor and bellows mismatch, and the sensor noise. The same seed is the
            same arm.
    """

    def __init__(self, robot: Robot, parameters: PlantParameters, seed: int):
        self.robot, self.parameters = robot, parameters
        mechanics = parameters.mechanics
        spec = build_arm(robot, mechanics.gravity_m_s2, mechanics.tip_payload_kg)
        spec.option.timestep = mechanics.time_step_s
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        self._pending_s = 0.0
        self._limits_pa = robot.pressure_limits_pa
        n = len(robot.chambers)
        self._draw_mismatch(np.random.default_rng([seed, 0]), n)
        self._noise = np.random.default_rng([seed, 1])
        self._pressure_pa, self._crept_pa, self._effective_pa = np.zeros((3, n))
        self._play_pa = np.zeros((n, len(parameters.hysteresis.thresholds_pa)))
        self._pneumatics = (
            parameters.valve.lag_s,
            parameters.valve.rate_limit_pa_s,
            np.array(parameters.hysteresis.thresholds_pa, float),
            np.array(parameters.hysteresis.weights, float),
            parameters.creep.share,
            parameters.creep.time_constant_s,
            self._pressure_pa,
            self._play_pa,
            self._crept_pa,
            self._effective_pa,
        )
        self._chain = (self._curves(), *self._bellows(), *self._addresses())
        self._valve_target_pa = self._valve_offset_pa.copy()
        self.settle()

    @property
    def time_s(self) -> float:
        """Simulated time [s]."""
        return self._data.time

    @property
    def qpos(self) -> np.ndarray:
        """Copy of the joint positions [m, rad], shape (nq,), in the order of `build_arm`."""
        return self._data.qpos.copy()

    @property
    def true_pressures_pa(self) -> np.ndarray:
        """Copy of the true chamber pressures [Pa], shape (n,); a rig sees the sensors only."""
        return self._pressure_pa.copy()

    def set_valve_targets_pa(self, targets_pa: ArrayLike) -> np.ndarray:
        """Command the valves; the pressures follow as time is stepped.

        Args:
            targets_pa: Gauge pressures [Pa], shape (n,), in the order of `robot.chambers`.

        Returns:
            The targets [Pa], shape (n,), clipped to the robot file's pressure limits.

        Raises:
            PhysicsError: If the shape is wrong or a value is not finite.
        """
        targets = np.asarray(targets_pa, float)
        if targets.shape != self._pressure_pa.shape or not np.isfinite(targets).all():
            raise PhysicsError(
                f'valve targets {targets.tolist()} Pa: give {len(self._pressure_pa)} finite gauge '
                'pressures'
            )
        applied = np.clip(targets, *self._limits_pa)
        self._valve_target_pa = applied * self._valve_gain + self._valve_offset_pa
        return applied

    def sensor_pressures_pa(self) -> np.ndarray:
        """Return the present readings of the pressure sensors [Pa] gauge, shape (n,)."""
        noise = self.parameters.sensor.noise_rms_pa * self._noise.standard_normal(
            len(self._pressure_pa)
        )
        return self._pressure_pa + self._sensor_offset_pa + noise

    def step(self, dt_s: float) -> None:
        """Advance by `dt_s` [s]; a rest shorter than a time step is added to the next call's."""
        time_step = self._model.opt.timestep
        self._pending_s += dt_s
        steps = int(self._pending_s / time_step + 1e-6)
        self._pending_s -= steps * time_step
        data, force, damping = self._data, self._data.qfrc_applied, self._model.dof_damping
        for _ in range(steps):
            step_pressures(time_step, self._valve_target_pa, *self._pneumatics)
            (curves, *chain) = self._chain
            chain_forces(data.qpos, self._effective_pa, *curves, *chain, force, damping)
            mujoco.mj_step(self._model, data)
        if not np.isfinite(data.qpos).all():
            raise PhysicsError(
                f'the plant is unstable at {self.time_s:.3f} s: decrease time_step_s or increase '
                'damping_time_s in the plant file'
            )

    def true_tip(self) -> np.ndarray:
        """Return T_base_tip, shape (4, 4): origin at the ring's centre, z along its axis."""
        mujoco.mj_kinematics(self._model, self._data)
        T_base_tip = np.eye(4)
        site = self._data.site('tip')
        T_base_tip[:3, :3], T_base_tip[:3, 3] = site.xmat.reshape(3, 3), site.xpos
        return T_base_tip

    def settle(self, limit_s: float = 30.0) -> float:
        """Step until the pressures, the creep and the chain are at rest.

        Args:
            limit_s: Longest simulated time [s].

        Returns:
            The simulated time this took [s].

        Raises:
            PhysicsError: If the arm still moves after `limit_s`.
        """
        start = self.time_s
        while self.time_s - start < limit_s:
            crept = self._crept_pa.copy()
            self.step(0.05)
            lag_pa = np.abs(self._valve_target_pa - self._pressure_pa).max()
            creep_pa_s = np.abs(self._crept_pa - crept).max() / 0.05
            if (
                max(lag_pa, creep_pa_s) < RESTING_PA_S
                and np.abs(self._data.qvel).max() < RESTING_M_S
            ):
                return self.time_s - start
        raise PhysicsError(
            f'the plant still moves at {np.abs(self._data.qvel).max():.2g} m/s after {limit_s} s; '
            'check damping_time_s and time_step_s in the plant file'
        )

    def _draw_mismatch(self, random: np.random.Generator, n: int) -> None:
        valve, bellows = self.parameters.valve, self.parameters.bellows
        sensor = self.parameters.sensor
        self._valve_gain = 1.0 + valve.gain_std * random.standard_normal(n)
        self._valve_offset_pa = valve.offset_std_pa * random.standard_normal(n)
        self._sensor_offset_pa = sensor.offset_std_pa * random.standard_normal(n)
        self._length_gain = 1.0 + bellows.length_gain_std * random.standard_normal(n)
        self._length_offset_m = bellows.length_offset_std_m * random.standard_normal(n)

    def _curves(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        curve = curve_of_robot_file(self.robot)
        growth = np.where(
            np.abs(curve.growth_per_pa) < NEARLY_STRAIGHT_PER_PA,
            NEARLY_STRAIGHT_PER_PA,
            curve.growth_per_pa,
        )
        return (
            curve.length_0_m + self._length_offset_m,
            curve.slope_0_m_per_pa / growth * self._length_gain,
            1.0 / growth,
        )

    def _bellows(self) -> tuple[np.ndarray, ...]:
        each = [
            (s.actuators, angle) for s in bellows_of(self.robot) for angle in s.actuators.angles_rad
        ]
        area = np.array([a.effective_area_m2 for a, _ in each])
        radius = np.array([a.centre_radius_m for a, _ in each])
        angle = np.array([angle for _, angle in each])
        return area, radius, np.cos(angle), np.sin(angle)

    def _addresses(self) -> tuple:
        segments = bellows_of(self.robot)
        cells = np.array([s.sections for s in segments])

        def addresses(joint: str, extra: int) -> np.ndarray:
            return np.array(
                [
                    self._model.joint(f'{s.name}_{joint}_{i}').qposadr[0]
                    for s in segments
                    for i in range(s.sections + extra)
                ]
            )

        def starts(counts: ArrayLike) -> np.ndarray:
            return np.concatenate(([0], np.cumsum(counts)))

        return (
            cells,
            np.array([chain_rest_length_m(s) for s in segments]),
            starts([len(s.actuators.names) for s in segments]),
            starts(cells + 1),
            addresses('slide', 1),
            starts(cells),
            addresses('x', 0),
            addresses('y', 0),
            self.parameters.mechanics.damping_time_s,
        )
