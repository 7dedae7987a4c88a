"""Measure what light the pixels of a colour image stand for, on the edges of a board.

A lens blurs an edge alike towards both of its sides. So light passes the half between dark and
light where the mean place of its change is; where pixels do not follow the light in proportion,
they pass it elsewhere.
"""

import numpy as np
from scipy.integrate import trapezoid
from scipy.optimize import brentq

REACH_PX = 8.0  # to both sides of an edge
BIN_PX = 0.25
PLATEAU_BINS = 8  # at both ends, where all is dark or light
GAMMA_LIMITS = 1.0, 4.0
LEAST_PX = 0.01  # of asymmetry that shows another response than one in proportion
BRIGHTEST = 250.0  # of 255: lighter pixels may be at their limit


def pixel_gamma(grey: np.ndarray, inside_px: np.ndarray) -> float:
    """Return the exponent by which pixels are coded, NaN where the edges do not tell.

    Args:
        grey: Image, shape (h, w), uint8 or float of 255.
        inside_px: How far each pixel is inside a straight edge, shape (h, w); NaN near a corner.
    """
    near = np.abs(inside_px) < REACH_PX
    bins = np.floor((inside_px[near] + REACH_PX) / BIN_PX).astype(int)
    values, number = grey[near].astype(float), int(2 * REACH_PX / BIN_PX)
    count = np.bincount(bins, minlength=number)
    if count.min() == 0:
        return np.nan
    means = np.bincount(bins, values) / count
    if max(means[:PLATEAU_BINS].mean(), means[-PLATEAU_BINS:].mean()) > BRIGHTEST:
        return np.nan

    def asymmetry_px(gamma: float) -> float:
        light = np.bincount(bins, values**gamma) / count
        dark, bright = light[:PLATEAU_BINS].mean(), light[-PLATEAU_BINS:].mean()
        share = (light - dark) / (bright - dark)
        if bright < dark:
            share = 1 - share[::-1]
        half = np.interp(0.5, np.maximum.accumulate(share), np.arange(number) * BIN_PX)
        return float(half - trapezoid(1 - share, dx=BIN_PX))

    least, most = (asymmetry_px(gamma) for gamma in GAMMA_LIMITS)
    if abs(least) < LEAST_PX:
        return 1.0
    if least * most > 0:
        return np.nan
    return float(brentq(asymmetry_px, *GAMMA_LIMITS, xtol=1e-3))
