"""Tip of a recorded arm by its camera, by each kinematic model, and by the controller's estimate.

The estimates use the code of the running arm: the tracker of `tip_tracker`, the calibrated
curve of `forward_kinematics`, and the filter of `tip_controller` without its learning at goals.
The filter takes pressures and tips in the order of the recording: images and
`tip_pose` at their recording time. The result is deterministic.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from soft_arm_calibration.bags.arm_files import ArmFiles
from soft_arm_calibration.bags.bag_cameras import CameraChoice, has_images, no_camera
from soft_arm_calibration.bags.detector_report import DetectorReport, detector_report
from soft_arm_calibration.bags.recorded import (
    Pressures,
    Tips,
    Topics,
    find_topics,
    read_poses,
    read_pressures,
    read_tips,
)
from soft_arm_calibration.bags.track import Track, distances_m
from soft_arm_control.tip.bias_filter import BiasFilter
from soft_arm_control.tip_covariance import position_covariance
from softarm_cli.bags.file import Bag
from softarm_cli.errors import BagError

VISION, DYNAMIC, ESTIMATE = 'vision', 'dynamic model', "controller's estimate"
_NO_PRESSURES = 'the bag holds no pressures'


@dataclass(frozen=True)
class BagTracks:
    """The tip in one bag.

    Attributes:
        name: Path of the bag, as it was given.
        is_cut: Whether its recorder was killed.
        duration_s: Time from its first message to its last [s].
        topics: Full names of the topics that were read, by their role.
        tracks: Tip by the name of the estimate.
        truth: True tip; None if it was not recorded.
        left_out: Why an estimate is not among the tracks, by its name.
        detector: Results of the detector or of recorded poses; None without images and poses.
    """

    name: str
    is_cut: bool
    duration_s: float
    topics: dict[str, str]
    tracks: dict[str, Track]
    truth: Track | None
    left_out: dict[str, str]
    detector: DetectorReport | None


def estimate(
    bag: Bag,
    files: ArmFiles,
    namespace: str | None = None,
    truth: str | None = None,
    choice: CameraChoice = CameraChoice(),  # noqa: B008
    report: Callable[[], None] = lambda: None,
) -> BagTracks:
    """Return the tip by each estimator that a bag has the data for.

    Args:
        bag: An open bag.
        files: The arm.
        namespace: Namespace of the arm; None: the only one in the bag.
        truth: Full name of the topic of the true pose; None: the topic of a virtual rig.
        choice: Options of the camera.
        report: Called after every image.

    Raises:
        BagError: If the bag is damaged, of another robot, in other frames, or holds nothing to
            compare.
        VisionError: If the images cannot be used.
    """
    topics = find_topics(bag, namespace, truth, files.mounting, choice)
    tracks: dict[str, Track] = {}
    left_out: dict[str, str] = {}
    if files.mounting is not None and topics.camera is None and has_images(bag):
        left_out['images'] = f'the bag {no_camera(bag)}'
    pressures = None
    if topics.pressures is not None:
        pressures = read_pressures(bag, topics.pressures, files.robot)
    if pressures is None or not len(pressures.stamps_ns):
        left_out |= dict.fromkeys((*files.models, DYNAMIC, ESTIMATE), _NO_PRESSURES)
        pressures = None
    truth_poses = read_poses(bag, topics.truth, files.robot)
    true_tip = None
    if truth is not None and not len(truth_poses.stamps_ns):
        raise BagError(f'{bag.path} holds no usable pose in {truth}: give another --truth')
    if len(truth_poses.stamps_ns):
        true_tip = Track.of(truth_poses.stamps_ns, truth_poses.T[:, :3, 3])
    tips = read_tips(bag, topics, files, report)
    detector = None
    if len(tips.stamps_ns) or tips.misses:
        detector = detector_report(bag, tips, truth_poses)
    if len(tips.stamps_ns):
        tracks[VISION] = Track.of(tips.stamps_ns, tips.points_m)
    else:
        left_out[VISION] = _why_no_tips(tips, topics, files)
    if pressures is not None:
        for name, arm in files.models.items():
            q = arm.q_at(arm.clip_pressures(pressures.values_pa))
            tracks[name] = Track.of(pressures.stamps_ns, arm.at(q).tip_m)
        if (dynamic := files.new_filter()) is None:
            why = files.lacking.get('dynamics', 'the controller works with bellows alone')
            left_out |= {DYNAMIC: why, ESTIMATE: why}
        else:
            tracks[DYNAMIC] = _filtered(dynamic, pressures, None)
            if VISION in tracks:
                informed = _filtered(files.new_filter() or dynamic, pressures, tips)
                if len(informed.stamps_ns):
                    tracks[ESTIMATE] = informed
                else:
                    left_out[ESTIMATE] = 'no tip was seen while pressures were measured'
            else:
                left_out[ESTIMATE] = left_out[VISION]
    known = tracks | ({} if true_tip is None else {'truth': true_tip})
    is_judged = detector is not None and (detector.poses > 0 or detector.labelled is not None)
    if not _share_times(bag, known) and not (is_judged and tips.detections):
        raise BagError(
            f'{bag.path} holds nothing to compare: '
            f'{"; ".join(f"no {name}: {why}" for name, why in left_out.items())}; record with '
            'softarm bag record --images -o FOLDER'
        )
    return BagTracks(
        str(bag.path),
        bag.is_cut,
        bag.duration_s,
        topics.used(),
        tracks,
        true_tip,
        left_out,
        detector,
    )


def _share_times(bag: Bag, tracks: dict[str, Track]) -> bool:
    """Return whether there are two tracks, which must have a time in common."""
    if any(len(distances_m(one, other)[0]) for one, other in combinations(tracks.values(), 2)):
        return True
    if len(tracks) < 2:
        return False
    times = '; '.join(
        f'{name} {track.stamps_ns[0] * 1e-9:.3f} .. {track.stamps_ns[-1] * 1e-9:.3f} s'
        for name, track in tracks.items()
    )
    raise BagError(f'{bag.path}: the stamps have no time in common: {times}')


def _why_no_tips(tips: Tips, topics: Topics, files: ArmFiles) -> str:
    if topics.camera is not None:
        why = Counter(tips.misses).most_common(1)[0][0] if tips.misses else 'no frame'
        return f'the tip was found in no image: {why}'
    if topics.tip_pose is not None:
        return f'{topics.tip_pose} holds no pose'
    return files.lacking.get('extrinsics', 'the bag holds no tip_pose and no images of a camera')


def _filtered(bias_filter: BiasFilter, pressures: Pressures, tips: Tips | None) -> Track:
    """Return the tip at the stamp of each sample of the pressures; with tips from the first on."""
    first_ns = int(pressures.stamps_ns[0])
    arrivals = [(int(at_ns), 0, i) for i, at_ns in enumerate(pressures.recorded_ns)]
    if tips is not None:
        arrivals += [(int(at_ns), 1, i) for i, at_ns in enumerate(tips.recorded_ns)]
    points_m = np.full((len(pressures.stamps_ns), 3), np.nan)
    known = tips is None
    covariances_m2 = [] if tips is None else [position_covariance(c) for c in tips.covariances]
    for _, is_tip, i in sorted(arrivals):
        if is_tip and tips is not None:
            stamp_s = (int(tips.stamps_ns[i]) - first_ns) * 1e-9
            known |= bias_filter.add_tip_pose(stamp_s, tips.points_m[i], covariances_m2[i])
        else:
            stamp_s = (int(pressures.stamps_ns[i]) - first_ns) * 1e-9
            bias_filter.add_pressures(stamp_s, pressures.values_pa[i])
            if known:
                points_m[i] = bias_filter.tip_m()
    said = np.isfinite(points_m[:, 0])
    return Track.of(pressures.stamps_ns[said], points_m[said])
