"""How well rings are found: masks, poses, and whether the covariance tells the truth."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from soft_arm_vision.ring_detector import Detection

MATCHING_IOU = 0.5
MIN_VISIBLE_SHARE = 0.25


@dataclass(frozen=True)
class PoseErrors:
    """Errors of n poses.

    Attributes:
        centre_m: Distances from the true centre, shape (n,).
        axis_rad: Angles from the true axis, its sign left aside, shape (n,).
        normalised: Squared centre errors by their covariance, shape (n,); chi-square of 3 degrees of freedom if that is right.
    """

    centre_m: np.ndarray
    axis_rad: np.ndarray
    normalised: np.ndarray

    def summary(self) -> dict[str, float | None]:
        """Numbers by name; None without a pose."""
        if len(self.centre_m) == 0:
            return dict.fromkeys(('centre_mean_m', 'centre_p95_m', 'axis_mean_rad', 'normalised_mean', 'chi2_p'))
        return {
            'centre_mean_m': float(self.centre_m.mean()),
            'centre_p95_m': float(np.percentile(self.centre_m, 95)),
            'axis_mean_rad': float(self.axis_rad.mean()),
            'normalised_mean': float(self.normalised.mean()),
            'chi2_p': float(stats.kstest(self.normalised, stats.chi2(3).cdf).pvalue),
        }


def pose_errors(detections: list[Detection], T_optical_ring: list[np.ndarray]) -> PoseErrors:
    """Errors of the detections that found a pose."""
    rows = []
    for detection, T in zip(detections, T_optical_ring, strict=True):
        if detection.fit is not None:
            error = detection.fit.centre - T[:3, 3]
            cosine = min(1.0, abs(float(detection.fit.axis @ T[:3, 2])))
            normalised = error @ np.linalg.solve(detection.fit.covariance[:3, :3], error)
            rows.append((np.linalg.norm(error), np.arccos(cosine), normalised))
    return PoseErrors(*np.array(rows).reshape(-1, 3).T)


def mask_overlap(found: np.ndarray, truth: np.ndarray) -> float:
    """Intersection over union of two masks, 0 if both are empty."""
    return float((found & truth).sum() / max((found | truth).sum(), 1))
