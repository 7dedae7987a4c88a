"""Any robot in any world as a Gymnasium environment, alone or many at a time.

    def reward(sim):
        return -abs(sim.robot.T_world_tip()[0, 3] - 0.03)

    environment = RobotEnvironment('soft_finger', reward=reward)

An action is the actuation of all robots in SI units; `gymnasium.wrappers.RescaleAction` brings it
to -1..1. An observation holds what a laboratory could measure: see `RobotEnvironment`.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from soft_arm_physics.errors import PhysicsError
from soft_arm_physics.simulation import Simulation

if TYPE_CHECKING:
    from soft_arm_physics.pictures.camera import Camera

Reward = Callable[[Simulation], float]
Ending = Callable[[Simulation], bool]
Beginning = Callable[[Simulation, np.random.Generator], None]
Info = dict[str, Any]


class RobotEnvironment(gymnasium.Env[np.ndarray, np.ndarray]):
    """A simulation as an environment for reinforcement learning.

    Observation, (n,) float64, in this order: of each robot the joint positions [rad, m], the joint
    velocities [rad/s, m/s], the tip's position in the world [m] and, where valves or filling delay
    them, the pressures of the chambers [Pa]; of each object of the world that can move, its
    position [m], its quaternion x, y, z, w, its velocity in the world [m/s] and its angular
    velocity in its own axes [rad/s]. Hysteresis and creep of a wall stay hidden. Action: the
    actuation of each robot, in the order of `SimulatedRobot.coordinates`, within its limits.

    Args:
        simulation: A simulation, or the name or path of a robot or assembly file.
        world: Name or path of a world file, for a file; None: gravity and nothing else.
        reward: Reward of a state.
        ends: Whether a state ends an episode; None: only `limit_s` does, as a truncation.
        begin: Changes the start of each episode, such as the place of an object, by its random
            generator; None: always the same start.
        step_s: Time of one action [s].
        limit_s: Time after which an episode is cut off [s].
        render_mode: `rgb_array`, or None.
        camera: Camera of the world for the pictures; None: an overview.

    Raises:
        PhysicsError: As `Simulation`, or if an argument cannot be used.
    """

    def __init__(
        self,
        simulation: Simulation | str | Path,
        world: str | Path | None = None,
        *,
        reward: Reward,
        ends: Ending | None = None,
        begin: Beginning | None = None,
        step_s: float = 0.05,
        limit_s: float = 10.0,
        render_mode: str | None = None,
        camera: str | None = None,
    ):
        if not 0.0 < step_s <= limit_s:
            raise PhysicsError(
                f'step_s {step_s} s must be greater than 0 and at most limit_s {limit_s} s'
            )
        if isinstance(simulation, Simulation) and world is not None:
            raise PhysicsError('a world is given, but the simulation has its own: leave one out')
        if isinstance(simulation, Simulation):
            self.simulation = simulation.copy()
        else:
            self.simulation = Simulation(simulation, world)
        if render_mode not in (None, 'rgb_array'):
            raise PhysicsError(f'render_mode {render_mode!r}: give rgb_array, or None')
        self.metadata = {'render_modes': ['rgb_array'], 'render_fps': max(1, round(1.0 / step_s))}
        self.render_mode = render_mode
        self._reward, self._ends, self._begin = reward, ends, begin
        self._step_s, self._limit_s = step_s, limit_s
        self._camera_name = camera
        self._camera: Camera | None = None
        robots = list(self.simulation.robots.values())
        self._objects = [item.name for item in self.simulation.world.objects if not item.fixed]
        coordinates = [c for robot in robots for c in robot.coordinates]
        self._parts = np.cumsum([len(robot.coordinates) for robot in robots])[:-1]
        self.action_space = gymnasium.spaces.Box(
            np.array([c.low for c in coordinates]),
            np.array([c.high for c in coordinates]),
            dtype=np.float64,
        )
        self.simulation.reset()
        self.observation_space = gymnasium.spaces.Box(
            -np.inf, np.inf, self._observation().shape, np.float64
        )

    def reset(
        self, *, seed: int | None = None, options: Info | None = None
    ) -> tuple[np.ndarray, Info]:
        """Go back to the start, at rest; `begin` may change it."""
        super().reset(seed=None if seed is None else index(seed))  # NumPy's integers too
        self.simulation.reset()
        for robot in self.simulation.robots.values():
            robot.actuate(robot.rest_u)
        if self._begin is not None:
            self._begin(self.simulation, self.np_random)
        return self._observation(), {'time_s': self.simulation.time_s}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, Info]:
        """Hold an actuation for `step_s`.

        Raises:
            PhysicsError: If it is outside the limits, or the simulation diverges.
        """
        robots = self.simulation.robots.values()
        parts = np.split(np.asarray(action, float), self._parts)
        for robot, part in zip(robots, parts, strict=True):
            robot.actuate(part)
        self.simulation.step(self._step_s)
        ended = bool(self._ends(self.simulation)) if self._ends else False
        cut_off = self.simulation.time_s >= self._limit_s - 1e-9
        reward = float(self._reward(self.simulation))
        return self._observation(), reward, ended, cut_off, {'time_s': self.simulation.time_s}

    def render(self) -> np.ndarray | None:
        """Return a picture (height, width, 3), or None without a render mode."""
        if self.render_mode is None:
            return None
        if self._camera is None:
            from soft_arm_physics.pictures.camera import Camera

            self._camera = Camera(self.simulation, self._camera_name)
        return self._camera.picture()

    def close(self) -> None:
        """Free the camera."""
        if self._camera is not None:
            self._camera.close()
            self._camera = None

    def _observation(self) -> np.ndarray:
        found = []
        for robot in self.simulation.robots.values():
            found += [robot.joint_positions(), robot.joint_velocities()]
            found.append(robot.T_world_tip()[:3, 3])
            if robot.pressures_lag:
                found.append(robot.pressures_pa)
        for name in self._objects:
            found.append(_free_state(self.simulation, name))
        return np.concatenate(found)


def _free_state(simulation: Simulation, name: str) -> np.ndarray:
    """Position, quaternion x, y, z, w and velocities of an object that can move, (13,)."""
    model, data = simulation.model, simulation.data
    joint = model.body_jntadr[model.body(name).id]
    at, dof = model.jnt_qposadr[joint], model.jnt_dofadr[joint]
    return np.concatenate(
        [data.qpos[at + np.array([0, 1, 2, 4, 5, 6, 3])], data.qvel[dof : dof + 6]]
    )


class RobotVectorEnvironment(gymnasium.vector.VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many copies of an environment; they step at the same time, on all cores.

    The stepping loop holds no lock of the interpreter, so threads suffice. The step after an
    episode resets it (`AutoresetMode.NEXT_STEP`).

    Args:
        make: Makes one environment; all of them must have the same spaces.
        count: How many.
        threads: How many step at a time; None: as many as there are cores.
    """

    def __init__(
        self, make: Callable[[], RobotEnvironment], count: int, threads: int | None = None
    ):
        self.environments = [make() for _ in range(count)]
        first = self.environments[0]
        self.num_envs, self.render_mode = count, first.render_mode
        self.metadata = {**first.metadata, 'autoreset_mode': AutoresetMode.NEXT_STEP}
        self.single_action_space = first.action_space
        self.single_observation_space = first.observation_space
        self.action_space = batch_space(first.action_space, count)
        self.observation_space = batch_space(first.observation_space, count)
        self._over = np.zeros(count, dtype=bool)
        self._threads = ThreadPoolExecutor(threads or len(os.sched_getaffinity(0)))

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Info | None = None
    ) -> tuple[np.ndarray, Info]:
        """Reset all environments; environment i gets seed + i of a single seed."""
        if seed is None or isinstance(seed, (int, np.integer)):
            seeds = [None if seed is None else seed + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
        found = [e.reset(seed=s) for e, s in zip(self.environments, seeds, strict=True)]
        self._over[:] = False
        return np.stack([observation for observation, _ in found]), self._infos(found)

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]:
        """Step all environments; reset the ones whose episode is over instead."""

        def one(i: int) -> tuple[np.ndarray, float, bool, bool, Info]:
            environment = self.environments[i]
            if self._over[i]:
                observation, info = environment.reset()
                return observation, 0.0, False, False, info
            return environment.step(actions[i])

        found = list(self._threads.map(one, range(self.num_envs)))
        observations, rewards, ended, cut_off, _ = zip(*found, strict=True)
        self._over = np.array(ended) | np.array(cut_off)
        infos = self._infos([(row[0], row[-1]) for row in found])
        return np.stack(observations), np.array(rewards), np.array(ended), np.array(cut_off), infos

    def _infos(self, found: list[tuple[np.ndarray, Info]]) -> Info:
        infos: Info = {}
        for i, (_, info) in enumerate(found):
            infos = self._add_info(infos, info, i)
        return infos

    def render(self) -> tuple[np.ndarray | None, ...]:  # type: ignore[override]
        """Return a picture of each environment."""
        return tuple(environment.render() for environment in self.environments)

    def close_extras(self, **kwargs: Any) -> None:
        """Free threads and cameras."""
        self._threads.shutdown()
        for environment in self.environments:
            environment.close()
