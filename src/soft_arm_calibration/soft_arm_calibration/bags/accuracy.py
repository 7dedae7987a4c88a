"""Score detections of rings: masks, poses, and the consistency of the covariance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy import stats

from soft_arm_vision.clouds.cylinder import perpendiculars
from soft_arm_vision.segmentation.candidate import Candidate

MATCHING_IOU = 0.5
MIN_VISIBLE_SHARE = 0.25


class HasAxis(Protocol):
    """A pose without the rotation about its axis: `RingFit` or `AxisPose`."""

    @property
    def centre(self) -> np.ndarray:
        """Position [m], shape (3,)."""

    @property
    def axis(self) -> np.ndarray:
        """Unit vector, shape (3,)."""

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of position and rotation [m, rad], shape (6, 6)."""


class AxisPose(NamedTuple):
    """See `HasAxis`."""

    centre: np.ndarray
    axis: np.ndarray
    covariance: np.ndarray


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

        With a correct covariance the normalised squared error is 3 on average for the centre, 2.37
        in the median, and 5 and 4.35 for the pose; 95 % of the errors lie in the confidence region
        (`within_95`).
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
            found[f'{what}normalised_median'] = float(np.median(known)) if len(known) else None
            found[f'{what}within_95'] = _mean(known < expected.ppf(0.95))
            found[f'{what}chi2_p'] = (
                float(stats.kstest(known, expected.cdf).pvalue) if len(known) else None
            )
        return found


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def pose_errors(poses: Sequence[HasAxis | None], T_true: Sequence[np.ndarray]) -> PoseErrors:
    """Return the errors of the poses that are not None; T_true (4, 4), in the same frame."""
    rows = []
    for pose, T in zip(poses, T_true, strict=True):
        if pose is not None:
            axis = T[:3, 2] * np.sign(T[:3, 2] @ pose.axis)
            error = pose.centre - T[:3, 3]
            normalised = _normalised(error, pose.covariance[:3, :3])
            angle = np.arccos(min(1.0, float(pose.axis @ axis)))
            rows.append(
                (np.linalg.norm(error), angle, normalised, _pose_normalised(pose, T[:3, 3], axis))
            )
    return PoseErrors(*np.array(rows).reshape(-1, 4).T)


def _pose_normalised(pose: HasAxis, centre: np.ndarray, axis: np.ndarray) -> float:
    """Return the normalised squared error of the pose, without the rotation about the axis."""
    five = np.zeros((5, 6))
    five[:3, :3], five[3:, 3:] = np.eye(3), perpendiculars(pose.axis)
    error = five @ np.concatenate([centre - pose.centre, np.cross(pose.axis, axis)])
    return _normalised(error, five @ pose.covariance @ five.T)


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
