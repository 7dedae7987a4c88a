"""Many runs of one simulation from its present state, one thread on each core."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from soft_arm_physics.actuation.stepping import record
from soft_arm_physics.errors import PhysicsError
from soft_arm_physics.simulation import Simulation


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Results of a batch of runs.

    Attributes:
        time_s: Simulated time after each control step [s], (steps,).
        qpos: Positions of all joints and objects, in MuJoCo's order, (batch, steps, nq).
        T_world_tip: Pose of each robot's tip, (batch, steps, 4, 4), by name.
        diverged_step: Control step in which a run diverged, or -1; later states are nan; (batch,).
    """

    time_s: np.ndarray
    qpos: np.ndarray
    T_world_tip: dict[str, np.ndarray]
    diverged_step: np.ndarray


def rollouts(
    sim: Simulation,
    u: ArrayLike | dict[str, ArrayLike],
    dt_s: float,
    *,
    threads: int | None = None,
) -> Rollouts:
    """Run a batch of inputs u from the present state of a simulation, which does not change.

    Args:
        sim: The simulation.
        u: Inputs of the only robot, or of some robots by name: (batch, steps, n). Other
            robots keep theirs.
        dt_s: Time between two inputs [s], a multiple of the time step.
        threads: How many run at once; None: one on each core.

    Raises:
        PhysicsError: If an input has another shape or is outside its limits, or dt_s is no
            multiple of the time step. A run that diverges does not end the others.
    """
    given = u if isinstance(u, dict) else {sim.robot.name: u}
    arrays = {name: np.asarray(values, float) for name, values in given.items()}
    shapes = {array.shape[:2] for array in arrays.values()}
    if len(shapes) != 1 or any(array.ndim != 3 for array in arrays.values()):
        raise PhysicsError(
            f'u of shapes {[a.shape for a in arrays.values()]}: give (batch, steps, n), '
            'with the same batch and steps for every robot'
        )
    batch, steps = next(iter(shapes))
    every = round(dt_s / sim.model.opt.timestep)
    if every < 1 or abs(every * sim.model.opt.timestep - dt_s) > 1e-9:
        raise PhysicsError(
            f'dt_s {dt_s} s must be a multiple of the time step {sim.model.opt.timestep} s'
        )
    valves, sources = _schedule(sim, arrays, batch, steps)
    names = list(sim.robots)
    sites = np.array([sim.model.site(f'{name}/tip').id for name in names])
    qpos = np.full((batch, steps, sim.model.nq), np.nan)
    tips = np.full((batch, steps, len(names), 12), np.nan)
    diverged = np.full(batch, -1)

    def run(k: int) -> None:
        own = sim.copy()
        done = record(
            every,
            *own.state.arguments(),
            valves[k],
            sources[k],
            sites,
            own.data.site_xpos,
            own.data.site_xmat,
            qpos[k],
            tips[k],
        )
        if done < steps:
            diverged[k] = done

    with ThreadPoolExecutor(threads or len(os.sched_getaffinity(0))) as pool:
        list(pool.map(run, range(batch)))
    poses = np.zeros((batch, steps, len(names), 4, 4))
    poses[..., :3, 3], poses[..., 3, 3] = tips[..., :3], 1.0
    poses[..., :3, :3] = tips[..., 3:].reshape(batch, steps, -1, 3, 3)
    return Rollouts(
        sim.time_s + dt_s * np.arange(1, steps + 1),
        qpos,
        {name: poses[:, :, i] for i, name in enumerate(names)},
        diverged,
    )


def _schedule(
    sim: Simulation, arrays: dict[str, np.ndarray], batch: int, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return valves and sources of all runs, (batch, steps, ..), from checked inputs."""
    trial = sim.copy()
    state = trial.state
    valves = np.empty((batch, steps, 2, len(state.chambers.target_pa)))
    sources = np.empty((batch, steps, len(state.sources)))
    for name in arrays:
        if name not in trial.robots:
            raise PhysicsError(f'no robot {name!r}: give one of {", ".join(trial.robots)}')
    for k in range(batch):
        for step in range(steps):
            for name, array in arrays.items():
                trial.robots[name].actuate(array[k, step])
            valves[k, step] = state.chambers.target_pa, state.chambers.resistance_pa_s_m3
            sources[k, step] = state.sources
    return valves, sources
