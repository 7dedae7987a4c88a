"""Frames of an RGB-D camera as everything here uses them: corrected, with depth aligned to colour.

They are made of the messages of the camera's topics; messages of a running camera and of a bag
have the same fields.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from soft_arm_description.rig import RigCamera
from soft_arm_vision.alignment import align_depth
from soft_arm_vision.calibration.camera_correction import NO_CORRECTION, CameraCorrection
from soft_arm_vision.clouds.cloud import check_images
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics

# Number, channels and OpenCV's conversion to RGB of each encoding.
COLOURS: dict[str, tuple[type, int, int | None]] = {
    'rgb8': (np.uint8, 3, None),
    'bgr8': (np.uint8, 3, cv2.COLOR_BGR2RGB),
    'rgba8': (np.uint8, 4, cv2.COLOR_RGBA2RGB),
    'bgra8': (np.uint8, 4, cv2.COLOR_BGRA2RGB),
    'mono8': (np.uint8, 1, cv2.COLOR_GRAY2RGB),
    'yuv422': (np.uint8, 2, cv2.COLOR_YUV2RGB_UYVY),
    'yuv422_yuy2': (np.uint8, 2, cv2.COLOR_YUV2RGB_YUY2),
    'bayer_rggb8': (np.uint8, 1, cv2.COLOR_BayerBG2RGB),
    'bayer_bggr8': (np.uint8, 1, cv2.COLOR_BayerRG2RGB),
    'bayer_gbrg8': (np.uint8, 1, cv2.COLOR_BayerGR2RGB),
    'bayer_grbg8': (np.uint8, 1, cv2.COLOR_BayerGB2RGB),
}
DEPTHS: dict[str, tuple[type, int, int | None]] = {
    '16UC1': (np.uint16, 1, None),
    'mono16': (np.uint16, 1, None),
    '32FC1': (np.float32, 1, None),
}

# Ratio of pixel differences in the stated to those in the opposite byte order above which the
# stated one is refused.
MAX_DIFFERENCE_RATIO = 4.0
ROW_STRIDE = 16  # rows per row that is compared

# Rectified images of image_proc, which are published with the camera info of the raw images.
RECTIFIED = {'image_rect', 'image_rect_color'}

PoseOf = Callable[[str, str], np.ndarray]
"""Return the pose (4, 4) of the second frame in the first; raise VisionError without one."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Colour and depth of one instant.

    Attributes:
        stamp_ns: Stamp of both images [ns].
        frame_id: Optical frame of the colour camera.
        rgb: Shape (h, w, 3), uint8.
        depth_m: Depth aligned to colour [m], 0 where there is none, shape (h, w), float32.
        intrinsics: Intrinsics of both.
    """

    stamp_ns: int
    frame_id: str
    rgb: np.ndarray
    depth_m: np.ndarray
    intrinsics: Intrinsics


def _unknown(target: str, source: str) -> np.ndarray:
    raise VisionError(f'no transform from {source[:60]!r} to {target[:60]!r}')


class FrameSource:
    """Makes frames of the messages of one camera.

    Args:
        camera: How the camera publishes depth.
        frame_id: Frame that the colour images must be in; None: any.
        correction: Systematic errors of the camera.
        pose_of: Pose of the depth camera in the colour camera, for depth that is not aligned.
        is_aligned: Whether depth is aligned to colour; None: decided by frames and camera infos.
        colour_topic, depth_topic: Topics of the images; their names determine whether the images
            are rectified.

    Attributes:
        intrinsics: Corrected intrinsics of the colour images; None while they are unknown.
        frame_id: Frame of the newest camera info, or the one that is required.
    """

    def __init__(
        self,
        camera: RigCamera,
        frame_id: str | None = None,
        correction: CameraCorrection = NO_CORRECTION,
        pose_of: PoseOf = _unknown,
        is_aligned: bool | None = None,
        colour_topic: str = '',
        depth_topic: str = '',
    ):
        self._colour_topic, self._depth_topic = colour_topic, depth_topic
        self._required, self._camera, self._correction = frame_id, camera, correction
        self._pose_of, self._is_aligned = pose_of, False if camera.align_depth else is_aligned
        self._colour_camera: Intrinsics | None = None
        self.frame_id = frame_id
        self.intrinsics: Intrinsics | None = None
        self._why_none = 'no usable camera info yet: does the camera publish it?'
        self._depth_camera: Intrinsics | None = None
        self._T_colour_depth: np.ndarray | None = None

    def take_info(self, info: Any) -> None:
        """Take the intrinsics of the colour images; `frame` says what is wrong with unusable ones.

        Args:
            info: A sensor_msgs/CameraInfo.
        """
        try:
            self._check_frame(info.header.frame_id)
            self.frame_id = info.header.frame_id
            self._colour_camera = Intrinsics.of_camera_info(info, _is_rectified(self._colour_topic))
            self.intrinsics = self._correction.intrinsics(self._colour_camera)
        except VisionError as error:
            self._why_none, self.intrinsics = str(error), None

    def take_depth_info(self, info: Any) -> None:
        """Take the intrinsics of the depth images, which tell whether they are aligned."""
        try:
            self._depth_camera = Intrinsics.of_camera_info(info, _is_rectified(self._depth_topic))
        except VisionError:
            self._depth_camera = None

    def frame(self, colour: Any, depth: Any) -> Frame:
        """Return the frame of two messages of one stamp.

        Args:
            colour, depth: sensor_msgs/Image.

        Raises:
            VisionError: If they cannot be used, or something is missing for the alignment.
        """
        intrinsics = self.intrinsics  # infos may come in another thread meanwhile
        if intrinsics is None:
            raise VisionError(self._why_none)
        self._check_frame(colour.header.frame_id)
        if colour.header.frame_id != self.frame_id:
            raise VisionError(
                f'colour is in frame {colour.header.frame_id[:60]!r}, its camera info in '
                f'{str(self.frame_id)[:60]!r}: give the camera info of these images'
            )
        rgb = _picture('colour', colour, COLOURS)
        measured = _picture('depth', depth, DEPTHS)
        if measured.dtype == np.uint16:
            measured = measured * np.float32(self._camera.depth_unit_m)
        depth_m = self._correction.depth_m(measured)
        frames = colour.header.frame_id, depth.header.frame_id
        if not self._comes_aligned(*frames):
            depth_m = self._aligned(depth_m, intrinsics, *frames)
        check_images(rgb, depth_m, intrinsics)
        return Frame(stamp_ns(colour.header.stamp), frames[0], rgb, depth_m, intrinsics)

    def _comes_aligned(self, colour_id: str, depth_id: str) -> bool:
        if self._is_aligned is not None:
            return self._is_aligned
        colour, depth = self._colour_camera, self._depth_camera
        if colour is None or depth is None:
            return colour_id == depth_id
        if colour.sees_as(depth) != (colour_id == depth_id):
            stated = 'equal' if colour.sees_as(depth) else 'differ'
            raise VisionError(
                f'depth is in frame {depth_id[:60]!r}, colour in {colour_id[:60]!r}, but their '
                f'camera infos {stated}: if depth is aligned, give --aligned-depth; if not, set '
                'align_depth in the rig file'
            )
        return colour_id == depth_id

    def _aligned(
        self, depth_m: np.ndarray, intrinsics: Intrinsics, colour_id: str, depth_id: str
    ) -> np.ndarray:
        depth_camera = self._depth_camera
        if depth_camera is None:
            raise VisionError(
                f'depth in frame {depth_id[:60]!r} is not aligned to colour in {colour_id[:60]!r} '
                'and has no usable camera info: publish it, turn align_depth on, or give '
                '--aligned-depth for a recording'
            )
        if self._T_colour_depth is None:
            self._T_colour_depth = self._pose_of(colour_id, depth_id)
        return align_depth(depth_m, depth_camera, intrinsics, self._T_colour_depth)

    def _check_frame(self, frame_id: str) -> None:
        if self._required is not None and frame_id != self._required:
            raise VisionError(
                f'images are in frame {frame_id[:60]!r}, the extrinsics in '
                f'{self._required!r}: calibrate this camera'
            )


def stamp_ns(stamp: Any) -> int:
    """Return a builtin_interfaces/Time in nanoseconds."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def _picture(
    what: str, message: Any, encodings: dict[str, tuple[type, int, int | None]]
) -> np.ndarray:
    """Return the pixels of a message: (h, w, 3) uint8, RGB, or depth as it came, (h, w)."""
    if message.encoding not in encodings:
        raise VisionError(
            f'{what} of encoding {message.encoding[:20]!r} cannot be used: record or convert to '
            f'one of {", ".join(encodings)}'
        )
    number, channels, conversion = encodings[message.encoding]
    kind = np.dtype(number).newbyteorder('>' if message.is_bigendian else '<')
    row, data = message.width * channels * kind.itemsize, np.frombuffer(message.data, np.uint8)
    if message.step < row or len(data) != message.height * message.step or not len(data):
        raise VisionError(
            f'{what} of {message.width} x {message.height} px, {message.encoding}, in rows of '
            f'{message.step} bytes cannot have {len(data)} bytes: damaged, or an empty picture'
        )
    rows = np.ascontiguousarray(data.reshape(message.height, message.step)[:, :row])
    if message.is_bigendian and kind.itemsize > 1:
        sampled = rows[::ROW_STRIDE]
        opposite = _pixel_differences(sampled.view(kind.newbyteorder()))
        if _pixel_differences(sampled.view(kind)) > MAX_DIFFERENCE_RATIO * opposite:
            raise VisionError(
                f'{what} states is_bigendian {message.is_bigendian}, but its numbers are little '
                'endian: fix the driver, or set the field to 0'
            )
    picture: np.ndarray = rows.view(kind).astype(number, copy=False)
    if channels > 1:
        picture = picture.reshape(message.height, message.width, channels)
    return picture if conversion is None else cv2.cvtColor(picture, conversion)


def _is_rectified(topic: str) -> bool:
    return not RECTIFIED.isdisjoint(topic.split('/'))


def _pixel_differences(numbers: np.ndarray) -> float:
    """Return the sum of absolute differences of horizontally adjacent pixels."""
    finite = np.nan_to_num(numbers.astype(float), posinf=0.0, neginf=0.0)
    return float(np.abs(np.diff(finite)).sum())
