import functools

import numpy as np
import pytest

from soft_arm_control.grasping.gripper import PERIOD_S as FINGER_PERIOD_S
from soft_arm_control.grasping.gripper import GraspGoal, GraspSettings, Gripper, ReleaseGoal
from soft_arm_control.grasping.no_load_fit import Closing, identify
from soft_arm_control.grasping.no_load_reference import from_robot
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_control.tip.controller import ControllerSettings, TipController
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.goal import Goal
from soft_arm_description.robot import load_robot
from soft_arm_kinematics.arm import Arm, make_arm

NOISE_M, CAMERA_DELAY_S = 4e-4, 0.06
SETTINGS = ControllerSettings()


class Loop:
    """Run the controller with a simulated arm in one process.

    The valves run at 50 Hz; the camera at 30 Hz has noise, delay and a bias of its extrinsics.

    `camera`, `tip` and `driver` may be switched off. `in_view` returns whether images show a tip at
    a position [m].
    """

    def __init__(
        self,
        arm,
        dynamics,
        plant_seed,
        bias_m=(0.0, 0.0, 0.0),
        in_view=lambda tip_m: True,
        settings=SETTINGS,
    ):
        physics = pytest.importorskip('soft_arm_physics.pneumatic_arm')  # needs MuJoCo
        self.arm, self.plant = arm, physics.pneumatic_arm(arm.robot, plant_seed)
        self.controller, self.now_s, self.ticks = TipController(arm, dynamics, settings), 0.0, 0
        self.bias_m, self._noise = np.array(bias_m), np.random.default_rng([plant_seed, 9])
        self._images, self._commands = [], []
        self.camera = self.tip = self.driver = True
        self.in_view = in_view
        self.times_s, self.tips_m, self.statuses = [], [], []

    def goal(
        self,
        lengths_m,
        free=(False, False, False, True, True, True),
        tolerance_m=1e-3,
        timeout_s=10.0,
        open_loop=False,
        velocity_scaling=1.0,
    ):
        point_m = self.arm.at(lengths_m).tip_m
        return Goal(
            point_m[None],
            lengths_m[None],
            np.zeros(1),
            np.array(free),
            tolerance_m,
            timeout_s,
            open_loop,
            velocity_scaling,
        )

    def run(self, duration_s):
        for _ in range(round(duration_s / PERIOD_S)):
            self._tick()
        return self.statuses[-1]

    def until_end(self, limit_s=12.0):
        for _ in range(round(limit_s / PERIOD_S)):
            self._tick()
            if self.statuses[-1].outcome is not None:
                return self.statuses[-1]
        raise AssertionError(f'goal still in phase {self.statuses[-1].phase} after {limit_s} s')

    def errors_m(self, target_m, last_s):
        return np.linalg.norm(np.mean(self.tips_m[-round(last_s / PERIOD_S) :], axis=0) - target_m)

    def forget_images(self):
        self._images.clear()

    def _tick(self):
        self.plant.step(PERIOD_S)
        self.ticks += 1
        self.now_s += PERIOD_S
        tip_m = self.plant.robot.T_base_tip()[:3, 3]
        if self.driver:
            self.controller.add_pressures(self.now_s, self.plant.robot.sensor_pressures_pa())
        if self.camera and self.ticks * 3 // 5 != (self.ticks - 1) * 3 // 5:
            seen_m = tip_m + self.bias_m + NOISE_M * self._noise.standard_normal(3)
            self._images.append((self.now_s, seen_m if self.in_view(tip_m) else None))
        while self._images and self._images[0][0] <= self.now_s - CAMERA_DELAY_S:
            stamp_s, measured_m = self._images.pop(0)
            self.controller.add_image(stamp_s)
            if self.tip and measured_m is not None:
                self.controller.add_tip_pose(stamp_s, measured_m, NOISE_M**2 * np.eye(3))
        command_pa, status = self.controller.step(self.now_s)
        if command_pa is not None:
            self._commands.append(command_pa)
            late_pa = self._commands[-2 if len(self._commands) > 1 else -1]  # a period on the wire
            self.plant.robot.actuate(self.plant.robot.clip(late_pa))
        self.times_s.append(self.now_s)
        self.tips_m.append(tip_m)
        self.statuses.append(status)


@pytest.fixture(scope='session')
def arm() -> Arm:
    return make_arm(load_robot('two_module_arm'))


@pytest.fixture(scope='session')
def dynamics() -> Dynamics:
    return Dynamics(
        valve_time_constant_s=0.2,
        valve_rate_limit_pa_s=150e3,
        valve_delay_s=0.02,
        mechanical_lag_s=0.036,
        creep_share=0.022,
        creep_time_constant_s=0.9,
        camera_delay_s=0.06,
    )


