"""Images of any RGB-D camera as the detectors need them: corrected, and depth aligned to colour."""

import numpy as np
from rclpy.time import Time
from sensor_msgs.msg import CameraInfo, Image
from tf2_ros import Buffer, TransformException, TransformListener

from soft_arm_node_kit import qos
from soft_arm_node_kit.node import Node
from soft_arm_vision.alignment import align_depth
from soft_arm_vision.calibration.camera_correction import NO_CORRECTION, CameraCorrection
from soft_arm_vision.clouds.cloud import check_images, depth_in_metres
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ros.conversions import matrix_of, pictures_of

ALIGNED, UNALIGNED = 'aligned_depth_to_color/image_raw', 'depth/image_rect_raw'
USUAL_UNIT_M = 1e-3  # of 16-bit depth images, by REP 118


class CameraInput:
    """Turns the messages of one camera into images.

    Args:
        node: Subscribes to what the alignment needs.
        frame: Frame that the colour images must be in; None: any.
        align: Whether depth comes from the depth camera's own point of view (`UNALIGNED`, with
            `depth/camera_info`) and is aligned here; the pose of one camera in the other is taken
            from tf.
        depth_unit_m: Unit of 16-bit depth images [m].
        correction: Systematic errors of the camera.
    """

    def __init__(
        self,
        node: Node,
        frame: str | None,
        align: bool = False,
        depth_unit_m: float = USUAL_UNIT_M,
        correction: CameraCorrection = NO_CORRECTION,
    ):
        self._frame, self._align, self._correction = frame, align, correction
        self._unit_m = depth_unit_m
        self.intrinsics: Intrinsics | None = None
        self._depth_camera: Intrinsics | None = None
        self._T_colour_depth: np.ndarray | None = None
        if align:
            self._buffer = Buffer()
            self._listener = TransformListener(self._buffer, node)
            node.create_subscription(
                CameraInfo, 'depth/camera_info', self._on_depth_info, qos.SENSOR
            )

    @property
    def depth_topic(self) -> str:
        """Topic of the depth images."""
        return UNALIGNED if self._align else ALIGNED

    def take_info(self, info: CameraInfo) -> None:
        """Take the intrinsics of the colour images.

        Raises:
            VisionError: If they are none of a camera's, or of another frame.
        """
        self.intrinsics = None
        self._check_frame(info)
        self.intrinsics = self._correction.intrinsics(Intrinsics.of_camera_info(info))

    def images(
        self, colour_message: Image, depth_message: Image
    ) -> tuple[np.ndarray, np.ndarray, Intrinsics]:
        """Return colour (h, w, 3) uint8, depth aligned to it, (h, w), and the intrinsics of both.

        Depth is in metres, float32, or as it came: uint16 millimetres.

        Raises:
            VisionError: If the images cannot be used, or something is missing for the alignment.
        """
        intrinsics = self.intrinsics
        if intrinsics is None:
            raise VisionError('no usable camera info yet: does the camera publish it?')
        self._check_frame(colour_message)
        colour, depth = pictures_of(colour_message, depth_message)
        scale = self._correction.depth_scale
        if depth.dtype == np.uint16:
            scale *= self._unit_m / USUAL_UNIT_M
        if self._align:
            depth = align_depth(
                depth_in_metres(depth) * np.float32(scale),
                *self._depth_view(colour_message, depth_message, intrinsics),
            )
        else:
            self._check_frame(depth_message)
            if scale != 1.0:
                depth = depth_in_metres(depth) * np.float32(scale)
        check_images(colour, depth, intrinsics)
        return colour, depth, intrinsics

    def _depth_view(
        self, colour: Image, depth: Image, intrinsics: Intrinsics
    ) -> tuple[Intrinsics, Intrinsics, np.ndarray]:
        """Return the intrinsics of depth and colour, and the pose of one in the other."""
        if self._depth_camera is None:
            raise VisionError(
                'no usable depth/camera_info yet: it is needed to align depth; does the camera '
                'publish it?'
            )
        if self._T_colour_depth is None:
            frames = colour.header.frame_id, depth.header.frame_id
            try:
                found = self._buffer.lookup_transform(*frames, Time())
            except TransformException as error:
                raise VisionError(
                    f'no transform from {frames[1][:60]!r} to {frames[0][:60]!r}, which the '
                    "alignment of depth needs: turn the camera's publish_tf on"
                ) from error
            self._T_colour_depth = matrix_of(found.transform)
        return self._depth_camera, intrinsics, self._T_colour_depth

    def _on_depth_info(self, info: CameraInfo) -> None:
        try:
            self._depth_camera = Intrinsics.of_camera_info(info)
        except VisionError:
            self._depth_camera = None

    def _check_frame(self, message: CameraInfo | Image) -> None:
        frame = message.header.frame_id
        if self._frame is not None and frame != self._frame:
            raise VisionError(
                f'images are in frame {frame[:60]!r}, the extrinsics in '
                f'{self._frame!r}: calibrate this camera'
            )
