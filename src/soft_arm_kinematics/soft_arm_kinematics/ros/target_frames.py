"""Transform targets from any frame that tf knows to the arm's base frame."""

import numpy as np
from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.time import Time
from std_msgs.msg import Header
from tf2_ros import Buffer, TransformException, TransformListener

from soft_arm_description.poses import pose_matrix
from soft_arm_kinematics.errors import KinematicsError

SHOWN = 60  # characters of a frame's name in messages


class TargetFrameError(KinematicsError):
    """No transform from a target's frame to the arm's base frame is known."""


class TargetFrames:
    """Listens to tf and transforms points and directions to the arm's base frame.

    Args:
        node: Node that listens.
        base_frame: The arm's base frame; an empty frame in a header means it, too.
        heard: Frames of another arm on the same node, whose tf these then share.
    """

    def __init__(self, node: Node, base_frame: str, heard: 'TargetFrames | None' = None):
        self._base = base_frame
        self._buffer = heard._buffer if heard else Buffer()
        self._listener = heard._listener if heard else TransformListener(self._buffer, node)

    def known(self, header: Header) -> bool:
        """Return whether `to_base` can answer now."""
        try:
            self.pose_in_base(header)
        except TargetFrameError:
            return False
        return True

    def to_base(self, header: Header, point_m, direction) -> tuple[np.ndarray, np.ndarray]:
        """Transform a point [m] and a direction, each (3,), to the base frame.

        They are given in the header's frame at its stamp; stamp 0 takes the latest transform.

        Raises:
            TargetFrameError: If tf does not know the transform (yet).
        """
        T = self.pose_in_base(header)
        rotation, origin_m = T[:3, :3], T[:3, 3]
        with np.errstate(all='ignore'):  # numbers that are not finite are refused by the caller
            return rotation @ np.asarray(point_m) + origin_m, rotation @ np.asarray(direction)

    def pose_in_base(self, header: Header) -> np.ndarray:
        """Return the pose of the header's frame in the base frame, (4, 4); raises as `to_base`."""
        if header.frame_id in ('', self._base):
            return np.eye(4)
        transform = self._found(header).transform
        return pose_matrix(transform.translation, transform.rotation)

    def newest_s(self, frame: str) -> float:
        """Return the stamp [s] of the newest transform from a frame; raises as `to_base`."""
        return Time.from_msg(self._found(Header(frame_id=frame)).header.stamp).nanoseconds * 1e-9

    def _found(self, header: Header) -> TransformStamped:
        try:
            stamp = Time.from_msg(header.stamp)
            return self._buffer.lookup_transform(self._base, header.frame_id, stamp)
        except (TransformException, ValueError) as error:  # ValueError: a negative stamp
            raise TargetFrameError(
                f'no transform from frame {header.frame_id[:SHOWN]!r} to {self._base!r}: '
                f'{str(error)[:100]}: '
                'check that its publisher runs, or leave the stamp 0 for the latest transform'
            ) from error
