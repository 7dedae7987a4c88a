"""Recordings of a planar arm of one bending section, computed without the package's models."""

import numpy as np

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