@pytest.fixture
def make_loop(arm, dynamics):
    """Makes a loop of a plant seed, with measured pressures and images already in."""

    def make(plant_seed, **options) -> Loop:
        loop = Loop(arm, dynamics, plant_seed, **options)
        loop.run(0.2)
        return loop

    return make


class FingerLoop:
    """Run the gripper with a simulated finger in one process.

    Pressures come at 50 Hz, shapes at 17 Hz with noise and delay.

    `driver`, `camera` and `supply` may be switched off.
    """

    def __init__(self, free, plant_seed, gap_m=None):
        robot = load_robot('four_piece_finger')
        physics = pytest.importorskip('soft_arm_physics.pneumatic_finger')  # needs MuJoCo
        self.plant = physics.PneumaticFinger(robot, plant_seed)
        self.plant.place_object(gap_m)
        self.gripper = Gripper(free, tuple(robot.pressure_limits_pa[:, 0]))
        self.now_s, self.ticks, self.command_pa = 0.0, 0, None
        self.driver = self.camera = self.supply = True
        self.samples, self.shapes, self._images = [], [], []
        self._noise = np.random.default_rng([plant_seed, 7])

    def grasp(self, **changes):
        self.gripper.start(
            GraspGoal(**{'grip_pa': 100e3, 'squeeze_pa': 15e3, 'timeout_s': 10.0} | changes),
            self.now_s,
        )

    def release(self, **changes):
        self.gripper.start(
            ReleaseGoal(**{'open_pa': -60e3, 'timeout_s': 5.0} | changes), self.now_s
        )

    def run(self, duration_s):
        for _ in range(round(duration_s / FINGER_PERIOD_S)):
            status = self.tick()
        return status

    def until(self, condition, limit_s=12.0):
        for _ in range(round(limit_s / FINGER_PERIOD_S)):
            status = self.tick()
            if condition(status):
                return status
        raise AssertionError(f'still {status} after {limit_s} s')

    def until_end(self):
        return self.until(lambda status: status.outcome is not None)

    def tick(self, command_pa=None):
        """One period; `command_pa` in place of the gripper's own."""
        self.now_s, self.ticks = self.now_s + FINGER_PERIOD_S, self.ticks + 1
        applied_pa = (self.command_pa or 0.0) if self.supply else 0.0
        self.plant.advance(
            FINGER_PERIOD_S,
            max(applied_pa, 0.0),
            min(applied_pa, 0.0),
            applied_pa > 0,
            applied_pa < 0,
        )
        own_pa, status = self.gripper.step(self.now_s)
        self.command_pa = own_pa if command_pa is None else command_pa
        if self.driver:
            self.samples.append(
                (self.now_s, self.plant.sensor_pressure_pa(), self.command_pa or 0.0)
            )
            self.gripper.add_pressure(*self.samples[-1])
        if self.camera and self.ticks % 3 == 0:
            self._images.append(
                (self.now_s, self.plant.piece_angles_rad + 0.01 * self._noise.standard_normal(4))
            )
        while self._images and self._images[0][0] <= self.now_s - 0.08:
            self.shapes.append(self._images.pop(0))
            self.gripper.add_shape(*self.shapes[-1])
        return status


def record_closing(loop, top_pa=110e3):
    """Close the finger as a grasp does, without the gripper's own commands."""
    rate_pa_s = GraspSettings().rate_pa_s
    for _ in range(round(1.5 / FINGER_PERIOD_S)):
        loop.tick(-60e3)
    first, first_shape = len(loop.samples), len(loop.shapes)
    for k in range(round((top_pa + 60e3) / rate_pa_s / FINGER_PERIOD_S)):
        loop.tick(-60e3 + rate_pa_s * k * FINGER_PERIOD_S)
    samples, shapes = np.array(loop.samples[first:]), loop.shapes[first_shape:]
    return Closing(*samples.T, np.array([s for s, _ in shapes]), np.array([b for _, b in shapes]))


@pytest.fixture(scope='session')
def finger():
    return load_robot('four_piece_finger')


@pytest.fixture(scope='session')
def free_of(finger):
    """Calibrates a finger by its plant seed, as `softarm calibrate grasp` does."""

    @functools.cache
    def calibrate(plant_seed):
        loop = FingerLoop(from_robot(finger), plant_seed)
        return identify([record_closing(loop) for _ in range(3)])[0]

    return calibrate


@pytest.fixture
def make_finger_loop(free_of):
    """Return a function that makes a loop of a plant seed with its first samples.

    It is calibrated for this finger unless another reference is given.
    """

    def make(plant_seed, gap_m=None, free=None) -> FingerLoop:
        loop = FingerLoop(free or free_of(plant_seed), plant_seed, gap_m)
        loop.run(0.3)
        return loop

    return make
