"""Speed of simulations: simulated time per processor time, and runs on two cores.

Every robot is driven at 50 Hz by sines within its limits; hand and squid touch all the time.
"""

import time
from collections.abc import Callable

import numpy as np

from soft_arm_description.world import World
from soft_arm_physics import Simulation, rollouts

CONTROL_S = 0.02
SIMULATED_S = 4.0  # of each measured run
ROUNDS = 3  # the best counts: other programs make a run slower, never faster
BATCH = 8  # runs of a batch on one core and on two
GRASP_N_M = 0.03
# Bend of every segment of the squid towards the middle, its sway, and the way to the first contact.
SQUID_BEND_RAD, SQUID_SWAY_RAD, SQUID_MEET_S = 0.9, 0.3, 3.0


def arm_figures() -> dict[str, float]:
    """Real-time factor of the arm of two modules, with its valves and mismatch."""
    sim = Simulation('two_module_arm', pneumatics='two_module_arm')
    high_pa = np.array([c.high for c in sim.robot.coordinates])
    phases = np.arange(len(high_pa))

    def drive(time_s: float) -> None:
        sim.robot.actuate(0.3 * high_pa * (1.0 + np.sin(3.0 * time_s + phases)))

    return {'rtf_arm': _real_time_factor(sim, drive)[0]}


def hand_figures() -> dict[str, float]:
    """Real-time factor of the hand of three fingers with a cube between them."""
    cube = {
        'name': 'cube',
        'shape': 'box',
        'size_m': [0.06, 0.06, 0.06],
        'mass_kg': 0.05,
        'friction': 0.8,
        'position_m': [0.0, 0.0, 0.0301],
    }
    world = World.model_validate(
        {'schema_version': 1, 'name': 'cube', 'description': '', 'objects': [cube]}
    )
    sim = Simulation('hand', world)

    def drive(time_s: float) -> None:
        for robot in sim.robots.values():
            robot.actuate([GRASP_N_M, 0.02 * np.sin(3.0 * time_s)])

    factor, touching = _real_time_factor(sim, drive)
    return {'rtf_hand': factor, 'contacts_hand': touching}


def squid_figures() -> dict[str, float]:
    """Real-time factor of the squid's four limbs at 1 kHz in water, pressing on each other."""
    sim = Simulation('squid', 'squid_sea', time_step_s=0.001)
    inward_rad = {
        name: np.arctan2(-T[1, 3], -T[0, 3])
        for name, T in ((name, robot.T_world_base()) for name, robot in sim.robots.items())
    }

    def drive(time_s: float) -> None:
        for k, (name, robot) in enumerate(sim.robots.items()):
            values = np.array([0.5 * (c.low + c.high) for c in robot.coordinates])
            values[0::3] = SQUID_BEND_RAD
            values[1::3] = inward_rad[name] + SQUID_SWAY_RAD * np.sin(2.0 * time_s + k)
            robot.actuate(values)

    drive(0.0)
    sim.step(SQUID_MEET_S)
    factor, touching = _real_time_factor(sim, drive)
    return {'rtf_squid': factor, 'contacts_squid': touching}


def rollout_figures() -> dict[str, float]:
    """Wall time of a batch of runs on one core over that on two."""
    sim = Simulation('two_module_arm')
    high_pa = np.array([c.high for c in sim.robot.coordinates])
    steps = max(1, round(SIMULATED_S / 2 / CONTROL_S))
    shares = np.random.default_rng(3).uniform(0.0, 0.8, (BATCH, steps, len(high_pa)))
    rollouts(sim, (shares * high_pa)[:2, :1], CONTROL_S, threads=2)
    walls_s: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(ROUNDS):
        for threads, times in walls_s.items():
            start = time.perf_counter()
            rollouts(sim, shares * high_pa, CONTROL_S, threads=threads)
            times.append(time.perf_counter() - start)
    return {'rollout_scaling': min(walls_s[1]) / min(walls_s[2])}


def _real_time_factor(sim: Simulation, drive: Callable[[float], None]) -> tuple[float, float]:
    """Best simulated time per processor time, and mean number of contacts of the whole run."""
    drive(0.0)
    sim.step(5 * CONTROL_S)  # compiles
    steps, best, contacts = max(1, round(SIMULATED_S / ROUNDS / CONTROL_S)), 0.0, []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(steps):
            drive(sim.time_s)
            sim.step(CONTROL_S)
            contacts.append(sim.data.ncon)
        best = max(best, steps * CONTROL_S / (time.process_time() - start))
    return best, float(np.mean(contacts))
