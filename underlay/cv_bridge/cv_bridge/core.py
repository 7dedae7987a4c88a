"""Image messages as NumPy arrays and back."""

import array
import sys

import numpy as np
from sensor_msgs.msg import Image

# encoding: (type of one value, channels)
_ENCODINGS = {
    'rgb8': (np.uint8, 3),
    'bgr8': (np.uint8, 3),
    'mono8': (np.uint8, 1),
    'mono16': (np.uint16, 1),
    '8UC1': (np.uint8, 1),
    '8UC3': (np.uint8, 3),
    '16UC1': (np.uint16, 1),
    '32FC1': (np.float32, 1),
}
_PASSTHROUGH = {
    (np.dtype(np.uint8), 1): '8UC1',
    (np.dtype(np.uint8), 3): '8UC3',
    (np.dtype(np.uint16), 1): '16UC1',
    (np.dtype(np.float32), 1): '32FC1',
}


class CvBridgeError(TypeError):
    """An image that cannot be converted; the message names the encodings."""


class CvBridge:
    """Converter between sensor_msgs/Image and arrays (height, width) or (height, width, 3)."""

    def imgmsg_to_cv2(self, img_msg, desired_encoding='passthrough'):
        """Array of an image message.

        Without a change of encoding it is a view of the message's data, writable but not to be kept
        longer than the message.
        """
        kind, channels = _layout(img_msg.encoding)
        kind = np.dtype(kind).newbyteorder('>' if img_msg.is_bigendian else '<')
        row_bytes = img_msg.width * channels * kind.itemsize
        if img_msg.step < row_bytes or len(img_msg.data) < img_msg.height * img_msg.step:
            raise CvBridgeError(
                f'image of {img_msg.width} x {img_msg.height} {img_msg.encoding} '
                f'needs {row_bytes} bytes per row, '
                f'but step is {img_msg.step} and there are {len(img_msg.data)} bytes'
            )
        rows = np.frombuffer(img_msg.data, np.uint8, img_msg.height * img_msg.step).reshape(
            img_msg.height, img_msg.step
        )
        shape = (
            (img_msg.height, img_msg.width)
            if channels == 1
            else (img_msg.height, img_msg.width, channels)
        )
        image = rows[:, :row_bytes].view(kind).reshape(shape)
        if not kind.isnative:
            image = image.astype(kind.newbyteorder('='))
        return _convert(image, img_msg.encoding, desired_encoding)

    def cv2_to_imgmsg(self, cvim, encoding='passthrough', header=None):
        """Image message of an array; `encoding` says what the array holds."""
        channels = 1 if cvim.ndim == 2 else cvim.shape[2]
        if encoding == 'passthrough':
            encoding = _PASSTHROUGH.get(
                (cvim.dtype, channels), f'{cvim.dtype} with {channels} channels'
            )
        if _layout(encoding) != (cvim.dtype.type, channels):
            raise CvBridgeError(
                f'an array of {cvim.dtype} with {channels} channels is not {encoding}'
            )
        message = Image(
            height=cvim.shape[0],
            width=cvim.shape[1],
            encoding=encoding,
            is_bigendian=sys.byteorder == 'big',
        )
        if header is not None:
            message.header = header
        message.step = cvim.shape[1] * channels * cvim.itemsize
        # The setter checks element by element (49 ms for a depth image) unless it is given an
        # array.array.
        message.data = array.array('B', cvim.tobytes())
        return message


def _layout(encoding):
    if encoding not in _ENCODINGS:
        raise CvBridgeError(
            f'encoding {encoding} is not supported: use one of {", ".join(_ENCODINGS)}'
        )
    return _ENCODINGS[encoding]


def _convert(image, encoding, desired):
    # As in cv_bridge a colour may be taken as plain numbers, but not numbers as a colour.
    if (
        desired == 'passthrough'
        or desired == encoding
        or _layout(desired) == _layout(encoding)
        and 'UC' in desired
    ):
        return image
    if {encoding, desired} == {'rgb8', 'bgr8'}:
        return np.ascontiguousarray(image[:, :, ::-1])
    raise CvBridgeError(f'cannot convert {encoding} to {desired}')
