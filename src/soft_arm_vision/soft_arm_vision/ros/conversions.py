"""Messages <-> plain values of this package."""

import cv2
import numpy as np
from cv_bridge import CvBridge, CvBridgeError
from geometry_msgs.msg import Pose, PoseWithCovarianceStamped, Transform, TransformStamped
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import Image

from soft_arm_vision.calibration.extrinsics import Mounting
from soft_arm_vision.errors import VisionError
from soft_arm_vision.ring.fit import RingFit


def pictures_of(colour: Image, depth: Image) -> tuple[np.ndarray, np.ndarray]:
    """Return colour as RGB and depth of two image messages; check them by `check_images`.

    Raises:
        VisionError: If one of them cannot be read.
    """
    pictures = []
    for what, message, encoding in (('colour', colour, 'rgb8'), ('depth', depth, 'passthrough')):
        try:
            pictures.append(CvBridge().imgmsg_to_cv2(message, encoding))
        except (CvBridgeError, ValueError, TypeError, cv2.error) as error:
            size = (
                f'{message.width} x {message.height} px, step {message.step}, '
                f'{message.encoding[:20]!r}'
            )
            raise VisionError(
                f'{what} image of {size} cannot be read: {" ".join(str(error).split())[:120]}'
            ) from error
    return tuple(pictures)


def stamp_ns(stamp) -> int:
    """builtin_interfaces/Time as nanoseconds."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def pose_in_base(fit: RingFit, mounting: Mounting) -> tuple[np.ndarray, np.ndarray]:
    """Return the ring's pose T_base_tip (4, 4) and its covariance (6, 6) in the base frame.

    The covariance holds the fit's and the camera calibration's; the latter is the same in every
    frame. A ring does not show its rotation about its axis; the pose is the smallest turn that
    takes base z to the ring's axis, as one arc does.
    """
    R = mounting.T_base_camera[:3, :3]
    axis = R @ fit.axis
    T = np.eye(4)
    T[:3, :3] = _turn_to(axis)
    T[:3, 3] = R @ fit.centre + mounting.T_base_camera[:3, 3]
    both = np.kron(np.eye(2), R)
    return T, both @ fit.covariance @ both.T + mounting.covariance_at(T[:3, 3])


def pose_message(header, T: np.ndarray, covariance: np.ndarray) -> PoseWithCovarianceStamped:
    """PoseWithCovarianceStamped of a 4x4 pose and its (6, 6) covariance."""
    message = PoseWithCovarianceStamped(header=header)
    message.pose.pose = Pose()
    _set(message.pose.pose.position, T[:3, 3])
    _set(message.pose.pose.orientation, Rotation.from_matrix(T[:3, :3]).as_quat())
    message.pose.covariance = covariance.ravel()
    return message


def transform_message(stamp, parent: str, child: str, T: np.ndarray) -> TransformStamped:
    """TransformStamped of a 4x4 pose of child in parent."""
    message = TransformStamped(child_frame_id=child, transform=Transform())
    message.header.stamp, message.header.frame_id = stamp, parent
    _set(message.transform.translation, T[:3, 3])
    _set(message.transform.rotation, Rotation.from_matrix(T[:3, :3]).as_quat())
    return message


def _set(target, values: np.ndarray) -> None:
    for name, value in zip('xyzw', values, strict=False):
        setattr(target, name, float(value))


def _turn_to(axis: np.ndarray) -> np.ndarray:
    """Smallest rotation that takes z to a unit vector, shape (3, 3)."""
    across = np.array([-axis[1], axis[0], 0.0])
    sine = np.linalg.norm(across)
    if sine < 1e-9:
        return np.diag([1.0, 1.0, 1.0]) if axis[2] > 0 else np.diag([1.0, -1.0, -1.0])
    return Rotation.from_rotvec(across / sine * np.arctan2(sine, axis[2])).as_matrix()
