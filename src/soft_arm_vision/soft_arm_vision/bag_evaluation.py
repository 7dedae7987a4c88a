"""A recorded bag through the pipeline, offline: the same bag gives the same numbers."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from soft_arm_vision.accuracy import pose_errors
from soft_arm_vision.arc_prior import expected_axis
from soft_arm_vision.bag_frames import read_frames, read_truth
from soft_arm_vision.ring_detector import RingDetector

TRUTH_GAP_NS = 50_000_000  # truth farther away in time is none


@dataclass(frozen=True)
class BagReport:
    """What a bag showed.

    Attributes:
        frames, poses: Numbers of pairs and of poses found.
        reasons: How often each reason stood against a pose, numbers in it left out.
        recorded_s, computed_s: Length of the recording and time taken for it.
        errors: As `accuracy.PoseErrors.summary`; None without truth.
    """

    frames: int
    poses: int
    reasons: dict[str, int]
    recorded_s: float
    computed_s: float
    errors: dict[str, float | None] | None


def evaluate(bag: Path, detector: RingDetector, T_base_camera: np.ndarray, report: Callable[[], None] = lambda: None) -> BagReport:
    """Run a bag through a detector.

    Args:
        bag: Folder of the bag.
        detector: A new one, so that the result is the bag's alone.
        T_base_camera: Extrinsics, shape (4, 4); the error report holds their error too.
        report: Called after every frame.
    """
    truth_ns, T_base_ring = read_truth(bag)
    stamps_ns, detections, reasons, begin = [], [], Counter(), perf_counter()
    for frame in read_frames(bag):
        detection = detector.detect(frame.rgb, frame.depth, frame.intrinsics, lambda centre: expected_axis(centre, T_base_camera))
        stamps_ns.append(frame.stamp_ns)
        detections.append(detection)
        if detection.fit is None:
            reasons[_without_numbers(detection.reason)] += 1
        report()
    computed_s, errors = perf_counter() - begin, None
    if len(truth_ns) and stamps_ns:
        nearest = np.array([int(np.argmin(np.abs(truth_ns - s))) for s in stamps_ns])
        known = np.flatnonzero(np.abs(truth_ns[nearest] - stamps_ns) < TRUTH_GAP_NS)
        T_camera_base = np.linalg.inv(T_base_camera)
        errors = pose_errors([detections[i] for i in known], [T_camera_base @ T_base_ring[nearest[i]] for i in known]).summary()
    recorded_s = (max(stamps_ns) - min(stamps_ns)) * 1e-9 if stamps_ns else 0.0
    poses = sum(d.fit is not None for d in detections)
    return BagReport(len(detections), poses, dict(reasons.most_common()), recorded_s, computed_s, errors)


def _without_numbers(reason: str) -> str:
    return ' '.join('#' if any(c.isdigit() for c in word) else word for word in reason.split())
