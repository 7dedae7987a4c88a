"""Estimate the gamma of the pixels of a colour image from the edges of a board.

A lens blurs an edge symmetrically, so that its profile in light is symmetric about the middle of
dark and bright; the profile of pixels that are not proportional to light is not.
"""

import numpy as np
from scipy.optimize import minimize_scalar

REACH_PX = 8.0  # to both sides of an edge
BIN_PX = 0.25
PLATEAU_BINS = 8  # at both ends, where all is dark or bright
COMPARED_PX = 4  # to both sides of the half; about as many independent comparisons
GAMMAS = np.arange(1.0, 4.01, 0.1)
BRIGHTEST = 250.0  # of 255: brighter pixels may be at their limit


def pixel_gamma(grey: np.ndarray, inside_px: np.ndarray) -> float:
    """Return the gamma of the pixels, NaN if the edges do not determine it.

    It is 1 unless another exponent makes the profile more symmetric by two standard errors.

    Args:
        grey: Image, shape (h, w), uint8 or float of 255.
        inside_px: How far each pixel is inside a straight edge, shape (h, w); NaN near a corner.
    """
    near = np.abs(inside_px) < REACH_PX
    bins = np.floor((inside_px[near] + REACH_PX) / BIN_PX).astype(int)
    values, number = grey[near] / 255.0, int(2 * REACH_PX / BIN_PX)
    count = np.bincount(bins, minlength=number)
    if count.min() == 0:
        return np.nan
    means = np.bincount(bins, values) / count
    if max(means[:PLATEAU_BINS].mean(), means[-PLATEAU_BINS:].mean()) > BRIGHTEST / 255:
        return np.nan
    place_px = np.arange(number) * BIN_PX
    offset_px = np.arange(BIN_PX, COMPARED_PX + BIN_PX, BIN_PX)

    def asymmetry(gamma: float) -> float:
        light = np.bincount(bins, values**gamma) / count
        first, last = light[:PLATEAU_BINS].mean(), light[-PLATEAU_BINS:].mean()
        share = (light - first) / (last - first)
        half_px = np.interp(0.5, np.maximum.accumulate(share), place_px)
        before, after = (np.interp(half_px + o, place_px, share) for o in (-offset_px, offset_px))
        return float(np.sum((before + after - 1) ** 2))

    asymmetries = [asymmetry(gamma) for gamma in GAMMAS]
    nearest = int(np.argmin(asymmetries))
    if nearest == len(GAMMAS) - 1:
        return np.nan
    around = GAMMAS[max(nearest - 1, 0)], GAMMAS[nearest + 1]
    best = minimize_scalar(asymmetry, bounds=around, method='bounded')
    variance = best.fun / (COMPARED_PX - 2)  # the half and the exponent are fitted
    return float(best.x) if asymmetries[0] - best.fun > 4 * variance else 1.0
