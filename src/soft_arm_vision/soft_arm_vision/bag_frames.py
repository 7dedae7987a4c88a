"""Frames of a recorded bag (rosbag2, MCAP or SQLite), read without ROS."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rosbags.interfaces import Connection
from rosbags.rosbag2 import Reader, ReaderError
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation

from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics

COLOUR, DEPTH, INFO, TRUTH = 'color/image_raw', 'aligned_depth_to_color/image_raw', 'color/camera_info', 'debug/tip_truth'
_LOOKED_BACK = 4  # images whose other half may still come


@dataclass(frozen=True, eq=False)
class BagFrame:
    """Colour and depth of one stamp [ns], and the newest intrinsics before them."""

    stamp_ns: int
    rgb: np.ndarray
    depth: np.ndarray
    intrinsics: Intrinsics


def read_frames(bag: Path) -> Iterator[BagFrame]:
    """Pairs of colour and aligned depth with the same stamp, in order.

    Raises:
        VisionError: If the bag cannot be read or has no such topics.
    """
    waiting, intrinsics = {COLOUR: {}, DEPTH: {}}, None
    for kind, message in _messages(bag, (COLOUR, DEPTH, INFO)):
        if kind == INFO:
            intrinsics = Intrinsics.of_camera_info(message)
            continue
        stamp_ns = _stamp_ns(message)
        match = waiting[DEPTH if kind == COLOUR else COLOUR].pop(stamp_ns, None)
        if match is None:
            waiting[kind][stamp_ns] = message
            while len(waiting[kind]) > _LOOKED_BACK:
                waiting[kind].pop(next(iter(waiting[kind])))
        elif intrinsics is not None:
            colour, depth = (message, match) if kind == COLOUR else (match, message)
            yield BagFrame(stamp_ns, _picture(colour), _picture(depth), intrinsics)


def read_truth(bag: Path) -> tuple[np.ndarray, np.ndarray]:
    """Stamps [ns] (n,) and poses of the ring in the base frame (n, 4, 4) where the bag carries them; n is 0 where it does not."""
    stamps, poses = [], []
    for _, message in _messages(bag, (TRUTH,), needed=False):
        position, turn = message.pose.position, message.pose.orientation
        T = np.eye(4)
        T[:3, :3] = Rotation.from_quat([turn.x, turn.y, turn.z, turn.w]).as_matrix()
        T[:3, 3] = position.x, position.y, position.z
        stamps.append(_stamp_ns(message))
        poses.append(T)
    return np.array(stamps, np.int64), np.array(poses).reshape(-1, 4, 4)


def _messages(bag: Path, kinds: tuple[str, ...], needed: bool = True) -> Iterator[tuple[str, object]]:
    store = get_typestore(Stores.ROS2_JAZZY)
    try:
        with Reader(bag) as reader:
            wanted: dict[str, Connection] = {k: c for c in reader.connections for k in kinds if c.topic.endswith('/' + k)}
            missing = [kind for kind in kinds if kind not in wanted]
            if missing and needed:
                raise VisionError(f'bag {bag} has no topic that ends with {missing[0]}: record the camera too')
            kind_of = {c.topic: k for k, c in wanted.items()}
            for connection, _, raw in reader.messages(connections=list(wanted.values())) if wanted else ():
                yield kind_of[connection.topic], store.deserialize_cdr(raw, connection.msgtype)
    except (ReaderError, OSError) as error:
        raise VisionError(f'bag {bag} cannot be read: {error}') from error


def _stamp_ns(message) -> int:
    return message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec


def _picture(message) -> np.ndarray:
    """Image as RGB uint8 (h, w, 3), uint16 mm or float32 m (h, w)."""
    kinds = {'rgb8': (np.uint8, 3), 'bgr8': (np.uint8, 3), '16UC1': (np.uint16, 1), 'mono16': (np.uint16, 1), '32FC1': (np.float32, 1)}
    if message.encoding not in kinds:
        raise VisionError(f'images of encoding {message.encoding!r} cannot be used: record one of {sorted(kinds)}')
    kind, channels = kinds[message.encoding]
    kind = np.dtype(kind).newbyteorder('>' if message.is_bigendian else '<')
    rows = np.frombuffer(message.data.tobytes(), np.uint8).reshape(message.height, message.step)
    rows = rows[:, : message.width * channels * kind.itemsize]
    picture = np.ascontiguousarray(rows).view(kind).reshape(message.height, message.width, channels)
    if message.encoding == 'bgr8':
        picture = picture[..., ::-1]
    return np.ascontiguousarray(picture[..., 0] if channels == 1 else picture)
