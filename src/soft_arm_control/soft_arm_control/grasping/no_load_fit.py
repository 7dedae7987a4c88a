"""The free closing of a finger from records of it: curves, and how far single closings are from them."""

from dataclasses import dataclass, replace

import numpy as np

from soft_arm_control.errors import IdentificationError
from soft_arm_control.grasping.contact import ContactDetector
from soft_arm_control.grasping.no_load_reference import GRID_PA, NoLoadReference

_SMOOTH_S = 0.2
_DEGREE = 5  # of the bends over the pressure: cubic, and what hysteresis and lag add
_MARGIN = 1.5  # limits over the largest value that free closings have shown
_LEAST_EXCESS, _LEAST_DEFICIT_RAD = (
    0.25,
    0.12,
)  # no measurement is so quiet that less would be a contact


@dataclass(frozen=True, eq=False)
class Closing:
    """Record of one closing. Times [s] on one clock, pressures [Pa] gauge, bends [rad]."""

    times_s: np.ndarray  # (n,)
    pressures_pa: np.ndarray  # (n,)
    set_points_pa: np.ndarray  # (n,)
    shape_times_s: np.ndarray  # (m,), stamps of the images
    bends_rad: np.ndarray  # (m, pieces)


def identify(closings: list[Closing]) -> tuple[NoLoadReference, dict[str, float]]:
    """Mean of closings in free air with limits, and how far single closings are from the mean.

    Raises:
        IdentificationError: If there are fewer than two, or one is too short.
    """
    if len(closings) < 2:
        raise IdentificationError(
            f'{len(closings)} closing in free air: give at least 2, to know how much they differ'
        )
    low_pa, high_pa = (
        max(c.pressures_pa.min() for c in closings),
        min(c.pressures_pa.max() for c in closings),
    )
    if high_pa - low_pa < 4 * GRID_PA or min(len(c.shape_times_s) for c in closings) < 10:
        raise IdentificationError(
            f'closings have {(high_pa - low_pa) / 1e3:.0f} kPa and at least '
            f'{min(len(c.shape_times_s) for c in closings)} shapes in common, needed are {4 * GRID_PA / 1e3:.0f} kPa and 10: '
            'check that driver and finger detector run, and close further'
        )
    grid_pa = np.linspace(low_pa, high_pa, 1 + round((high_pa - low_pa) / GRID_PA))
    time_constants_s = np.median([_time_constants_s(c, grid_pa) for c in closings], axis=0)
    free = NoLoadReference(grid_pa, time_constants_s, _bends_rad(closings, grid_pa), np.inf, np.inf)
    seen = [watch(free, closing) for closing in closings]
    excess = max(d.largest_excess or 0.0 for d in seen)
    deficit_rad = max(d.largest_deficit_rad or 0.0 for d in seen)
    limited = replace(
        free,
        excess_limit=max(_LEAST_EXCESS, _MARGIN * excess),
        deficit_limit_rad=max(_LEAST_DEFICIT_RAD, _MARGIN * deficit_rad),
    )
    return limited, {'largest_excess_share': excess, 'largest_deficit_rad': deficit_rad}


def _time_constants_s(closing: Closing, grid_pa: np.ndarray) -> np.ndarray:
    """Time constant at each pressure of the grid, from the share of its lag that the pressure makes up from one sample to the next."""
    t, p = closing.times_s, closing.pressures_pa
    period_s = float(np.median(np.diff(t)))
    width = max(3, round(_SMOOTH_S / period_s))
    rise_pa, lag_pa = (
        np.convolve(v, np.full(width, 1 / width), 'valid')
        for v in (np.diff(p), (closing.set_points_pa - p)[:-1])
    )
    at_pa = np.convolve(p[:-1], np.full(width, 1 / width), 'valid')
    rising = (rise_pa > 0.25 * np.median(rise_pa)) & (lag_pa > 1.05 * rise_pa)
    if rising.sum() < width:
        raise IdentificationError(
            'the pressure does not follow its set point with a lag: close with a steady rate'
        )
    tau_s = -period_s / np.log1p(-rise_pa[rising] / lag_pa[rising])
    return np.array(
        [np.median(tau_s[np.argsort(np.abs(at_pa[rising] - g))[:width]]) for g in grid_pa]
    )


def _bends_rad(closings: list[Closing], grid_pa: np.ndarray) -> np.ndarray:
    """Least-squares curve of each piece through the shapes of all closings."""
    at_pa = np.concatenate(
        [np.interp(c.shape_times_s, c.times_s, c.pressures_pa) for c in closings]
    )
    bends_rad = np.concatenate([c.bends_rad for c in closings])
    return np.stack(
        [
            np.polynomial.Polynomial.fit(at_pa, piece_rad, _DEGREE)(grid_pa)
            for piece_rad in bends_rad.T
        ],
        axis=1,
    )


def watch(free: NoLoadReference, closing: Closing) -> ContactDetector:
    """A detector that has seen a whole recorded closing."""
    detector = ContactDetector(free)
    for stamp_s, bends_rad in zip(closing.shape_times_s, closing.bends_rad, strict=True):
        detector.add_shape(stamp_s, bends_rad)
    for sample in zip(closing.times_s, closing.pressures_pa, closing.set_points_pa, strict=True):
        detector.add_pressure(*map(float, sample))
    return detector
