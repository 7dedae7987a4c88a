"""Images, camera data and poses as messages, as realsense2_camera fills them."""

from array import array
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import PoseStamped, TransformStamped
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import CameraInfo, JointState
from sensor_msgs.msg import Image as ImageMessage
from std_msgs.msg import Header
from visualization_msgs.msg import Marker

from soft_arm_msgs.msg import GripperState
from soft_arm_sim.cameras.parameters import Image
from soft_arm_sim.devices.pcu2v import PA_PER_COUNT, Pcu2vLogic

OPTICAL_FRAME = 'camera_color_optical_frame'
# Frames of the D435i after the camera's name: the colour sensor lies 15 mm beside the camera's
# origin; an optical frame looks along its z.
_INNER_FRAMES = (
    ('link', 'color_frame', (0.0, 0.015, 0.0), (0.0, 0.0, 0.0, 1.0)),
    ('color_frame', 'color_optical_frame', (0.0, 0.0, 0.0), (-0.5, 0.5, -0.5, 0.5)),
)


def image_message(
    pixels: np.ndarray, encoding: str, stamp, frame_id: str = OPTICAL_FRAME
) -> ImageMessage:
    """Image in an optical frame; `pixels` is (h, w, 3) uint8 for rgb8, (h, w) uint16 for 16UC1."""
    message = ImageMessage(
        header=Header(stamp=stamp, frame_id=frame_id),
        encoding=encoding,
        is_bigendian=0,
        height=pixels.shape[0],
        width=pixels.shape[1],
        step=pixels.strides[0],
    )
    message.data = array('B', pixels.tobytes())  # any other type is checked byte by byte
    return message


def camera_info_message(
    image: Image, stamp, distortion: Sequence[float] = (0.0,) * 5, frame_id: str = OPTICAL_FRAME
) -> CameraInfo:
    """Camera info of a pinhole behind a lens: k1, k2, p1, p2, k3."""
    fx, fy, cx, cy = image.fx_px, image.fy_px, image.cx_px, image.cy_px
    return CameraInfo(
        header=Header(stamp=stamp, frame_id=frame_id),
        height=image.height_px,
        width=image.width_px,
        distortion_model='plumb_bob',
        d=list(distortion),
        k=[fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
        r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p=[fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    )


def pose_message(T: np.ndarray, frame: str, stamp) -> PoseStamped:
    """Pose of a transform (4, 4) in `frame`."""
    message = PoseStamped(header=Header(stamp=stamp, frame_id=frame))
    position, orientation = message.pose.position, message.pose.orientation
    position.x, position.y, position.z = (float(v) for v in T[:3, 3])
    orientation.x, orientation.y, orientation.z, orientation.w = (
        float(v) for v in Rotation.from_matrix(T[:3, :3]).as_quat()
    )
    return message


def transform_message(T: np.ndarray, parent: str, child: str, stamp) -> TransformStamped:
    """Return a pose (4, 4) in `parent` as the transform of `child`."""
    pose = pose_message(T, parent, stamp)
    message = TransformStamped(header=pose.header, child_frame_id=child)
    at, translation = pose.pose.position, message.transform.translation
    translation.x, translation.y, translation.z = at.x, at.y, at.z
    message.transform.rotation = pose.pose.orientation
    return message


def object_message(cube: tuple[np.ndarray, float] | None, frame: str, stamp) -> Marker:
    """Return a marker of a cube: its pose (4, 4) in a frame, and its edge [m]; None removes it."""
    marker = Marker(header=Header(stamp=stamp, frame_id=frame), ns='object')
    if cube is None:
        marker.action = Marker.DELETE
        return marker
    pose, marker.type = pose_message(cube[0], frame, stamp).pose, Marker.CUBE
    marker.pose = pose
    marker.scale.x = marker.scale.y = marker.scale.z = cube[1]
    marker.color.r, marker.color.g, marker.color.b, marker.color.a = 0.9, 0.7, 0.2, 1.0
    return marker


def inner_frame_messages(camera_name: str, stamp) -> list[TransformStamped]:
    """Return the transforms between the camera's frames, named as by realsense2_camera."""
    messages = []
    for parent, child, xyz_m, q_xyzw in _INNER_FRAMES:
        message = TransformStamped(
            header=Header(stamp=stamp, frame_id=f'{camera_name}_{parent}'),
            child_frame_id=f'{camera_name}_{child}',
        )
        translation, rotation = message.transform.translation, message.transform.rotation
        translation.x, translation.y, translation.z = xyz_m
        rotation.x, rotation.y, rotation.z, rotation.w = q_xyzw
        messages.append(message)
    return messages


def gripper_state_message(pressure_pa: float, logic: Pcu2vLogic, stamp) -> GripperState:
    """True pressure [Pa] of the finger, and what the emulated controller does."""
    return GripperState(
        header=Header(stamp=stamp),
        true_pressure_pa=pressure_pa,
        positive_target_pa=float(PA_PER_COUNT * logic.positive_target),
        negative_target_pa=float(PA_PER_COUNT * logic.negative_target),
        positive_trigger=logic.positive_trigger,
        negative_trigger=logic.negative_trigger,
    )


def piece_angles_message(names: Sequence[str], bends_rad: np.ndarray, stamp) -> JointState:
    """True bends of the pieces [rad]."""
    return JointState(header=Header(stamp=stamp), name=list(names), position=bends_rad.tolist())
