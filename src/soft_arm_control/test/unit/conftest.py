import numpy as np
import pytest

from soft_arm_control.controller import TipController
from soft_arm_control.dynamics import Dynamics
from soft_arm_control.goal import Goal
from soft_arm_control.valves import PERIOD_S
from soft_arm_description.robot import load_robot
from soft_arm_kinematics.arm import Arm
from soft_arm_sim.plant import Plant
from soft_arm_sim.plant_parameters import load_plant_parameters

NOISE_M, CAMERA_DELAY_S = 4e-4, 0.06


class Loop:
    """The controller against the plant, in process: 50 Hz valves, 30 Hz camera with noise, delay and a bias of its extrinsics.

    `camera`, `ring` and `driver` may be switched off.
    """

    def __init__(self, arm, dynamics, plant_seed, bias_m=(0.0, 0.0, 0.0)):
        self.arm, self.plant = arm, Plant(arm.robot, load_plant_parameters(), plant_seed)
        self.controller, self.now_s, self.ticks = TipController(arm, dynamics), 0.0, 0
        self.bias_m, self._noise = np.array(bias_m), np.random.default_rng([plant_seed, 9])
        self._images, self._commands = [], []
        self.camera = self.ring = self.driver = True
        self.times_s, self.tips_m, self.statuses = [], [], []

    def goal(self, lengths_m, free=(False, False, False, True, True, True), tolerance_m=1e-3, timeout_s=10.0, open_loop=False):
        point_m = self.arm.tip_from_lengths(lengths_m)
        return Goal(point_m[None], lengths_m[None], np.zeros(1), np.array(free), tolerance_m, timeout_s, open_loop)

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

    def _tick(self):
        self.plant.step(PERIOD_S)
        self.ticks += 1
        self.now_s += PERIOD_S
        tip_m = self.plant.true_tip()[:3, 3]
        if self.driver:
            self.controller.add_pressures(self.now_s, self.plant.sensor_pressures_pa())
        if self.camera and self.ticks * 3 // 5 != (self.ticks - 1) * 3 // 5:
            self._images.append((self.now_s, tip_m + self.bias_m + NOISE_M * self._noise.standard_normal(3)))
        while self._images and self._images[0][0] <= self.now_s - CAMERA_DELAY_S:
            stamp_s, ring_m = self._images.pop(0)
            self.controller.add_image(stamp_s)
            if self.ring:
                self.controller.add_ring(stamp_s, ring_m, NOISE_M**2 * np.eye(3))
        command_pa, status = self.controller.step(self.now_s)
        if command_pa is not None:
            self._commands.append(command_pa)
            self.plant.set_valve_targets_pa(self._commands[-2 if len(self._commands) > 1 else -1])  # one period on the wire
        self.times_s.append(self.now_s)
        self.tips_m.append(tip_m)
        self.statuses.append(status)


@pytest.fixture(scope='session')
def arm() -> Arm:
    return Arm(load_robot('two_module_arm'))


@pytest.fixture
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

    def make(plant_seed, bias_m=(0.0, 0.0, 0.0)) -> Loop:
        loop = Loop(arm, dynamics, plant_seed, bias_m)
        loop.run(0.2)
        return loop

    return make
