"""Select the pixels that have the colour of a paint."""

import colorsys

import cv2
import numpy as np

HUE_TOLERANCE_DEG = 20.0  # exposure and white balance move the hue, dim light hardly does
MIN_SATURATION = 110  # of 255
MIN_VALUE = 40  # of 255


def is_coloured(paint_rgb: tuple[float, float, float]) -> bool:
    """Return whether a paint, channels 0..1, has a hue that `colour_mask` can look for."""
    _, saturation, value = colorsys.rgb_to_hsv(*paint_rgb)
    return 255 * saturation >= MIN_SATURATION and 255 * value >= MIN_VALUE


def colour_mask(colour: np.ndarray, paint_rgb: tuple[float, float, float]) -> np.ndarray:
    """Return the saturated pixels of an RGB image that have the hue of a paint.

    The image has shape (h, w, 3), uint8; a paint's channels are 0..1; the mask (h, w) is uint8, 0
    or 255.
    """
    hsv = cv2.cvtColor(colour, cv2.COLOR_RGB2HSV)
    hue = 180 * colorsys.rgb_to_hsv(*paint_rgb)[0]  # OpenCV's hue: half degrees
    mask = np.zeros(hsv.shape[:2], np.uint8)
    for turn in (-180, 0, 180):  # hue is a circle
        low = max(hue - HUE_TOLERANCE_DEG / 2 + turn, 0)
        high = min(hue + HUE_TOLERANCE_DEG / 2 + turn, 179)
        if low <= high:
            mask |= cv2.inRange(hsv, (low, MIN_SATURATION, MIN_VALUE), (high, 255, 255))
    return mask
