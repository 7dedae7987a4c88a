"""Read frames and poses of an open bag (rosbag2, MCAP or SQLite) without ROS."""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Self

import numpy as np

from soft_arm_calibration.bags.bag_cameras import CameraTopics, find_camera
from soft_arm_control.errors import MessageError
from soft_arm_control.tip_covariance import position_covariance
from soft_arm_description.poses import PoseError, pose_matrix, tracked_pose
from soft_arm_description.rig import VIRTUAL, Rig, RigCamera
from soft_arm_vision.calibration.camera_correction import NO_CORRECTION, CameraCorrection
from soft_arm_vision.compressed_images import as_image
from soft_arm_vision.errors import VisionError
from soft_arm_vision.frames import Frame, FrameSource, stamp_ns
from soft_arm_vision.pairing import Kind, Pairing
from softarm_cli.bags.file import Bag

_TF = 'tf2_msgs/msg/TFMessage'
REPEATED = 20  # identical consecutive poses from which a topic is reported


@dataclass(frozen=True, eq=False)
class BagFrame(Frame):
    """A frame, and when the later of its images was recorded [ns]."""

    recorded_ns: int


def check_devices(bag: Bag, rig: Rig) -> None:
    """Refuse to calibrate a real rig by a bag of virtual devices: only they know the true pose.

    Raises:
        VisionError: Names the topic that shows it.
    """
    truth = next(iter(topics_of(bag, 'geometry_msgs/msg/PoseStamped', '/debug/tip_truth')), None)
    if truth is not None and rig.devices != VIRTUAL:
        raise VisionError(
            f'{bag.path} was recorded on virtual devices, as its topic {truth} shows, but rig '
            f'{rig.name!r} is real: give a bag of that rig, or a virtual rig with --rig'
        )


def topics_of(bag: Bag, kind: str, end: str) -> list[str]:
    """Return the full names of the topics of a type whose name ends so, in order."""
    return [c.topic for c in bag.connections if c.msgtype == kind and c.topic.endswith(end)]


def read_frames(
    bag: Bag,
    camera: RigCamera,
    topics: CameraTopics | None = None,
    correction: CameraCorrection = NO_CORRECTION,
) -> Iterator[BagFrame]:
    """Yield the frames of colour and depth, in order.

    Depth that is not aligned to colour is aligned by its camera info and the bag's /tf_static. At
    the end, lines on standard error state how many images are in no frame, and by how much the
    stamps of depth and colour differ.

    Args:
        bag: An open bag.
        camera: How the camera publishes depth.
        topics: Topics of the images; None: of the first camera.
        correction: Systematic errors of the camera.

    Raises:
        VisionError: If the bag has no images, or none of them can be used.
        BagError: If the bag is damaged.
    """
    topics = topics or find_camera(bag)
    source = FrameSource(
        camera,
        correction=correction,
        pose_of=lambda target, source: _static_pose(bag, target, source),
        is_aligned=topics.is_aligned,
        colour_topic=topics.colour,
        depth_topic=topics.depth,
    )
    take = {topics.info: source.take_info}
    if topics.depth_info is not None:
        take.setdefault(topics.depth_info, source.take_depth_info)
    for topic in take:
        for _, _, info in messages(bag, (topic,)):
            take[topic](info)  # images may precede it
            break
    kinds: dict[str, Kind] = {topics.colour: 'colour', topics.depth: 'depth'}
    pairing, count, unusable = Pairing(keep_all=True, unequal=True), 0, Counter[str]()
    for topic, at_ns, message in messages(bag, (*kinds, *take)):
        if topic in take:
            take[topic](message)
        elif pair := pairing.put(kinds[topic], message):
            try:
                frame = source.frame(*map(as_image, pair))
            except VisionError as error:
                unusable[str(error)] += 1
                continue
            count += 1
            yield BagFrame(**vars(frame), recorded_ns=at_ns)
    notes = _notes(pairing, unusable)
    if not count:
        raise VisionError(f'{bag.path} has no usable frame: {"; ".join(notes) or "no images"}')
    sys.stderr.writelines(f'{bag.path}: {note}\n' for note in notes)


