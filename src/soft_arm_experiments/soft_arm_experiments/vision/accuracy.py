"""Score detections of rings: masks, poses, and the consistency of the covariance."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from soft_arm_vision.clouds.cylinder import perpendiculars
from soft_arm_vision.ring.detector import Detection
from soft_arm_vision.ring.fit import RingFit
from soft_arm_vision.segmentation.candidate import Candidate

MATCHING_IOU = 0.5
MIN_VISIBLE_SHARE = 0.25


@dataclass(frozen=True)
class PoseErrors:
    """Errors of n poses.

    Attributes:
        centre_m: Distances from the true centre, shape (n,).
        axis_rad: Angles from the true axis, whatever its sign, shape (n,).
        normalised: Squared centre errors normalised by their covariance, shape (n,); chi-square
            with 3 degrees of freedom if the covariance is right.
        pose_normalised: The same for centre and axis, shape (n,); chi-square with 5 degrees of
            freedom. Both are NaN where the pose states no covariance.
    """

    centre_m: np.ndarray
    axis_rad: np.ndarray
    normalised: np.ndarray
    pose_normalised: np.ndarray

    def summary(self) -> dict[str, float | None]:
        """Return the figures by name; each is None without a pose, or without a covariance.

        If the covariance is right, the normalised squared error of the centre is 3 on average and
        that of the pose 5, and 95 % of them lie `within_95`: in the region that it states.
        """
        found: dict[str, float | None] = {
            'centre_mean_m': _mean(self.centre_m),
            'centre_p95_m': None,
            'axis_mean_rad': _mean(self.axis_rad),
        }
        if len(self.centre_m):
            found['centre_p95_m'] = float(np.percentile(self.centre_m, 95))
        for what, squares, freedom in (
            ('', self.normalised, 3),
            ('pose_', self.pose_normalised, 5),
        ):
            known, expected = squares[np.isfinite(squares)], stats.chi2(freedom)
            found[f'{what}normalised_mean'] = _mean(known)
            found[f'{what}within_95'] = _mean(known < expected.ppf(0.95))
            found[f'{what}chi2_p'] = (
                float(stats.kstest(known, expected.cdf).pvalue) if len(known) else None
            )
        return found


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def pose_errors(detections: list[Detection], T_optical_ring: list[np.ndarray]) -> PoseErrors:
    """Return the errors of the detections that have a pose."""
    rows = []
    for detection, T in zip(detections, T_optical_ring, strict=True):
        if detection.fit is not None:
            fit, axis = detection.fit, T[:3, 2] * np.sign(T[:3, 2] @ detection.fit.axis)
            error = fit.centre - T[:3, 3]
            normalised = _normalised(error, fit.covariance[:3, :3])
            angle = np.arccos(min(1.0, float(fit.axis @ axis)))
            rows.append(
                (np.linalg.norm(error), angle, normalised, _pose_normalised(fit, T[:3, 3], axis))
            )
    return PoseErrors(*np.array(rows).reshape(-1, 4).T)


def _pose_normalised(fit: RingFit, centre: np.ndarray, axis: np.ndarray) -> float:
    """Return the normalised squared error of the pose, without the rotation about the axis."""
    five = np.zeros((5, 6))
    five[:3, :3], five[3:, 3:] = np.eye(3), perpendiculars(fit.axis)
    error = five @ np.concatenate([centre - fit.centre, np.cross(fit.axis, axis)])
    return _normalised(error, five @ fit.covariance @ five.T)


def _normalised(error: np.ndarray, covariance: np.ndarray) -> float:
    """Return an error's square over its covariance; NaN if that is not positive definite."""
    try:
        root = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return np.nan
    return float(np.square(np.linalg.solve(root, error)).sum())


def candidate_overlap(instance: Candidate, truth: np.ndarray) -> float:
    """Return `mask_overlap` of a candidate and a mask of the whole image."""
    return mask_overlap(instance.mask_in(slice(0, truth.shape[0]), slice(0, truth.shape[1])), truth)


def mask_overlap(found: np.ndarray, truth: np.ndarray) -> float:
    """Return the intersection over union of two masks, 0 if both are empty."""
    return float((found & truth).sum() / max((found | truth).sum(), 1))
