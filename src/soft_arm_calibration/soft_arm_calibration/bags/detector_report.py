"""Statistics of the tip detector in one bag: poses, reasons, errors and labels."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from soft_arm_calibration.bags.accuracy import AxisPose, pose_errors
from soft_arm_calibration.bags.bag_frames import BagPoses
from soft_arm_calibration.bags.labels import LabelledResult, beside_labels, read_labels
from soft_arm_calibration.bags.recorded import Tips
from soft_arm_calibration.bags.track import Track
from softarm_cli.bags.file import Bag


@dataclass(frozen=True)
class DetectorReport:
    """Results of the detector, or of recorded poses, in one bag.

    Attributes:
        frames, poses: Numbers of frames, and of poses found in them; the same for recorded poses.
        reasons: Number of frames without a pose by reason; numbers in the reason are removed.
        errors: As `accuracy.PoseErrors.summary`, in the base frame; None without true poses.
        labelled: Comparison with the bag's labels; None without labels or images.
    """

    frames: int
    poses: int
    reasons: dict[str, int]
    errors: dict[str, float | None] | None
    labelled: LabelledResult | None


def detector_report(bag: Bag, tips: Tips, truth: BagPoses) -> DetectorReport:
    """Compare tips with the true poses and with the labels of the bag.

    Raises:
        VisionError: If the labels cannot be read.
    """
    errors, labelled = None, None
    if len(truth.stamps_ns) and len(tips.stamps_ns):
        known, T_truth = _truth_at(tips.stamps_ns, truth)
        poses = [
            AxisPose(T[:3, 3], T[:3, 2], covariance)
            for T, covariance in zip(tips.T, tips.covariances, strict=True)
        ]
        errors = pose_errors([poses[i] for i in known], T_truth).summary()
    if tips.detections and (labels := read_labels(bag.path)) is not None:
        labelled = beside_labels(tips.detections, labels)
    reasons = Counter(map(_without_numbers, tips.misses))
    found = len(tips.stamps_ns)
    return DetectorReport(
        found + len(tips.misses), found, dict(reasons.most_common()), errors, labelled
    )


def as_plain(report: DetectorReport) -> dict[str, Any]:
    """Return the report for JSON."""
    labelled = report.labelled and vars(report.labelled) | {'faults': report.labelled.faults}
    return vars(report) | {'labelled': labelled}


def as_lines(report: DetectorReport) -> list[str]:
    """Return the report for people."""
    lines = [f'{report.poses} poses in {report.frames} frames']
    lines += [f'  {count:4d}  {reason}' for reason, count in report.reasons.items()]
    errors = report.errors or {}
    mean_m, p95_m, axis_rad = (
        errors.get(name) for name in ('centre_mean_m', 'centre_p95_m', 'axis_mean_rad')
    )
    if mean_m is not None and p95_m is not None and axis_rad is not None:
        lines.append(
            f'error of the centre {1e3 * mean_m:.3f} mm mean, {1e3 * p95_m:.3f} mm p95; of the '
            f'axis {np.degrees(axis_rad):.2f} deg mean'
        )
        normalised, p = errors['normalised_mean'], errors['chi2_p']
        if normalised is None or p is None:
            lines.append('the poses state no covariance')
        else:
            lines.append(
                f'normalised squared error of the centre {normalised:.1f} (3 if the covariance is '
                f'right), chi-square test p = {p:.3f}'
            )
    if report.labelled is not None:
        lines += report.labelled.as_lines()
    return lines


def _truth_at(stamps_ns: np.ndarray, truth: BagPoses) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the indices of stamps with a true pose near enough in time, and the true poses.

    The position is interpolated; the axis is taken from the nearest pose.
    """
    inside, points_m = Track.of(truth.stamps_ns, truth.T[:, :3, 3]).at(stamps_ns)
    known = np.flatnonzero(inside)
    found = []
    for i in known:
        T = truth.T[np.abs(truth.stamps_ns - stamps_ns[i]).argmin()].copy()
        T[:3, 3] = points_m[i]
        found.append(T)
    return known, found


def _without_numbers(reason: str) -> str:
    return ' '.join('#' if any(c.isdigit() for c in word) else word for word in reason.split())
