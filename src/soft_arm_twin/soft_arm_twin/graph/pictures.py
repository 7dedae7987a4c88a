"""Conversion of image messages."""

from typing import Any

import cv2
import numpy as np

JPEG_QUALITY = 75


def jpeg_data(message: Any) -> bytes | None:
    """Return an rgb8 or bgr8 image as JPEG; None if the encoding is unknown or the data damaged."""
    pixels = pixels_of(message)
    if pixels is None or pixels.ndim != 3 or pixels.size == 0:
        return None
    bgr = pixels if message.encoding == 'bgr8' else np.ascontiguousarray(pixels[..., ::-1])
    _, data = cv2.imencode('.jpg', bgr, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    return data.tobytes()


def pixels_of(message: Any) -> np.ndarray | None:
    """Return the pixels of an rgb8, bgr8 or 16UC1 image; None if it cannot be decoded."""
    depth = {'rgb8': 3, 'bgr8': 3, '16UC1': 2}.get(message.encoding)
    data = np.frombuffer(bytes(message.data), np.uint8)
    if (
        depth is None
        or message.step < message.width * depth
        or data.size != message.height * message.step
    ):
        return None
    rows = data.reshape(message.height, message.step)[:, : message.width * depth]
    if message.encoding == '16UC1':
        return np.ascontiguousarray(rows).view('>u2' if message.is_bigendian else '<u2')
    return rows.reshape(message.height, message.width, 3)
