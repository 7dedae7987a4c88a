"""Evaluate a recorded bag offline; the same bag always gives the same figures."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from soft_arm_experiments.bags.track import Track
from soft_arm_experiments.vision.accuracy import pose_errors
from soft_arm_experiments.vision.bag_frames import (
    BagPoses,
    find_topics,
    read_frames,
    read_poses,
)
from soft_arm_experiments.vision.labels import LabelledResult, beside_labels, read_labels
from soft_arm_vision.calibration.camera_correction import NO_CORRECTION, CameraCorrection
from soft_arm_vision.errors import VisionError
from soft_arm_vision.frames import USUAL_UNIT_M
from soft_arm_vision.ring.arc_prior import expected_axis
from soft_arm_vision.ring.detector import Detection, RingDetector
from soft_arm_vision.ring.fit import RingFit
from softarm_cli.bags.file import Bag


@dataclass(frozen=True)
class BagReport:
    """Results of one bag.

    Attributes:
        topics: Names of the topics that were used, by their role.
        frames, poses: Number of frames and of poses found in them; for recorded poses both are the
            same.
        reasons: Number of frames without a pose by reason; numbers in the reason are removed.
        recorded_s, computed_s: Duration of the recording and of its evaluation [s].
        errors: As `accuracy.PoseErrors.summary`; None without true poses.
        times_s: Time of each frame since the first, shape (n,).
        centre_errors_m: Error of each frame, NaN without a pose or a true pose, shape (n,).
        labelled: Comparison with the bag's labels; None without labels or without images.
    """

    topics: dict[str, str]
    frames: int
    poses: int
    reasons: dict[str, int]
    recorded_s: float
    computed_s: float
    errors: dict[str, float | None] | None
    times_s: np.ndarray
    centre_errors_m: np.ndarray
    labelled: LabelledResult | None


def evaluate(
    bag: Bag,
    detector: RingDetector,
    T_base_camera: np.ndarray,
    report: Callable[[], None] = lambda: None,
    correction: CameraCorrection = NO_CORRECTION,
    depth_unit_m: float = USUAL_UNIT_M,
) -> BagReport:
    """Run a detector on a bag's images; without images evaluate the recorded poses.

    Args:
        bag: An open bag.
        detector: A new detector, so that the result depends on the bag alone.
        T_base_camera: Extrinsics, shape (4, 4); their error is part of the reported errors.
        report: Called after every frame.
        correction: Systematic errors of the camera.
        depth_unit_m: Unit of 16-bit depth images [m].

    Raises:
        VisionError: If the bag holds neither images nor poses, or they cannot be used.
        BagError: If the bag is damaged.
    """
    topics, labels, labelled = find_topics(bag), read_labels(bag.path), None
    begin = perf_counter()
    stamps_ns: list[int] = []
    detections: list[Detection] = []
    truth = read_poses(bag, topics.truth)
    if topics.camera is None and topics.tip_pose is None:
        raise VisionError(
            f'bag {bag.path} holds neither images nor tip_pose: record again with softarm bag '
            'record --images -o FOLDER'
        )
    taken = {'truth': topics.truth}
    if topics.camera is not None:
        T_detected_base = np.linalg.inv(T_base_camera)
        taken = vars(topics.camera) | taken
        for frame in read_frames(bag, topics.camera, correction, depth_unit_m):
            stamps_ns.append(frame.stamp_ns)
            detections.append(
                detector.detect(
                    frame.rgb,
                    frame.depth_m,
                    frame.intrinsics,
                    lambda c: expected_axis(c, T_base_camera),
                )
            )
            report()
        if labels is not None:
            labelled = beside_labels(dict(zip(stamps_ns, detections, strict=True)), labels)
    else:
        T_detected_base, taken = np.eye(4), {'tip_pose': topics.tip_pose} | taken
        poses = read_poses(bag, topics.tip_pose)
        for stamp_ns, T, covariance in zip(
            poses.stamps_ns, poses.T, poses.covariances, strict=True
        ):
            stamps_ns.append(int(stamp_ns))
            detections.append(Detection(RingFit(T[:3, 3], T[:3, 2], covariance, 0.0), None))
            report()
    computed_s = perf_counter() - begin
    errors = None
    centre_errors_m = np.full(len(detections), np.nan)
    if len(truth.stamps_ns) and stamps_ns:
        known, T_truth = _truth_at(np.array(stamps_ns), truth)
        T_truth = [T_detected_base @ T for T in T_truth]
        errors = pose_errors([detections[i] for i in known], T_truth).summary()
        for i, T in zip(known, T_truth, strict=True):
            if (fit := detections[i].fit) is not None:
                centre_errors_m[i] = np.linalg.norm(fit.centre - T[:3, 3])
    times_s = 1e-9 * (np.array(stamps_ns, float) - min(stamps_ns, default=0))
    reasons = Counter(_without_numbers(d.reason or '') for d in detections if d.fit is None)
    found, recorded_s = sum(d.fit is not None for d in detections), float(times_s.max(initial=0.0))
    return BagReport(
        {role: topic for role, topic in taken.items() if topic is not None},
        len(detections),
        found,
        dict(reasons.most_common()),
        recorded_s,
        computed_s,
        errors,
        times_s,
        centre_errors_m,
        labelled,
    )


def _truth_at(stamps_ns: np.ndarray, truth: BagPoses) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the indices of stamps with a true pose near enough in time, and the true poses.

    The position is interpolated; the axis is that of the nearest pose.
    """
    inside, points_m = Track.of(truth.stamps_ns, truth.T[:, :3, 3]).at(stamps_ns)
    known = np.flatnonzero(inside)
    found = []
    for i in known:
        T = truth.T[np.abs(truth.stamps_ns - stamps_ns[i]).argmin()].copy()
        T[:3, 3] = points_m[i]
        found.append(T)
    return known, found


def draw_errors(report: BagReport, path: Path) -> None:
    """Plot the centre's error over time to a file; frames without a pose are marked at zero.

    Raises:
        VisionError: If the bag holds no truth, or the file cannot be written.
    """
    from matplotlib.figure import Figure  # takes a second

    if report.errors is None:
        raise VisionError(
            'the bag holds no true pose of the ring (debug/tip_truth of a virtual rig), so '
            'there is no error to draw'
        )
    figure = Figure(figsize=(10, 4), layout='constrained')
    axes = figure.add_subplot(xlabel='time [s]', ylabel='error of the centre [mm]', ylim=(0, None))
    axes.plot(
        report.times_s,
        1e3 * report.centre_errors_m,
        '.-',
        linewidth=0.6,
        label=f'{report.poses} poses in {report.frames} frames',
    )
    missing = report.times_s[np.isnan(report.centre_errors_m)]
    axes.plot(
        missing,
        np.zeros(len(missing)),
        'rx',
        label=f'{len(missing)} frames without pose or truth',
        clip_on=False,
    )
    axes.legend()
    axes.set_ylim(0, None)
    try:
        figure.savefig(path)
    except OSError as error:
        raise VisionError(f'{path} cannot be written: {error.strerror}') from error


def _without_numbers(reason: str) -> str:
    return ' '.join('#' if any(c.isdigit() for c in word) else word for word in reason.split())
