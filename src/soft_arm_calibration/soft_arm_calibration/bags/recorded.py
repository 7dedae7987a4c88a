"""Read measured pressures, poses of the tip and the true tip of one arm from a bag."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soft_arm_calibration.bags import bag_frames
from soft_arm_calibration.bags.arm_files import ArmFiles
from soft_arm_calibration.bags.bag_cameras import CameraChoice, CameraTopics, cameras
from soft_arm_calibration.bags.bag_frames import BagPoses
from soft_arm_description.named_values import pressures_from_msg
from soft_arm_description.robot import Robot
from soft_arm_vision.calibration.camera_correction import correction_of
from soft_arm_vision.calibration.mounting import Mounting
from soft_arm_vision.frames import stamp_ns
from soft_arm_vision.ring.detector import Detection
from soft_arm_vision.ring_tracker import RingTracker
from softarm_cli.bags.file import Bag
from softarm_cli.errors import BagError

_CHAMBERS = 'soft_arm_msgs/msg/ChamberPressures'
_POSE, _RING = 'geometry_msgs/msg/PoseStamped', 'geometry_msgs/msg/PoseWithCovarianceStamped'


@dataclass(frozen=True)
class Topics:
    """Full names of the topics of one arm in a bag; None: the bag has none.

    Attributes:
        pressures, tip_pose: Of the arm.
        camera: Images of the arm's camera, known by its frame.
        truth: True pose of the tip.
    """

    pressures: str | None
    tip_pose: str | None
    camera: CameraTopics | None
    truth: str | None

    def used(self) -> dict[str, str]:
        """Return the topics that are read, by their role; images come before recorded poses."""
        named = {'pressures': self.pressures, 'tip_pose': self.tip_pose}
        if (camera := self.camera) is not None:
            named |= {'tip_pose': None, 'colour': camera.colour, 'depth': camera.depth}
            named['info'] = camera.info
        named['truth'] = self.truth
        return {role: topic for role, topic in named.items() if topic is not None}


@dataclass(frozen=True)
class Pressures:
    """Measured gauge pressures: times and times of recording [ns] (n,), and [Pa] (n, chambers)."""

    stamps_ns: np.ndarray
    recorded_ns: np.ndarray
    values_pa: np.ndarray


@dataclass(frozen=True)
class Tips(BagPoses):
    """Measured tips in the base frame.

    Attributes:
        misses: Reason of each image without a tip.
        detections: Detections of the ring in the images by stamp [ns]; empty without images.
    """

    misses: list[str]
    detections: dict[int, Detection]

    @property
    def points_m(self) -> np.ndarray:
        """Positions [m], shape (n, 3)."""
        return self.T[:, :3, 3]


def find_topics(
    bag: Bag,
    namespace: str | None,
    truth: str | None,
    mounting: Mounting | None,
    choice: CameraChoice = CameraChoice(),  # noqa: B008
) -> Topics:
    """Return the topics of an arm.

    Args:
        bag: An open bag.
        namespace: Namespace of the arm; None: the only one in the bag.
        truth: Full name of the topic of the true pose; None: the topic of a virtual rig.
        mounting: The arm's camera; None: its images are not used.
        choice: Options of the camera.

    Raises:
        BagError: If the bag holds no such arm or topic, or several arms, or images of other
            cameras only.
    """
    place = _place(bag, namespace)

    def own(kind: str, end: str) -> str | None:
        found = bag_frames.topics_of(bag, kind, end)
        return next((topic for topic in found if topic == f'{place}{end}'), None)

    truths = bag_frames.topics_of(bag, _POSE, '/debug/tip_truth')
    if truth is not None:
        held = {c.topic: c.msgtype for c in bag.connections}
        if truth not in held:
            raise bag.missing(truth)
        if held[truth] != _POSE:
            raise BagError(f'{truth} in {bag.path} is of type {held[truth]}, not {_POSE}')
    else:
        of_place = [topic for topic in truths if topic.startswith(f'{place}/')]
        truth = next(iter(of_place or (truths if len(truths) == 1 else [])), None)
    return Topics(
        own(_CHAMBERS, '/pressures'), own(_RING, '/tip_pose'), _camera(bag, mounting, choice), truth
    )


def _place(bag: Bag, namespace: str | None) -> str:
    """Return the namespace of the arm, with its slash."""
    places = sorted(
        {
            topic.removesuffix(end)
            for kind, end in ((_CHAMBERS, '/pressures'), (_RING, '/tip_pose'))
            for topic in bag_frames.topics_of(bag, kind, end)
        }
    )
    if namespace is not None:
        place = f'/{namespace.strip("/")}'
        if place not in places:
            hint = f'there are: {", ".join(places) or "none"}'
            raise BagError(f'{bag.path} holds no pressures or tip_pose in {place}; {hint}')
        return place
    if len(places) > 1:
        raise BagError(f'{bag.path} holds {", ".join(places)}: choose one with --namespace')
    return next(iter(places), '')


def _camera(bag: Bag, mounting: Mounting | None, choice: CameraChoice) -> CameraTopics | None:
    found = cameras(bag, choice)
    if mounting is None or not found:
        return None
    frames = [camera.frame_id for camera in found]
    if mounting.camera_frame in frames:
        return found[frames.index(mounting.camera_frame)]
    raise BagError(
        f'images in {bag.path} are in frame {", ".join(map(repr, frames))}, the extrinsics in '
        f'{mounting.camera_frame!r}: give the --rig or the --extrinsics of this camera'
    )


def read_pressures(bag: Bag, topic: str, robot: Robot) -> Pressures:
    """Return the measured pressures in the order of the robot's chambers.

    Messages with unusable pressures are left out and counted on standard error.

    Raises:
        BagError: If the bag is damaged, or all pressures are unusable, as of another robot.
    """
    stamps, recorded, rows = [], [], []
    left_out: list[ValueError] = []
    for _, at_ns, message in bag_frames.messages(bag, (topic,)):
        try:
            rows.append(pressures_from_msg(message, robot, BagError))
        except BagError as error:
            left_out.append(error)
            continue
        stamps.append(stamp_ns(message.header.stamp))
        recorded.append(at_ns)
    if left_out and not rows:
        raise BagError(f'{topic} in {bag.path}: {left_out[0]}; give the --robot of the bag')
    bag_frames.report_left_out(bag, f'pressures of {topic}', left_out, len(rows))
    table = np.array(rows, float).reshape(-1, len(robot.chambers))
    return Pressures(np.array(stamps, np.int64), np.array(recorded, np.int64), table)


def read_tips(
    bag: Bag, topics: Topics, files: ArmFiles, report: Callable[[], None] = lambda: None
) -> Tips:
    """Find the tip in a bag's images; without images return the recorded poses.

    Args:
        bag: An open bag.
        topics: Topics of the arm.
        files: The arm.
        report: Called after every image.

    Raises:
        BagError: If the bag is damaged, or the poses are in another frame.
        VisionError: If the images cannot be used.
    """
    if topics.camera is None or files.mounting is None:
        return Tips(**vars(read_poses(bag, topics.tip_pose, files.robot)), misses=[], detections={})
    rows, misses = [], []
    detections: dict[int, Detection] = {}
    tracker, correction = files.new_tracker(files.mounting), correction_of(files.rig)
    for frame in bag_frames.read_frames(bag, files.rig.camera, topics.camera, correction):
        sight = tracker.track(frame.rgb, frame.depth_m, frame.intrinsics)
        if isinstance(tracker, RingTracker):
            detections[frame.stamp_ns] = tracker.detection
        if sight.T_base_tip is None:
            misses.append(sight.trouble)
        else:
            rows.append((frame.stamp_ns, frame.recorded_ns, sight.T_base_tip, sight.covariance))
        report()
    return Tips.of(rows, files.mounting.base_frame, misses, detections)


def read_poses(bag: Bag, topic: str | None, robot: Robot) -> BagPoses:
    """Return the poses of a topic in the arm's base frame, none without a topic.

    Raises:
        BagError: If the bag is damaged, or the poses are in another frame.
    """
    poses = bag_frames.read_poses(bag, topic)
    if poses.frame_id not in ('', robot.base.frame):
        raise BagError(
            f'{topic} in {bag.path} is in frame {poses.frame_id[:60]!r}, the base of {robot.name} '
            f'is {robot.base.frame!r}: record it in that frame, or give the --robot of the bag'
        )
    return poses
