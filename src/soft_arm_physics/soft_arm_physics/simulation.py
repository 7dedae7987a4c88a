"""Simulation of robots in a world: load, actuate, step, read.

sim = Simulation('two_module_arm')
sim.robot.actuate([40e3, 0, 0, 0, 0, 0])
sim.settle()
print(sim.robot.backbone_m())
"""

import mujoco
import numpy as np

from soft_arm_description.robot import Robot, load_robot
from soft_arm_description.segments import MissingPhysicsError
from soft_arm_physics.actuation.drive import (
    RestBuilder,
    draw_mismatch,
    make_bellows,
    make_chambers,
)
from soft_arm_physics.actuation.pneumatics import Pneumatics
from soft_arm_physics.actuation.stepping import Loads, advance, make_views
from soft_arm_physics.errors import PhysicsError
from soft_arm_physics.model.checks import check_overlaps, check_stability, divergence
from soft_arm_physics.model.world import build_robot
from soft_arm_physics.simulated_robot import SimulatedRobot

RESTING_PA_S = 50.0
RESTING_M_S = 1e-5
MOST_STEP_S = 0.01


class Simulation:
    """Robots and what surrounds them, as one MuJoCo model.

    Args:
        robot: Robot, or the name or path of a robot file.
        pneumatics: What lies between commands and pressures; None: pressures follow at once.
        seed: Draws the mismatch of the chambers and the sensors' noise. The same seed is the same
            robot.
        time_step_s: Time step [s].

    Attributes:
        robots: The robots by their names.

    Raises:
        PhysicsError: If something that the simulation needs is missing, bodies overlap, or a spring
            is too stiff for the time step.
    """

    def __init__(
        self,
        robot: Robot | str,
        world: None = None,
        pneumatics: Pneumatics | None = None,
        seed: int = 0,
        time_step_s: float = 0.002,
    ):
        if not 0.0 < time_step_s <= MOST_STEP_S:
            raise PhysicsError(
                f'time_step_s {time_step_s} s must be greater than 0 and at most {MOST_STEP_S} s'
            )
        robot = robot if isinstance(robot, Robot) else load_robot(robot)
        self._pneumatics = pneumatics or Pneumatics()
        try:
            self._spec, bodies = build_robot(robot, time_step_s)
            self._model = self._spec.compile()
        except (MissingPhysicsError, ValueError) as error:
            raise PhysicsError(str(error)) from error
        self._data = mujoco.MjData(self._model)
        check_stability(self._model, self._data)
        check_overlaps(self._model, self._data)
        self._pending_s = 0.0
        counts = [len(b.robot.chambers) for b in bodies]
        mismatches = [draw_mismatch(self._pneumatics, n, seed, i) for i, n in enumerate(counts)]
        self._chambers = make_chambers(bodies, self._pneumatics, mismatches)
        self._bellows = make_bellows(self._model, bodies, mismatches)
        rests = RestBuilder(self._model, sum(counts), self._pneumatics)
        self.robots = {
            b.name: SimulatedRobot(
                b,
                self._model,
                self._data,
                rests,
                self._chambers,
                sum(counts[:i]),
                mismatches[i],
                self._pneumatics.sensor.noise_rms_pa,
            )
            for i, b in enumerate(bodies)
        }
        self._rests = rests.build()
        self._sources = np.zeros(rests.n_sources)
        for simulated in self.robots.values():
            simulated.use_sources(self._sources)
        self._loads = Loads(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), np.zeros((0, 6)))
        self._views = make_views(self._model, self._data)

    @property
    def robot(self) -> SimulatedRobot:
        """The only robot.

        Raises:
            PhysicsError: If there are several.
        """
        if len(self.robots) != 1:
            raise PhysicsError(f'there are {len(self.robots)} robots: use robots[NAME]')
        return next(iter(self.robots.values()))

    @property
    def time_s(self) -> float:
        """Simulated time [s]."""
        return float(self._data.time)

    def step(self, dt_s: float) -> None:
        """Advance by `dt_s` [s]; a rest shorter than a time step is added to the next call's.

        Raises:
            PhysicsError: If the simulation diverges; it names the probable cause.
        """
        time_step_s = self._model.opt.timestep
        self._pending_s += dt_s
        steps = int(self._pending_s / time_step_s + 1e-6)
        self._pending_s -= steps * time_step_s
        done = advance(
            self._model._address,
            self._data._address,
            steps,
            time_step_s,
            self._views,
            self._chambers,
            self._bellows,
            self._rests,
            self._loads,
            self._sources,
        )
        if done < steps:
            when_s = self.time_s
            raise PhysicsError(
                f'the simulation diverged at {when_s:.3f} s: {divergence(self._model, self._data)}'
            )

    def settle(self, limit_s: float = 30.0) -> float:
        """Step until pressures, creep and the robots' joints are at rest.

        Args:
            limit_s: Longest simulated time [s].

        Returns:
            The simulated time this took [s].

        Raises:
            PhysicsError: If a robot still moves after `limit_s`.
        """
        start = self.time_s
        c = self._chambers
        while self.time_s - start < limit_s:
            crept = c.crept_pa.copy()
            self.step(0.05)
            unsettled_pa = np.abs(c.target_pa - c.pressure_pa).max(initial=0.0)
            creep_pa_s = np.abs(c.crept_pa - crept).max(initial=0.0) / 0.05
            if max(unsettled_pa, creep_pa_s) < RESTING_PA_S and self._fastest() < RESTING_M_S:
                return self.time_s - start
        raise PhysicsError(
            f'a robot still moves at {self._fastest():.2g} m/s or rad/s after {limit_s:g} s: '
            'increase damping_time_s in the robot file, or limit_s'
        )

    def _fastest(self) -> float:
        dofs = np.concatenate([robot.dofs for robot in self.robots.values()])
        return float(np.abs(self._data.qvel[dofs]).max(initial=0.0))

    def to_mjcf(self) -> str:
        """Return the model as MJCF, without what drives it: pressures, tendons and torques."""
        return self._spec.to_xml()
