"""Read frames of a recorded bag (rosbag2, MCAP or SQLite) without ROS."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag2 import Reader, ReaderError
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation

from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics

_COLOUR = (
    'color/image_raw',
    'rgb/image_raw',
    'color/image_rect_raw',
    'rgb/image_rect_color',
    'color/image_rect',
    'rgb/image_rect',
)
_DEPTH = tuple(
    f'{kind}/{image}'
    for kind in ('aligned_depth_to_color', 'depth_registered', 'depth_to_rgb', 'depth')
    for image in ('image_raw', 'image_rect_raw', 'image_rect', 'image')
)
_LOOKED_BACK = 4  # unpaired images that are kept, waiting for their other half


@dataclass(frozen=True, eq=False)
class BagFrame:
    """Colour and depth of one stamp [ns], and the newest intrinsics before them."""

    stamp_ns: int
    rgb: np.ndarray
    depth: np.ndarray
    intrinsics: Intrinsics


@dataclass(frozen=True)
class BagTopics:
    """Full names of the relevant topics in a bag; None if the bag has no such topic.

    Attributes:
        colour, depth, info: Images of one camera with their camera info; all or none.
        ring_pose: Pose detected when the bag was recorded.
        truth: True pose of the ring.
    """

    colour: str | None
    depth: str | None
    info: str | None
    ring_pose: str | None
    truth: str | None


def find_topics(bag: Path) -> BagTopics:
    """Return the relevant topics of a bag, by type and usual names, in any namespace.

    Raises:
        VisionError: If the bag cannot be read.
    """
    with _open(bag) as reader:
        kinds = {c.topic: c.msgtype for c in reader.connections}

    def ending(kind: str, end: str) -> str | None:
        return next(
            (
                name
                for name in sorted(kinds)
                if kinds[name] == f'{kind}Stamped' and name.endswith(end)
            ),
            None,
        )

    colour, depth, info = next(_cameras(kinds), (None, None, None))
    return BagTopics(
        colour,
        depth,
        info,
        ending('geometry_msgs/msg/PoseWithCovariance', '/ring_pose'),
        ending('geometry_msgs/msg/Pose', '/debug/tip_truth'),
    )


def _cameras(kinds: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the topics of colour, depth and camera info of each camera."""
    for end in _COLOUR:
        for name in sorted(kinds):
            if kinds[name] == 'sensor_msgs/msg/Image' and name.endswith(f'/{end}'):
                camera, info = name.removesuffix(end), f'{name.rpartition("/")[0]}/camera_info'
                depth = next(
                    (
                        camera + d
                        for d in _DEPTH
                        if kinds.get(camera + d) == 'sensor_msgs/msg/Image'
                    ),
                    None,
                )
                if depth is not None and kinds.get(info) == 'sensor_msgs/msg/CameraInfo':
                    yield name, depth, info


def read_frames(bag: Path) -> Iterator[BagFrame]:
    """Yield pairs of colour and aligned depth with the same stamp, in order.

    Raises:
        VisionError: If the bag cannot be read or has no images.
    """
    topics = find_topics(bag)
    colour_topic, depth_topic, info_topic = topics.colour, topics.depth, topics.info
    if colour_topic is None or depth_topic is None or info_topic is None:
        raise VisionError(
            f'bag {bag} holds no colour with depth and camera_info: record again with '
            'softarm bag record --images -o FOLDER'
        )
    waiting: dict[str, dict[int, Any]] = {colour_topic: {}, depth_topic: {}}
    intrinsics = None
    for topic, message in _messages(bag, (colour_topic, depth_topic, info_topic)):
        if topic == info_topic:
            intrinsics = Intrinsics.of_camera_info(message)
            continue
        stamp_ns = _stamp_ns(message)
        match = waiting[depth_topic if topic == colour_topic else colour_topic].pop(stamp_ns, None)
        if match is None:
            waiting[topic][stamp_ns] = message
            while len(waiting[topic]) > _LOOKED_BACK:
                waiting[topic].pop(next(iter(waiting[topic])))
        elif intrinsics is not None:
            colour, depth = (message, match) if topic == colour_topic else (match, message)
            yield BagFrame(stamp_ns, _picture(colour), _picture(depth), intrinsics)


def read_poses(bag: Path, topic: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return stamps [ns] (n,), poses (n, 4, 4) and covariances (n, 6, 6) of a topic.

    Missing covariances are 0; n is 0 without a topic.
    """
    stamps, poses, covariances = [], [], []
    for _, message in _messages(bag, () if topic is None else (topic,)):
        pose = getattr(message.pose, 'pose', message.pose)
        position, turn = pose.position, pose.orientation
        T = np.eye(4)
        T[:3, :3] = Rotation.from_quat([turn.x, turn.y, turn.z, turn.w]).as_matrix()
        T[:3, 3] = position.x, position.y, position.z
        stamps.append(_stamp_ns(message))
        poses.append(T)
        covariances.append(getattr(message.pose, 'covariance', np.zeros(36)))
    return (
        np.array(stamps, np.int64),
        np.array(poses).reshape(-1, 4, 4),
        np.array(covariances).reshape(-1, 6, 6),
    )


@contextmanager
def _open(bag: Path) -> Iterator[Reader]:
    try:
        with Reader(bag) as reader:
            yield reader
    except (ReaderError, OSError) as error:
        raise VisionError(f'bag {bag} cannot be read: {error}') from error


def _messages(bag: Path, topics: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    store = get_typestore(Stores.ROS2_JAZZY)
    with _open(bag) as reader:
        wanted = [c for c in reader.connections if c.topic in topics]
        for connection, _, raw in reader.messages(connections=wanted) if wanted else ():
            yield connection.topic, store.deserialize_cdr(raw, connection.msgtype)


def _stamp_ns(message: Any) -> int:
    return message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec


def _picture(message: Any) -> np.ndarray:
    """Return an image as RGB uint8 (h, w, 3), or as depth (h, w) in uint16 mm or float32 m."""
    kinds: dict[str, tuple[Any, int]] = {
        'rgb8': (np.uint8, 3),
        'bgr8': (np.uint8, 3),
        '16UC1': (np.uint16, 1),
        'mono16': (np.uint16, 1),
        '32FC1': (np.float32, 1),
    }
    if message.encoding not in kinds:
        raise VisionError(
            f'images of encoding {message.encoding!r} cannot be used: record one of {sorted(kinds)}'
        )
    number, channels = kinds[message.encoding]
    kind = np.dtype(number).newbyteorder('>' if message.is_bigendian else '<')
    rows: np.ndarray = np.frombuffer(message.data.tobytes(), np.uint8).reshape(
        message.height, message.step
    )
    rows = rows[:, : message.width * channels * kind.itemsize]
    picture = np.ascontiguousarray(rows).view(kind).reshape(message.height, message.width, channels)
    if message.encoding == 'bgr8':
        picture = picture[..., ::-1]
    return np.ascontiguousarray(picture[..., 0] if channels == 1 else picture)
