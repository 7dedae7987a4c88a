"""Read frames and poses of an open bag (rosbag2, MCAP or SQLite) without ROS."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_vision.calibration.camera_correction import NO_CORRECTION, CameraCorrection
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics
from softarm_cli.bags.file import Bag

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
    """Colour and depth of one stamp [ns], and the newest intrinsics before them.

    `recorded_ns` is when the later of both images was recorded [ns], `frame_id` their frame.
    """

    stamp_ns: int
    recorded_ns: int
    frame_id: str
    rgb: np.ndarray
    depth: np.ndarray
    intrinsics: Intrinsics


@dataclass(frozen=True)
class CameraTopics:
    """Full names of the topics of one camera: images with the same size, and camera info."""

    colour: str
    depth: str
    info: str


@dataclass(frozen=True)
class BagTopics:
    """Full names of the relevant topics in a bag; None if the bag has no such topic.

    Attributes:
        camera: Images of the first camera.
        tip_pose: Pose detected when the bag was recorded.
        truth: True pose of the ring.
    """

    camera: CameraTopics | None
    tip_pose: str | None
    truth: str | None


def find_topics(bag: Bag) -> BagTopics:
    """Return the relevant topics of a bag, by type and usual names, in any namespace."""

    def first(kind: str, end: str) -> str | None:
        return next(iter(topics_of(bag, kind, end)), None)

    return BagTopics(
        next(iter(cameras(bag)), None),
        first('geometry_msgs/msg/PoseWithCovarianceStamped', '/tip_pose'),
        first('geometry_msgs/msg/PoseStamped', '/debug/tip_truth'),
    )


def topics_of(bag: Bag, kind: str, end: str) -> list[str]:
    """Return the full names of the topics of a type whose name ends so, in order."""
    return [c.topic for c in bag.connections if c.msgtype == kind and c.topic.endswith(end)]


def cameras(bag: Bag) -> list[CameraTopics]:
    """Return the topics of each camera with colour, depth and camera info, the likeliest first."""
    kinds = {c.topic: c.msgtype for c in bag.connections}
    return [CameraTopics(*names) for names in _cameras(kinds)]


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


def read_frames(
    bag: Bag, camera: CameraTopics | None = None, correction: CameraCorrection = NO_CORRECTION
) -> Iterator[BagFrame]:
    """Yield pairs of colour and aligned depth with the same stamp, in order.

    Args:
        bag: An open bag.
        camera: Topics of the images; None: of the first camera.
        correction: Systematic errors of the camera.

    Raises:
        VisionError: If the bag has no images, or they cannot be used.
        BagError: If the bag is damaged.
    """
    camera = camera or find_topics(bag).camera
    if camera is None:
        raise VisionError(
            f'bag {bag.path} holds no colour with depth and camera_info: record again with '
            'softarm bag record --images -o FOLDER'
        )
    colour_topic, depth_topic = camera.colour, camera.depth
    waiting: dict[str, dict[int, Any]] = {colour_topic: {}, depth_topic: {}}
    intrinsics = None
    for topic, at_ns, message in messages(bag, (colour_topic, depth_topic, camera.info)):
        if topic == camera.info:
            intrinsics = correction.intrinsics(Intrinsics.of_camera_info(message))
            continue
        stamp_ns = stamp_of(message)
        match = waiting[depth_topic if topic == colour_topic else colour_topic].pop(stamp_ns, None)
        if match is None:
            waiting[topic][stamp_ns] = message
            while len(waiting[topic]) > _LOOKED_BACK:
                waiting[topic].pop(next(iter(waiting[topic])))
        elif intrinsics is not None:
            colour, depth = (message, match) if topic == colour_topic else (match, message)
            frame = colour.header.frame_id
            true_depth = correction.depth(_picture(depth))
            yield BagFrame(stamp_ns, at_ns, frame, _picture(colour), true_depth, intrinsics)


@dataclass(frozen=True)
class BagPoses:
    """Poses of one topic, in the order of the recording.

    Attributes:
        stamps_ns, recorded_ns: Time of each pose, and of its recording [ns], shape (n,).
        T: Poses, shape (n, 4, 4).
        covariances: Shape (n, 6, 6), 0 where the message has none.
        frame_id: Frame of the poses; empty if there are none.
    """

    stamps_ns: np.ndarray
    recorded_ns: np.ndarray
    T: np.ndarray
    covariances: np.ndarray
    frame_id: str


def read_poses(bag: Bag, topic: str | None) -> BagPoses:
    """Return the poses of a topic; none without a topic.

    Raises:
        VisionError: If the poses are in different frames.
        BagError: If the bag is damaged.
    """
    stamps, recorded, poses, covariances = [], [], [], []
    frames: set[str] = set()
    for _, at_ns, message in messages(bag, () if topic is None else (topic,)):
        pose = getattr(message.pose, 'pose', message.pose)
        position, turn = pose.position, pose.orientation
        T = np.eye(4)
        T[:3, :3] = Rotation.from_quat([turn.x, turn.y, turn.z, turn.w]).as_matrix()
        T[:3, 3] = position.x, position.y, position.z
        stamps.append(stamp_of(message))
        recorded.append(at_ns)
        poses.append(T)
        covariances.append(getattr(message.pose, 'covariance', np.zeros(36)))
        frames.add(message.header.frame_id)
    if len(frames) > 1:
        raise VisionError(
            f'{topic} in {bag.path} is in the frames {", ".join(sorted(frames))}: record one'
        )
    return BagPoses(
        np.array(stamps, np.int64),
        np.array(recorded, np.int64),
        np.array(poses).reshape(-1, 4, 4),
        np.array(covariances).reshape(-1, 6, 6),
        next(iter(frames), ''),
    )


def messages(bag: Bag, topics: tuple[str, ...]) -> Iterator[tuple[str, int, Any]]:
    """Yield topic, time of recording [ns] and message of all messages of some topics."""
    wanted = [c for c in bag.connections if c.topic in topics]
    for connection, at_ns, raw in bag.messages(wanted) if wanted else ():
        yield connection.topic, at_ns, bag.decode(connection, raw)


def stamp_of(message: Any) -> int:
    """Return the stamp in a message's header [ns]."""
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
    data: np.ndarray = np.frombuffer(message.data.tobytes(), np.uint8)
    row = message.width * channels * kind.itemsize
    if message.step < row or len(data) != message.height * message.step:
        raise VisionError(
            f'an image says that it has {message.height} rows of {message.step} bytes for '
            f'{message.width} pixels of {message.encoding}, but has {len(data)} bytes: damaged'
        )
    rows = data.reshape(message.height, message.step)[:, :row]
    picture = np.ascontiguousarray(rows).view(kind).reshape(message.height, message.width, channels)
    if message.encoding == 'bgr8':
        picture = picture[..., ::-1]
    return np.ascontiguousarray(picture[..., 0] if channels == 1 else picture)