def _notes(pairing: Pairing, unusable: Counter[str]) -> list[str]:
    """Return what is unusual in the images that were read."""
    notes = [f'{count} are left out: {why}' for why, count in unusable.most_common(3)]
    if any(pairing.unpaired.values()):
        unpaired = ' and '.join(f'{count} {kind}' for kind, count in pairing.unpaired.items())
        apart = '' if (ms := pairing.apart_ms) is None else f'; their stamps differ by {ms:.3f} ms'
        notes.append(
            f'{unpaired} images are left out: no image of the other kind has their stamp{apart}'
        )
    if any(pairing.differences_ns):
        median_ms = 1e-6 * float(np.median(pairing.differences_ns))
        notes.append(
            f'stamps of depth and colour differ by {median_ms:.3f} ms (median): the '
            'tip may have moved meanwhile'
        )
    return notes


def _static_pose(bag: Bag, target: str, source: str) -> np.ndarray:
    """Return the pose (4, 4) of one frame in another by the transforms in /tf_static."""
    neighbours: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    invalid: list[str] = []
    for _, _, message in messages(bag, tuple(topics_of(bag, _TF, '/tf_static'))):
        for link in message.transforms:
            try:
                T = pose_matrix(link.transform.translation, link.transform.rotation)
            except PoseError as error:
                names = f'{link.header.frame_id[:60]!r} to {link.child_frame_id[:60]!r}'
                invalid.append(f'from {names} is invalid: {error}')
                continue
            neighbours[link.header.frame_id][link.child_frame_id] = T
            neighbours[link.child_frame_id][link.header.frame_id] = np.linalg.inv(T)
    found, ahead = {target: np.eye(4)}, [target]
    for frame in ahead:
        for other, T in neighbours[frame].items():
            if other not in found:
                found[other] = found[frame] @ T
                ahead.append(other)
    if source not in found and invalid:
        raise VisionError(f'/tf_static: transform {invalid[0]}; depth cannot be aligned')
    if source not in found:
        raise VisionError(
            'depth is not aligned to colour, and /tf_static holds no '
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

    @classmethod
    def of(cls, rows: list[tuple[int, int, np.ndarray, np.ndarray]], *others: Any) -> Self:
        """Make poses of rows, and of the attributes that follow.

        Args:
            rows: Stamp and time of recording [ns], pose (4, 4) and covariance (6, 6) of each.
            others: `frame_id`, and the attributes of a derived class.
        """
        stamps, recorded, T, covariances = zip(*rows, strict=True) if rows else ((), (), (), ())
        return cls(
            np.array(stamps, np.int64),
            np.array(recorded, np.int64),
            np.array(T, float).reshape(-1, 4, 4),
            np.array(covariances, float).reshape(-1, 6, 6),
            *others,
        )


def read_poses(bag: Bag, topic: str | None) -> BagPoses:
    """Return the poses of a topic; none without a topic.

    Poses of a body that is not tracked, and of an unusable covariance, are left out and counted on
    standard error.

    Raises:
        VisionError: If the poses are in different frames.
        BagError: If the bag is damaged.
    """
    rows = []
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
        rows.append((stamp_ns(message.header.stamp), at_ns, T, covariance))
        frames.add(message.header.frame_id)
    if len(frames) > 1:
        raise VisionError(
            f'{topic} in {bag.path} is in the frames {", ".join(sorted(frames))}: record one'
        )
    report_left_out(bag, f'poses of {topic}', left_out, len(rows))
    repeated = max(
        (len(list(run)) for _, run in groupby(row[2].tobytes() for row in rows)), default=0
    )
    if repeated >= REPEATED:
        sys.stderr.write(
            f'{bag.path}: {repeated} consecutive poses of {topic} are identical: some motion '
            'capture systems repeat the last pose of a body that they have lost\n'
        )
    return BagPoses.of(rows, next(iter(frames), ''))


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
