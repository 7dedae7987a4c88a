"""Refine the edge of a coarse mask by the colours inside and around it."""

import cv2
import numpy as np

BINS = 24  # of each colour coordinate
BAND_PX = 8  # the true edge is sought this far from the coarse one
MARGIN_PX = 14  # around the mask, to learn the surroundings' colours from
TRUST_PER_PX = 0.35  # log odds by which a pixel belongs to the side of a network's edge it is on
LIKELIHOOD_LIMIT = 4.0  # log odds that a colour can give
AREA_FACTOR = 2.0  # a mask that changes by more was not refined but lost


def refine(
    mask: np.ndarray,
    row: int,
    column: int,
    rgb: np.ndarray,
    trust_per_px: float = TRUST_PER_PX,
    lost_px: float = 0.0,
) -> tuple[np.ndarray, int, int]:
    """Refine a mask.

    Args:
        mask: Coarse mask, shape (h, w), bool.
        row, column: First pixel of the mask in the image.
        rgb: The whole image, uint8.
        trust_per_px: Log odds by which a pixel belongs to the side of the coarse edge it is on.
        lost_px: Usual distance of the coarse edge inside the true one.

    Returns:
        The mask with its first row and column; the coarse mask where the colours are not distinct.
    """
    height, width = rgb.shape[:2]
    top, left = max(row - MARGIN_PX, 0), max(column - MARGIN_PX, 0)
    bottom = min(row + mask.shape[0] + MARGIN_PX, height)
    right = min(column + mask.shape[1] + MARGIN_PX, width)
    coarse = np.zeros((bottom - top, right - left), np.uint8)
    coarse[row - top : row - top + mask.shape[0], column - left : column - left + mask.shape[1]] = (
        mask
    )
    inside = cv2.distanceTransform(coarse, cv2.DIST_L2, 3)
    outside = cv2.distanceTransform(1 - coarse, cv2.DIST_L2, 3)
    signed = np.where(coarse > 0, inside - 0.5, 0.5 - outside) + lost_px
    window = cv2.GaussianBlur(rgb[top:bottom, left:right], (3, 3), 0)
    code = _colour_code(window)
    core = signed > min(3.0, 0.5 * signed.max())
    around = signed < -4.0
    if core.sum() < 20 or around.sum() < 20:
        return mask, row, column
    ours, theirs = _histogram(code[core]), _histogram(code[around])
    odds = np.clip(np.log((ours + 1e-4) / (theirs + 1e-4)), -LIKELIHOOD_LIMIT, LIKELIHOOD_LIMIT)[
        code
    ]
    refined = ((odds + trust_per_px * signed > 0) & (signed > -BAND_PX)).astype(np.uint8)
    refined = cv2.medianBlur(refined, 3)
    _, labels = cv2.connectedComponents(refined, connectivity=4)
    weight = np.bincount(labels[core & (refined > 0)], minlength=labels.max() + 1)
    weight[0] = 0
    kept = (weight > 0.05 * weight.sum())[labels]
    rows, columns = np.flatnonzero(kept.any(axis=1)), np.flatnonzero(kept.any(axis=0))
    if not 1 / AREA_FACTOR < kept.sum() / max(mask.sum(), 1) < AREA_FACTOR:
        return mask, row, column
    box = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    return kept[box], top + int(rows[0]), left + int(columns[0])


def _colour_code(rgb: np.ndarray) -> np.ndarray:
    """Return the bin of each pixel's colour, without its brightness, (h, w) int."""
    values = rgb.astype(np.float32) + 8.0  # dark pixels have no colour
    total = values.sum(axis=2)
    red, green = values[..., 0] / total, values[..., 1] / total
    return np.minimum((red * BINS).astype(np.int32), BINS - 1) * BINS + np.minimum(
        (green * BINS).astype(np.int32), BINS - 1
    )


def _histogram(code: np.ndarray) -> np.ndarray:
    """Return the smoothed share of each bin."""
    counts = np.bincount(code, minlength=BINS * BINS).reshape(BINS, BINS).astype(np.float32)
    return (cv2.GaussianBlur(counts, (0, 0), 0.8) / counts.sum()).ravel()
