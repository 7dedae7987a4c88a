"""Recordings of a planar arm of one bending section, computed without the package's models."""

from dataclasses import replace

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import root

from soft_arm_identification.recording import Channels, Recording

LENGTH_M = 0.3
RATE_HZ = 20.0


def tip_m(bend_rad, length_m):
    """End of an arc in the x-z plane that begins along z."""
    bend_rad = np.where(np.abs(bend_rad) < 1e-9, 1e-9, bend_rad)
    radius_m = length_m / bend_rad
    across, along = radius_m * (1 - np.cos(bend_rad)), radius_m * np.sin(bend_rad)
    return np.stack([across, np.zeros_like(across), along], axis=-1)


def backlash(values, width, start):
    """Dead zone of a gear: moves only when its input has passed the gap of half-width `width`."""
    found, now = np.empty_like(values), start
    for k, value in enumerate(values):
        if value - now > width:
            now = value - width
        elif now - value > width:
            now = value + width
        found[k] = now
    return found


def record(name, pressures_pa, width=0.0, start=0.0):
    """Recording under two antagonistic pressures, shape (n, 2) [Pa]."""
    acting = np.stack([backlash(p / 1e5, width, start) for p in pressures_pa.T], axis=1)
    tip = tip_m(1.5 * (acting[:, 0] - acting[:, 1]), LENGTH_M + 0.05 * acting.sum(axis=1))
    names = ('left', 'right')
    return Recording(
        name,
        np.arange(len(pressures_pa)) / RATE_HZ,
        Channels(names, ('Pa', 'Pa'), pressures_pa),
        Channels((), (), np.empty((len(pressures_pa), 0))),
        ('tip',),
        tip[:, None],
        np.full((len(pressures_pa), 1, 4), np.nan),
        LENGTH_M,
    )


def waves(seed, samples=160):
    """Smooth random pressures from 0 to 100 kPa, shape (n, 2)."""
    random = np.random.default_rng(seed)
    knots = random.uniform(0, 1e5, (samples // 20 + 2, 2))
    knots[0] = 0
    times = np.arange(samples) / 20
    return np.column_stack([np.interp(times, np.arange(len(knots)), k) for k in knots.T])


def steps(seed, samples=160):
    """Pressures of 0 to 100 kPa that change every 2 s, shape (n, 2)."""
    levels = np.random.default_rng(seed).uniform(0, 1e5, (samples // 40 + 1, 2))
    return np.repeat(levels, 40, axis=0)[:samples]


def swinging(name, pressures_pa, frequency_hz=1.2, retardation_s=0.03, weight_m_s2=6.0, links=8):
    """Recording of links that hang along z in a plane, at rest before the first sample.

    A link's angle counts from z, so that masses at the links' middles give mass matrix, centrifugal
    and gravity terms in closed form (rows of `lever_m`: middles; columns: links).
    """
    run = record(name, pressures_pa)
    link_m, mass = LENGTH_M / links, 1.0 / links
    lever_m = link_m * (np.tri(links, links, -1) + 0.5 * np.eye(links))
    inertia = mass * lever_m.T @ lever_m
    weight = mass * weight_m_s2 * lever_m.sum(axis=0)
    stiffness = LENGTH_M**3 * (2 * np.pi * frequency_hz / 3.516) ** 2 / link_m
    joints = np.eye(links) - np.eye(links, k=-1)  # bends from angles
    bends = 1.5 * (pressures_pa[:, 0] - pressures_pa[:, 1]) / 1e5 / links

    def torque(time_s, angles, speeds):
        bend = np.interp(time_s, run.time_s, bends)
        elastic = joints.T @ (joints @ (angles + retardation_s * speeds) - bend)
        return -stiffness * elastic - weight * np.sin(angles)

    def motion(time_s, state):
        angles, speeds = np.split(state, 2)
        apart = angles[:, None] - angles
        acting = torque(time_s, angles, speeds) - (inertia * np.sin(apart)) @ speeds**2
        turning = np.eye(links) * mass * link_m**2 / 12
        return np.r_[speeds, np.linalg.solve(inertia * np.cos(apart) + turning, acting)]

    rest = root(lambda angles: torque(0.0, angles, 0 * angles), np.zeros(links)).x
    found = solve_ivp(
        motion, run.time_s[[0, -1]], np.r_[rest, 0 * rest], 'LSODA', run.time_s, max_step=0.05
    ).y[:links]
    tip = link_m * np.stack([np.sin(found), 0 * found, np.cos(found)], axis=-1).sum(axis=0)
    return replace(run, points_m=tip[:, None])
