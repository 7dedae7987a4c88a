"""Samples in which a motion capture lost a point."""

from itertools import groupby

import numpy as np

from soft_arm_identification.mapping import Lost

NORM = 0.05  # deviation of the norm of a unit quaternion
SHORT = 0.1  # share of all samples below which a span between two jumps is lost


def lost_samples(
    points_m: np.ndarray, quaternions: np.ndarray | None, stated: Lost
) -> dict[str, np.ndarray]:
    """Return in which samples a point is lost.

    Args:
        points_m: Positions [m], shape (n, 3).
        quaternions: Orientations, shape (n, 4); None if they were not recorded.
        stated: Criteria.

    Returns:
        Lost samples, shape (n,), by reason. A sample is listed under the first reason only.
    """
    found = {'no number': ~np.isfinite(points_m).all(1)}
    if stated.zeros:
        found['exactly zero'] = (points_m == 0).all(1)
    if quaternions is not None:
        found['no unit quaternion'] = ~(np.abs(np.linalg.norm(quaternions, axis=1) - 1) < NORM)
    if stated.repeated is not None:
        lengths = [len(list(run)) for _, run in groupby(points_m.tolist())]
        found[f'{stated.repeated} or more equal positions'] = (
            np.repeat(lengths, lengths) >= stated.repeated
        )
    tracked = np.ones(len(points_m), bool)
    for reason, lost in found.items():
        found[reason] = lost & tracked
        tracked &= ~lost
    if stated.jump_m is not None:
        places = np.flatnonzero(tracked)
        steps_m = np.linalg.norm(np.diff(points_m[places], axis=0), axis=1)
        between = np.split(places, np.flatnonzero(steps_m > stated.jump_m) + 1)
        short = [part for part in between if len(part) < SHORT * len(places)]
        lost = np.zeros(len(points_m), bool)
        lost[np.concatenate(short) if short else []] = True
        found[f'between jumps of more than {stated.jump_m:g} m'] = lost
    return found
