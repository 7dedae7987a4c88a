"""Show a network the colours of an image relative to the paint of the ring that it looks for.

A network knows one paint. With that paint in place of the ring's, it sees rings
of any colour; what is white stays white for a coloured ring.
"""

import cv2
import numpy as np

from soft_arm_vision.segmentation.colour_mask import is_coloured

Paint = tuple[float, float, float]

# Of a grey paint, in units of brightness: a pixel whose colour is this far from the paint's is as
# unlike it as any. White balance moves a colour by a quarter of it.
UNLIKE = 0.4
DARK = 12.0  # of 255: the noise of a darker pixel hides its colour
# A brightness is changed by these factors at most, so that noise stays noise.
GAIN = 0.5, 4.0


def recoloured(picture: np.ndarray, paint_rgb: Paint, known_rgb: Paint) -> np.ndarray:
    """Return an image in which one paint looks like another.

    A coloured paint is rotated about the grey axis to the hue of the known one, and scaled to its
    saturation. A grey paint has no hue: pixels get the known colour in proportion to their
    similarity to the paint, with their brightness relative to the paint's.

    Args:
        picture: RGB, shape (h, w, 3), uint8 or float32, 0..255.
        paint_rgb: Paint of the ring, 0..1 each.
        known_rgb: Coloured paint of the rings that the network has learned, 0..1 each.

    Returns:
        The image, shape (h, w, 3), 0..255; the same one for a paint that is the known one.
    """
    if np.allclose(paint_rgb, known_rgb):
        return picture
    paint, known = _chromaticity(paint_rgb), _chromaticity(known_rgb)
    if is_coloured(paint_rgb):
        return np.clip(cv2.transform(picture.astype(np.float32), _turn(paint, known)), 0, 255)
    floats = picture.astype(np.float32)
    mean = np.full((1, 3), 1 / 3, np.float32)
    brightness = cv2.transform(floats, mean)
    apart = cv2.split(cv2.transform(floats, np.eye(3) - (1 + paint)[:, None] * mean))
    distance = cv2.magnitude(cv2.magnitude(apart[0], apart[1]), apart[2]) / (brightness + DARK)
    likeness = np.maximum(1 - distance / np.float32(UNLIKE), 0)
    gain = float(np.clip(np.mean(known_rgb) / max(float(np.mean(paint_rgb)), 1e-3), *GAIN))
    relative = gain * brightness
    return cv2.merge([np.minimum(relative * (1 + k * likeness), 255) for k in known])


def painted(picture: np.ndarray, paint_rgb: Paint, new_rgb: Paint) -> np.ndarray:
    """Return an image whose things of one coloured paint have another paint, as `recoloured`."""
    gain = np.mean(new_rgb) / np.mean(paint_rgb)
    turn = _turn(_chromaticity(paint_rgb), _chromaticity(new_rgb))
    return np.clip(gain * cv2.transform(picture.astype(np.float32), turn), 0, 255)


def _chromaticity(paint_rgb: Paint) -> np.ndarray:
    """Return a paint's deviation from grey in units of its brightness, shape (3,), float32."""
    paint = np.maximum(np.array(paint_rgb, np.float32), 1e-3)
    return paint / paint.mean() - 1


def _turn(paint: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the matrix that keeps greys, and brings one chromaticity to another, shape (3, 3)."""
    grey = np.full((3, 3), 1 / 3, np.float32)
    cosine = paint @ known
    sine = np.cross(paint, known).sum() / np.sqrt(3)
    a, b, c = np.eye(3)
    cross = np.array([c - b, a - c, b - a]) / np.sqrt(3)  # about the axis of greys
    turned = cosine * (np.eye(3) - grey) + sine * cross
    return (grey + turned / (paint @ paint)).astype(np.float32)
