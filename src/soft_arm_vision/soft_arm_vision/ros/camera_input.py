"""Frames of a running RGB-D camera."""

from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.time import Time
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage
from tf2_ros import Buffer, TransformException, TransformListener

from soft_arm_description.poses import pose_matrix
from soft_arm_description.rig import RigCamera
from soft_arm_node_kit import qos
from soft_arm_vision.errors import VisionError
from soft_arm_vision.frames import Frame, FrameSource
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ros.newest_pair import NewestPair

ALIGNED, UNALIGNED = 'aligned_depth_to_color/image_raw', 'depth/image_rect_raw'


class CameraInput:
    """Subscribes to one camera and works on its frames in a thread.

    Args:
        node: Subscribes.
        work: Called in the thread with every pair of colour and depth: with the header of the
            colour image, and with the frame or the error why the pair gives none.
        namespace: Of the camera's topics, with its slash at the end; empty: the node's.
        camera: How the camera publishes depth. What its driver does not align is aligned here, by
            `depth/camera_info` and the pose of one camera in the other, in tf or on the camera's
            topic `tf_static`.
        depth_topic: Topic of depth; None: of a RealSense.
        keep_all: See `NewestPair`.
        options: Options of `FrameSource`.
    """

    def __init__(
        self,
        node: Node,
        work: Callable[[Header, Frame | VisionError], None],
        namespace: str = '',
        *,
        camera: RigCamera,
        depth_topic: str | None = None,
        keep_all: bool = False,
        **options: Any,
    ):
        self._work, align = work, camera.align_depth
        depth_topic = depth_topic or (UNALIGNED if align else ALIGNED)
        self._source = FrameSource(
            camera,
            **options,
            pose_of=self._pose_of,
            colour_topic=node.resolve_topic_name(f'{namespace}color/image_raw'),
            depth_topic=node.resolve_topic_name(f'{namespace}{depth_topic}'),
        )
        self.pair = NewestPair(self._on_pair, keep_all)
        topics = [
            (CameraInfo, 'color/camera_info', self._source.take_info),
            (Image, 'color/image_raw', self.pair.put_colour),
            (Image, depth_topic, self.pair.put_depth),
        ]
        if align:
            self._buffer = Buffer()
            self._listener = TransformListener(self._buffer, node)
            node.create_subscription(
                TFMessage, f'{namespace}tf_static', self._take_frames, qos.LATCHED
            )
            topics.append((CameraInfo, 'depth/camera_info', self._source.take_depth_info))
        for kind, topic, take in topics:
            node.create_subscription(kind, f'{namespace}{topic}', take, qos.SENSOR)

    @property
    def intrinsics(self) -> Intrinsics | None:
        """Corrected intrinsics of the colour images; None while they are unknown."""
        return self._source.intrinsics

    @property
    def frame_id(self) -> str | None:
        """Frame of the colour images; None while it is unknown."""
        return self._source.frame_id

    def _take_frames(self, message: TFMessage) -> None:
        for transform in message.transforms:
            self._buffer.set_transform_static(transform, 'camera')

    def _on_pair(self, colour: Image, depth: Image) -> None:
        found: Frame | VisionError
        try:
            found = self._source.frame(colour, depth)
        except VisionError as error:
            found = error
        self._work(colour.header, found)

    def _pose_of(self, target: str, source: str) -> np.ndarray:
        try:
            found = self._buffer.lookup_transform(target, source, Time()).transform
            return pose_matrix(found.translation, found.rotation)
        except TransformException as error:
            raise VisionError(
                f'no transform from {source[:60]!r} to {target[:60]!r}, which the alignment of '
                "depth needs: turn the camera's publish_tf on"
            ) from error
