"""Images, camera data and poses as messages, as realsense2_camera fills them."""

from array import array
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import CameraInfo
from sensor_msgs.msg import Image as ImageMessage
from std_msgs.msg import Header
from visualization_msgs.msg import Marker

from soft_arm_kinematics.segments.pcc import q_xyzw
from soft_arm_msgs.msg import GripperState
from soft_arm_sim.cameras.parameters import Image
from soft_arm_sim.devices.pcu2v import PA_PER_COUNT, Pcu2vLogic

OPTICAL_FRAME = 'camera_color_optical_frame'


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
    image: Image, stamp, frame_id: str = OPTICAL_FRAME, distortion: Sequence[float] = (0.0,) * 5
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
    position.x, position.y, position.z = T[:3, 3].tolist()
    orientation.x, orientation.y, orientation.z, orientation.w = q_xyzw(T).tolist()
    return message


def object_message(cube: tuple[np.ndarray, float] | None, frame: str, stamp) -> Marker:
    """Return a marker of a cube: its pose (4, 4) in a frame, and its edge [m]; None removes it."""
    marker = Marker(header=Header(stamp=stamp, frame_id=frame), ns='object')
    if cube is None:
        marker.action = Marker.DELETE
        return marker
    marker.type, marker.pose = Marker.CUBE, pose_message(cube[0], frame, stamp).pose
    marker.scale.x = marker.scale.y = marker.scale.z = cube[1]
    marker.color.r, marker.color.g, marker.color.b, marker.color.a = 0.9, 0.7, 0.2, 1.0
    return marker


def gripper_state_message(pressure_pa: float, logic: Pcu2vLogic, stamp) -> GripperState:
    """True pressure [Pa] of the finger, and the state of the emulated controller."""
    return GripperState(
        header=Header(stamp=stamp),
        true_pressure_pa=pressure_pa,
        positive_target_pa=float(PA_PER_COUNT * logic.positive_target),
        negative_target_pa=float(PA_PER_COUNT * logic.negative_target),
        positive_trigger=logic.positive_trigger,
        negative_trigger=logic.negative_trigger,
    )
