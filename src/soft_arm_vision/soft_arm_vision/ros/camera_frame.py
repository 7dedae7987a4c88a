"""Attach the tree of frames of the camera to the arm's base frame."""

import numpy as np
from rclpy.node import Node
from rclpy.time import Time
from tf2_ros import Buffer, StaticTransformBroadcaster, TransformListener

from soft_arm_description.poses import pose_matrix
from soft_arm_vision.ros.conversions import transform_message


class CameraFrame:
    """Publish base -> camera root on /tf_static so that the optical frame fits the extrinsics.

    The camera publishes root -> optical itself. A frame has one parent only, so that the root must
    be placed. The transform is published once, as soon as the frames of the camera are known.

    Attributes:
        attached: Whether the transform is published.
    """

    def __init__(
        self,
        node: Node,
        T_base_camera: np.ndarray,
        base_frame: str,
        camera_frame: str,
        root_frame: str,
    ):
        self._node, self._T_base_camera = node, T_base_camera
        self._base, self._camera, self._root = base_frame, camera_frame, root_frame
        self.attached = False
        self._buffer = Buffer()
        self._listener = TransformListener(self._buffer, node)
        self._broadcaster = StaticTransformBroadcaster(node)
        self._timer = node.create_timer(0.5, self._try)

    def _try(self) -> None:
        if not self._buffer.can_transform(self._root, self._camera, Time()):
            return
        found = self._buffer.lookup_transform(self._root, self._camera, Time()).transform
        T_root_camera = pose_matrix(found.translation, found.rotation)
        T_base_root = self._T_base_camera @ np.linalg.inv(T_root_camera)
        self._broadcaster.sendTransform(
            transform_message(
                self._node.get_clock().now().to_msg(), self._base, self._root, T_base_root
            )
        )
        self.attached = True
        self._timer.cancel()
        self._listener.unregister()
