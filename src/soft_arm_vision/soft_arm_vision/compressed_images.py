"""Decompress the images of image_transport (compressed, compressedDepth)."""

import struct
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np

from soft_arm_vision.frames import DEPTHS

COMPRESSED = 'sensor_msgs/msg/CompressedImage'
_DEPTH_HEADER = struct.Struct('<iff')  # of compressedDepth: format and quantization (a, b)


def as_image(message: Any) -> Any:
    """Return a message with the fields of sensor_msgs/Image, decompressed if it was compressed.

    Colour becomes bgr8; depth keeps its encoding. Of an image that cannot be decompressed the
    encoding is the stated format, which no reader accepts.

    Args:
        message: A sensor_msgs/Image or sensor_msgs/CompressedImage.
    """
    if not hasattr(message, 'format'):
        return message
    encoding, _, transport = (part.strip() for part in message.format.partition(';'))
    data, has_header = bytes(message.data), 'compressedDepth' in transport
    is_depth = encoding in DEPTHS
    how = cv2.IMREAD_UNCHANGED if is_depth else cv2.IMREAD_COLOR
    packed = np.frombuffer(data[_DEPTH_HEADER.size :] if has_header else data, np.uint8)
    pixels: np.ndarray | None
    try:
        pixels = cv2.imdecode(packed, how)
    except cv2.error:
        pixels = None
    if pixels is None or (is_depth and (pixels.dtype != np.uint16 or pixels.ndim != 2)):
        return _image(message, np.zeros((0, 0), np.uint8), message.format)
    if not is_depth:
        return _image(message, pixels, 'bgr8')
    if encoding == '32FC1' and has_header:
        _, a, b = _DEPTH_HEADER.unpack_from(data)
        with np.errstate(divide='ignore'):
            pixels = np.where(pixels > 0, a / (pixels - np.float32(b)), np.nan).astype(np.float32)
    return _image(message, pixels, encoding)


def _image(message: Any, pixels: np.ndarray, encoding: str) -> Any:
    height, width = pixels.shape[:2]
    return SimpleNamespace(
        header=message.header,
        height=height,
        width=width,
        encoding=encoding,
        is_bigendian=0,
        step=pixels[0].nbytes if height else 0,
        data=pixels.tobytes(),
        format=message.format,
    )
