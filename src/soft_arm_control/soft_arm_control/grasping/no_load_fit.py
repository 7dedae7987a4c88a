"""Identify the no-load reference of a finger from recorded closings in free air."""

from dataclasses import dataclass, replace

import numpy as np

from soft_arm_control.errors import IdentificationError
from soft_arm_control.grasping.contact import ContactDetector
from soft_arm_control.grasping.no_load_reference import GRID_STEP_PA, NoLoadReference

_FILTER_S = 0.2
_DEGREE = 5  # of the polynomials of bend over pressure; cubic does not fit hysteresis and lag
_LIMIT_MARGIN = 1.5  # contact limit over the largest value of the recorded closings
# Below these limits measurement noise is mistaken for contact.
_MIN_EXCESS_LIMIT = 0.25
_MIN_DEFICIT_LIMIT_RAD = 0.06


@dataclass(frozen=True, eq=False)
class Closing:
    """Record of one closing: times [s] on one clock, gauge pressures [Pa], bends [rad]."""

    times_s: np.ndarray  # (n,)
    pressures_pa: np.ndarray  # (n,)
    set_points_pa: np.ndarray  # (n,)
    shape_times_s: np.ndarray  # (m,), stamps of the images
    bends_rad: np.ndarray  # (m, segments)


def identify(closings: list[Closing]) -> tuple[NoLoadReference, dict[str, float]]:
    """Identify the reference and its contact limits from closings in free air.

    Returns:
        The reference, and the largest deviations of a single closing from it.

    Raises:
        IdentificationError: If there are fewer than two closings, or one is too short.
    """
    if len(closings) < 2:
        raise IdentificationError(
            f'{len(closings)} closing in free air: give at least 2, to know how much they differ'
        )
    low_pa = max(c.pressures_pa.min() for c in closings)
    high_pa = min(c.pressures_pa.max() for c in closings)
    shapes = min(len(c.shape_times_s) for c in closings)
    if high_pa - low_pa < 4 * GRID_STEP_PA or shapes < 10:
        raise IdentificationError(
            f'closings have {(high_pa - low_pa) / 1e3:.0f} kPa in common and at least {shapes} '
            f'shapes each, {4 * GRID_STEP_PA / 1e3:.0f} kPa and 10 are needed: '
            'check that the driver and the finger detector run, and close further'
        )
    grid_pa = np.linspace(low_pa, high_pa, 1 + round((high_pa - low_pa) / GRID_STEP_PA))
    time_constants_s = np.median([_time_constants_s(c, grid_pa) for c in closings], axis=0)
    free = NoLoadReference(grid_pa, time_constants_s, _bends_rad(closings, grid_pa), np.inf, np.inf)
    detectors = [replay(free, closing) for closing in closings]
    excess = max(d.largest_excess or 0.0 for d in detectors)
    deficit_rad = max(d.largest_deficit_rad or 0.0 for d in detectors)
    limited = replace(
        free,
        excess_limit=max(_MIN_EXCESS_LIMIT, _LIMIT_MARGIN * excess),
        deficit_limit_rad=max(_MIN_DEFICIT_LIMIT_RAD, _LIMIT_MARGIN * deficit_rad),
    )
    return limited, {'largest_excess_share': excess, 'largest_deficit_rad': deficit_rad}


def _time_constants_s(closing: Closing, grid_pa: np.ndarray) -> np.ndarray:
    """Estimate the time constant at each pressure of the grid.

    It follows from the share of the distance to the set point that the pressure covers between two
    samples.
    """
    p = closing.pressures_pa
    period_s = float(np.median(np.diff(closing.times_s)))
    width = max(3, round(_FILTER_S / period_s))
    window = np.full(width, 1 / width)
    rise_pa = np.convolve(np.diff(p), window, 'valid')
    lag_pa = np.convolve((closing.set_points_pa - p)[:-1], window, 'valid')
    at_pa = np.convolve(p[:-1], window, 'valid')
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
    """Fit one polynomial of bend over pressure for each segment to the shapes of all closings."""
    at_pa = np.concatenate(
        [np.interp(c.shape_times_s, c.times_s, c.pressures_pa) for c in closings]
    )
    bends_rad = np.concatenate([c.bends_rad for c in closings])
    return np.stack(
        [
            np.polynomial.Polynomial.fit(at_pa, bend_rad, _DEGREE)(grid_pa)
            for bend_rad in bends_rad.T
        ],
        axis=1,
    )


def replay(free: NoLoadReference, closing: Closing) -> ContactDetector:
    """Return a detector that has processed a whole recorded closing."""
    detector = ContactDetector(free)
    for stamp_s, bends_rad in zip(closing.shape_times_s, closing.bends_rad, strict=True):
        detector.add_shape(stamp_s, bends_rad)
    for sample in zip(closing.times_s, closing.pressures_pa, closing.set_points_pa, strict=True):
        detector.add_pressure(*map(float, sample))
    return detector
