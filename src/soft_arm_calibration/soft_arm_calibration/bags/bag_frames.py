"""Read frames and poses of an open bag (rosbag2, MCAP or SQLite) without ROS."""

import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from soft_arm_control.errors import MessageError
from soft_arm_control.tip_covariance import position_covariance
from soft_arm_description.poses import PoseError, pose_matrix, tracked_pose
from soft_arm_description.rig import VIRTUAL, Rig, RigCamera
from soft_arm_vision.calibration.camera_correction import NO_CORRECTION, CameraCorrection
from soft_arm_vision.errors import VisionError
from soft_arm_vision.frames import Frame, FrameSource, stamp_ns
from soft_arm_vision.pairing import Kind, Pairing
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
_TF = 'tf2_msgs/msg/TFMessage'


@dataclass(frozen=True, eq=False)
class BagFrame(Frame):
    """A frame, and when the later of its images was recorded [ns]."""

    recorded_ns: int


@dataclass(frozen=True)
class CameraTopics:
    """Full names of the topics of one camera: images, and camera info of the colour images."""

    colour: str
    depth: str
    info: str

    @property
    def depth_info(self) -> str:
        """Full name of the camera info of the depth images."""
        return f'{self.depth.rpartition("/")[0]}/camera_info'


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


def check_devices(bag: Bag, rig: Rig) -> None:
    """Refuse to calibrate a real rig by a bag of virtual devices: only they know the true pose.

    Raises:
        VisionError: Names the topic that shows it.
    """
    truth = find_topics(bag).truth
    if truth is not None and rig.devices != VIRTUAL:
        raise VisionError(
            f'{bag.path} was recorded on virtual devices, as its topic {truth} shows, but rig '
            f'{rig.name!r} is real: give a bag of that rig, or a virtual rig with --rig'
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
    bag: Bag,
    camera: RigCamera,
    topics: CameraTopics | None = None,
    correction: CameraCorrection = NO_CORRECTION,
) -> Iterator[BagFrame]:
    """Yield the frames of colour and depth with the same stamp, in order.

    Depth in another frame than colour is aligned by its camera info and the bag's /tf_static. At
    the end a line on standard error counts the images that are in no frame.

    Args:
        bag: An open bag.
        camera: How the camera publishes depth.
        topics: Topics of the images; None: of the first camera.
        correction: Systematic errors of the camera.

    Raises:
        VisionError: If the bag has no images, or they cannot be used.
        BagError: If the bag is damaged.
    """
    topics = topics or find_topics(bag).camera
    if topics is None:
        raise VisionError(
            f'bag {bag.path} holds no colour with depth and camera_info: record again with '
            'softarm bag record --images -o FOLDER'
        )
    source = FrameSource(
        camera,
        correction=correction,
        pose_of=lambda target, source: _static_pose(bag, target, source),
    )
    pairing, depth_info, known = Pairing(keep_all=True), None, False
    kinds: dict[str, Kind] = {topics.colour: 'colour', topics.depth: 'depth'}
    read = *kinds, topics.info, topics.depth_info
    for topic, at_ns, message in messages(bag, read):
        if topic == topics.info:
            source.take_info(message)
            known = True
        if topic == topics.depth_info:
            depth_info = message
        if topic in kinds and (pair := pairing.put(kinds[topic], message)) and known:
            colour, depth = pair
            if depth.header.frame_id != colour.header.frame_id and depth_info is not None:
                source.take_depth_info(depth_info)
            yield BagFrame(**vars(source.frame(colour, depth)), recorded_ns=at_ns)
    if any(pairing.unpaired.values()):
        unpaired = ' and '.join(f'{count} {kind}' for kind, count in pairing.unpaired.items())
        sys.stderr.write(
            f'{bag.path}: {unpaired} images are left out: no image of the other kind has their '
            'stamp\n'
        )


def _static_pose(bag: Bag, target: str, source: str) -> np.ndarray:
    """Return the pose (4, 4) of one frame in another by the transforms in /tf_static."""
    beside: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    invalid: list[str] = []
    for _, _, message in messages(bag, tuple(topics_of(bag, _TF, '/tf_static'))):
        for link in message.transforms:
            try:
                T = pose_matrix(link.transform.translation, link.transform.rotation)
            except PoseError as error:
                names = f'{link.header.frame_id[:60]!r} to {link.child_frame_id[:60]!r}'
                invalid.append(f'from {names} is invalid: {error}')
                continue
            beside[link.header.frame_id][link.child_frame_id] = T
            beside[link.child_frame_id][link.header.frame_id] = np.linalg.inv(T)
    found, ahead = {target: np.eye(4)}, [target]
    for frame in ahead:
        for other, T in beside[frame].items():
            if other not in found:
                found[other] = found[frame] @ T
                ahead.append(other)
    if source not in found and invalid:
        raise VisionError(
            f'/tf_static in {bag.path}: transform {invalid[0]}; depth there cannot be aligned'
        )
    if source not in found:
        raise VisionError(
            f'depth in {bag.path} is not aligned to colour, and /tf_static there holds no '
            f'transform from {source[:60]!r} to {target[:60]!r}: record /tf_static too, or turn '
            "the camera's align_depth on"
        )
    return found[source]


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

    Poses of a body that is not tracked, and of an unusable covariance, are left out and counted on
    standard error.

    Raises:
        VisionError: If the poses are in different frames.
        BagError: If the bag is damaged.
    """
    stamps, recorded, poses, covariances = [], [], [], []
    frames: set[str] = set()
    left_out: list[ValueError] = []
    for _, at_ns, message in messages(bag, () if topic is None else (topic,)):
        pose = getattr(message.pose, 'pose', message.pose)
        covariance = np.reshape(getattr(message.pose, 'covariance', np.zeros(36)), (6, 6))
        try:
            T = tracked_pose(pose)
            position_covariance(covariance)
        except (PoseError, MessageError) as error:
            left_out.append(error)
            continue
        poses.append(T)
        covariances.append(covariance)
        stamps.append(stamp_ns(message.header.stamp))
        recorded.append(at_ns)
        frames.add(message.header.frame_id)
    if len(frames) > 1:
        raise VisionError(
            f'{topic} in {bag.path} is in the frames {", ".join(sorted(frames))}: record one'
        )
    report_left_out(bag, f'poses of {topic}', left_out, len(poses))
    return BagPoses(
        np.array(stamps, np.int64),
        np.array(recorded, np.int64),
        np.array(poses).reshape(-1, 4, 4),
        np.array(covariances).reshape(-1, 6, 6),
        next(iter(frames), ''),
    )


def report_left_out(bag: Bag, what: str, errors: list[ValueError], used: int) -> None:
    """Count messages that cannot be used on standard error, with the reason of the first."""
    if errors:
        sys.stderr.write(
            f'{bag.path}: {len(errors)} of {len(errors) + used} {what} are left out; the first: '
            f'{errors[0]}\n'
        )


def messages(bag: Bag, topics: tuple[str, ...]) -> Iterator[tuple[str, int, Any]]:
    """Yield topic, time of recording [ns] and message of all messages of some topics."""
    wanted = [c for c in bag.connections if c.topic in topics]
    for connection, at_ns, message in bag.decoded(wanted):
        yield connection.topic, at_ns, message
