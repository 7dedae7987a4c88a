"""Leak rate of a closed chamber from its recorded pressure."""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from soft_arm_identification.errors import RecordingError

WINDOW_S = 3.0  # window before and after each sample whose rates are compared
MIN_DEVIATIONS = 8.0  # rate change of a step in robust standard deviations of all rate changes
MIN_RATIO = 4.0  # rate change of a step divided by the smaller of both rates
MIN_PRESSURE_SHARE = 0.8  # lowest mean pressure of a span, relative to the highest mean
MAD = 0.6745  # median of absolute values of a standard normal distribution


@dataclass(frozen=True)
class Step:
    """Pressure step that is not caused by a leak, for example when a chamber is opened.

    Attributes:
        from_s, to_s: Its start, and the next step or the end of the recording [s].
        change_pa: Change of the pressure between them [Pa].
    """

    from_s: float
    to_s: float
    change_pa: float


@dataclass(frozen=True)
class Leak:
    """A leak rate.

    Attributes:
        rate_pa_s: Change of the pressure over time [Pa/s], negative for a leak.
        sd_pa_s: Its standard deviation, with the correlation of successive residuals [Pa/s].
        from_s, to_s: Span that was used [s].
        pressure_pa: Mean pressure in it [Pa].
        steps: Steps, which are excluded.
    """

    rate_pa_s: float
    sd_pa_s: float
    from_s: float
    to_s: float
    pressure_pa: float
    steps: tuple[Step, ...]


def find_leak(time_s: np.ndarray, pressure_pa: np.ndarray) -> Leak:
    """Return the leak rate over the longest span at high pressure without a step.

    Args:
        time_s: Times [s], rising, shape (n,).
        pressure_pa: Pressures [Pa], shape (n,).

    Raises:
        RecordingError: If the recording is too short.
    """
    step_s = float(np.median(np.diff(time_s)))
    size = max(2, round(WINDOW_S / step_s))
    grid_s = np.arange(time_s[0], time_s[-1], step_s)
    if len(grid_s) < 3 * size:
        raise RecordingError(
            f'the recording lasts {time_s[-1] - time_s[0]:.1f} s: at least {3 * WINDOW_S:g} s are '
            'needed for a leak rate'
        )
    grid_pa = np.interp(grid_s, time_s, pressure_pa)
    centred_s = (np.arange(size) - (size - 1) / 2) * step_s
    rates = sliding_window_view(grid_pa, size) @ centred_s / (centred_s @ centred_s)
    before, after = rates[:-size], rates[size:]
    change = np.abs(after - before)
    smaller = np.minimum(np.abs(before), np.abs(after))
    stepped = change > np.maximum(MIN_DEVIATIONS * np.median(change) / MAD, MIN_RATIO * smaller)
    places = np.flatnonzero(stepped)
    groups = np.split(places, np.flatnonzero(np.diff(places) > size) + 1) if len(places) else []
    bounds = np.array([(group[0] + size, group[-1] + size - 1) for group in groups], int)
    bounds = bounds.reshape(-1, 2)
    ends = np.r_[bounds[:, 0], len(grid_s) - 1][1:]
    steps = [
        Step(float(grid_s[a]), float(grid_s[b]), float(grid_pa[b] - grid_pa[a]))
        for (a, _), b in zip(bounds, ends, strict=True)
    ]
    spans = np.c_[np.r_[0, bounds[:, 1]], np.r_[bounds[:, 0], len(grid_s) - 1]]
    means = np.array([grid_pa[a : b + 1].mean() for a, b in spans])
    high = spans[means >= MIN_PRESSURE_SHARE * means.max()] if means.max() > 0 else spans
    first, last = high[np.argmax(high[:, 1] - high[:, 0])]
    used = (time_s >= grid_s[first]) & (time_s <= grid_s[last])
    rate, sd = _slope(time_s[used], pressure_pa[used])
    return Leak(
        rate,
        sd,
        float(grid_s[first]),
        float(grid_s[last]),
        float(pressure_pa[used].mean()),
        tuple(steps),
    )


def _slope(time_s: np.ndarray, pressure_pa: np.ndarray) -> tuple[float, float]:
    """Return slope and its standard deviation for residuals that are autocorrelated (AR(1))."""
    centred_s = time_s - time_s.mean()
    slope = centred_s @ (pressure_pa - pressure_pa.mean()) / (centred_s @ centred_s)
    residual_pa = pressure_pa - pressure_pa.mean() - slope * centred_s
    power = residual_pa @ residual_pa
    correlation = residual_pa[1:] @ residual_pa[:-1] / power if power > 0 else 0.0
    correlation = float(np.clip(correlation, 0.0, 0.99))
    variance = power / max(len(time_s) - 2, 1) / (centred_s @ centred_s)
    return float(slope), float(np.sqrt(variance * (1 + correlation) / (1 - correlation)))
