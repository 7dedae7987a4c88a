"""Pose of the camera in the arm's base frame from corresponding points, with its uncertainty."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator
from scipy.spatial.transform import Rotation

from soft_arm_description.calibration import Measurement, Values, load_calibration
from soft_arm_description.rig import Devices, Rig
from soft_arm_description.robot import Robot
from soft_arm_io.fields import Number, Word
from soft_arm_vision.calibration.mounting import (
    Mounting,
    Pose,
    Vector,
    is_covariance,
    pose_of,
    rounded,
)
from soft_arm_vision.errors import VisionError

MIN_POINTS = 9
MIN_SPREAD_M = (
    0.040  # second singular value of one set's points, about sqrt(9) times their spread across
)
MAX_RESIDUAL_M = 2.5e-3  # root mean square
OUTLIER_FLOOR_M = 3e-3  # closer than this is never an outlier
MAX_OUTLIER_SHARE = 0.2
MAX_SCALE_ERROR = 0.03


class CalibrationRefused(VisionError):
    """A point set that would give a wrong pose of the camera; one line with the remedy."""


@dataclass(frozen=True)
class Extrinsics:
    """Pose of the camera's optical frame in the arm's base frame.

    Attributes:
        T_base_camera: The pose, shape (4, 4).
        residual_m: Root mean square distance of the kept points [m] (fiducial registration error).
        leave_one_out_m: The same for points left out of the fit, place by place [m]: the error to
            expect at a target between the points.
        middle_m: Mean of the kept points in the base frame, shape (3,).
        covariance: Covariance of the base position at that middle and of the rotation, about the
            axes of the base frame [m, rad], shape (6, 6).
        scale: Size of the camera's points against the true ones: a diagnostic of the depth scale,
            not part of the pose.
        points: Number of points kept.
        kept: Which points were kept, shape (n,), bool.
        residuals_m: Distance of every point [m], shape (n,).
    """

    T_base_camera: np.ndarray
    residual_m: float
    leave_one_out_m: float
    middle_m: np.ndarray
    covariance: np.ndarray
    scale: float
    points: int
    kept: np.ndarray
    residuals_m: np.ndarray

    @property
    def position_sigma_m(self) -> np.ndarray:
        """Standard deviation of the position at the points' middle, per base axis [m], (3,)."""
        return np.sqrt(np.diag(self.covariance)[:3])

    @property
    def rotation_sigma_rad(self) -> np.ndarray:
        """Standard deviation of the rotation about the axes of the base frame [rad], shape (3,)."""
        return np.sqrt(np.diag(self.covariance)[3:])


def register(camera_m: np.ndarray, base_m: np.ndarray) -> np.ndarray:
    """Return the rigid transform (4, 4) that takes camera points (n, 3) to base points (n, 3).

    The sum of squared distances is least (Kabsch); the transform is never a mirror image.
    """
    camera_mean, base_mean = camera_m.mean(axis=0), base_m.mean(axis=0)
    rotation = Rotation.align_vectors(base_m - base_mean, camera_m - camera_mean)[0]
    T = np.eye(4)
    T[:3, :3] = rotation.as_matrix()
    T[:3, 3] = base_mean - T[:3, :3] @ camera_mean
    return T


def transform(T: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return points (n, 3) transformed by a 4x4 pose."""
    return points @ T[:3, :3].T + T[:3, 3]


def solve(camera_m: np.ndarray, base_m: np.ndarray, place: np.ndarray | None = None) -> Extrinsics:
    """Estimate the pose of the camera from corresponding points.

    Args:
        camera_m: Measured points in the optical frame, shape (n, 3).
        base_m: The same points in the base frame, shape (n, 3).
        place: Number of the place (peg) of each point, shape (n,); None: each has its own.

    Raises:
        CalibrationRefused: If there are too few points, they lie on a line, mirror each other, do
            not correspond, or fit badly.
    """
    camera_m, base_m = np.asarray(camera_m, float), np.asarray(base_m, float)
    if camera_m.shape != base_m.shape or camera_m.ndim != 2 or camera_m.shape[1] != 3:
        raise CalibrationRefused(
            f'camera points {camera_m.shape} and base points {base_m.shape}: give (n, 3) of each'
        )
    place = np.arange(len(camera_m)) if place is None else np.asarray(place)
    if not (np.isfinite(camera_m).all() and np.isfinite(base_m).all()):
        raise CalibrationRefused('a coordinate is not a number: measure that point again')
    if len(np.unique(place)) < MIN_POINTS:
        raise CalibrationRefused(
            f'{len(np.unique(place))} places are too few: measure at least {MIN_POINTS}'
        )
    spread_m = _spread_m(base_m, place)
    if spread_m < MIN_SPREAD_M:
        raise CalibrationRefused(
            'the points lie nearly on a line or on one spot: second singular value '
            f'{1e3 * spread_m:.0f} mm, '
            f'at least {1e3 * MIN_SPREAD_M:.0f} mm is needed: spread them over two directions'
        )
    scale = _scale(camera_m, base_m)
    if not 0.5 < scale < 2:
        raise CalibrationRefused(
            f'the camera sees the points {scale:.3g} times as large as they are: check the units, '
            'both are in m'
        )
    kept = np.ones(len(camera_m), bool)
    for _ in range(10):
        T = register(camera_m[kept], base_m[kept])
        residuals = np.linalg.norm(transform(T, camera_m) - base_m, axis=1)
        limit = max(OUTLIER_FLOOR_M, 3.5 * float(np.median(residuals)))
        now = residuals <= limit
        if (now == kept).all():
            break
        kept = now
    share = 1 - kept.mean()
    rms = float(np.sqrt(np.mean(np.square(residuals[kept])))) if kept.any() else np.inf
    scale = _scale(camera_m[kept], base_m[kept]) if kept.any() else scale
    if share <= MAX_OUTLIER_SHARE and rms < 4 * MAX_RESIDUAL_M and abs(scale - 1) > MAX_SCALE_ERROR:
        raise CalibrationRefused(
            f'the camera sees the points {100 * (scale - 1):+.1f} % larger than they are, '
            f'{100 * MAX_SCALE_ERROR:.0f} % is '
            'allowed: check the depth scale and the positions of the places'
        )
    if (
        share > MAX_OUTLIER_SHARE
        or rms > MAX_RESIDUAL_M
        or len(np.unique(place[kept])) < MIN_POINTS - 1
    ):
        raise CalibrationRefused(_why_bad(camera_m, base_m, place, residuals, kept, rms))
    middle_m, covariance = _uncertainty(
        base_m[kept], transform(T, camera_m[kept]) - base_m[kept], place[kept], scale
    )
    left_out_m = _leave_one_out(camera_m[kept], base_m[kept], place[kept])
    return Extrinsics(
        T, rms, left_out_m, middle_m, covariance, scale, int(kept.sum()), kept, residuals
    )


_Positive = Annotated[Number, Field(gt=0)]


class ExtrinsicValues(Values):
    """Numbers of a camera's pose in a calibration file; see `Extrinsics` and `Mounting`."""

    kind: ClassVar[str] = 'extrinsics'
    for_any_robot: ClassVar[bool] = True  # the camera stands where it stands
    base_frame: Word
    camera_frame: Word
    T_base_camera: Pose
    points: int
    outliers: int
    position_sigma_m: Vector
    rotation_sigma_rad: Vector
    middle_m: Vector
    covariance_m_rad: tuple[tuple[Number, Number, Number, Number, Number, Number], ...]
    scale: _Positive

    @model_validator(mode='after')
    def _check(self) -> 'ExtrinsicValues':
        if not is_covariance(self.covariance_m_rad):
            raise ValueError('covariance_m_rad is not a 6 x 6 covariance')
        return self


def values_of(extrinsics: Extrinsics, base_frame: str, camera_frame: str) -> ExtrinsicValues:
    """Return the numbers of a camera's pose for a calibration file, rounded."""
    return ExtrinsicValues.model_validate(
        {
            'base_frame': base_frame,
            'camera_frame': camera_frame,
            'T_base_camera': pose_of(extrinsics.T_base_camera),
            'points': extrinsics.points,
            'outliers': int((~extrinsics.kept).sum()),
            'position_sigma_m': rounded(extrinsics.position_sigma_m),
            'rotation_sigma_rad': rounded(extrinsics.rotation_sigma_rad),
            'middle_m': rounded(extrinsics.middle_m),
            'covariance_m_rad': [[float(f'{v:.4g}') for v in row] for row in extrinsics.covariance],
            'scale': round(extrinsics.scale, 6),
        }
    )


def measurement_of(
    result: Extrinsics, base_m: np.ndarray, devices: Devices, method: str
) -> Measurement:
    """Return the measurement of what `solve` has found from points (n, 3) in the base frame [m]."""
    return Measurement(
        devices=devices,
        method=method,
        residuals={
            'rms_m': round(result.residual_m, 7),
            'leave_one_out_m': round(result.leave_one_out_m, 7),
        },
        limits=limits_m(base_m[result.kept]),
    )


def limits_m(points_m: np.ndarray) -> dict[str, tuple[float, float]]:
    """Return the range of each coordinate of points [m], shape (n, 3), by name."""
    low_m, high_m = points_m.min(axis=0).tolist(), points_m.max(axis=0).tolist()
    return {f'{axis}_m': (low_m[i], high_m[i]) for i, axis in enumerate('xyz')}


def load(rig: Rig, robot: Robot, path: Path | None = None) -> Mounting:
    """Load the pose of a rig's camera.

    Args:
        rig: The rig.
        robot: The robot that is used.
        path: Another file than the rig's.

    Raises:
        CalibrationError: As `load_calibration`.
    """
    values = load_calibration(rig, ExtrinsicValues, robot, path).values
    return Mounting(
        values.T_base_camera.matrix,
        values.base_frame,
        values.camera_frame,
        np.array(values.middle_m),
        np.array(values.covariance_m_rad),
        values.scale,
    )


def _spread_m(points: np.ndarray, place: np.ndarray) -> float:
    """Second singular value of the places' mean points [m]."""
    means = np.stack([points[place == p].mean(axis=0) for p in np.unique(place)])
    return float(np.linalg.svd(means - means.mean(axis=0), compute_uv=False)[1])


def _scale(camera_m: np.ndarray, base_m: np.ndarray) -> float:
    camera, base = camera_m - camera_m.mean(axis=0), base_m - base_m.mean(axis=0)
    return float(np.sqrt(np.square(camera).sum() / np.square(base).sum()))


def _why_bad(
    camera_m: np.ndarray,
    base_m: np.ndarray,
    place: np.ndarray,
    residuals: np.ndarray,
    kept: np.ndarray,
    rms: float,
) -> str:
    mirrored = camera_m * [1, 1, -1]
    mirror = np.median(
        np.linalg.norm(transform(register(mirrored, base_m), mirrored) - base_m, axis=1)
    )
    if mirror < 0.3 * np.median(residuals):
        return (
            'the two point sets are mirror images of each other: one frame is left-handed or an '
            'axis has the wrong sign '
            f'(residual {1e3 * mirror:.1f} mm mirrored, {1e3 * np.median(residuals):.1f} mm as '
            'given)'
        )
    swap = _swapped(camera_m, base_m, place)
    if swap is not None:
        return f'places {swap[0]} and {swap[1]} fit better the other way round: were they swapped?'
    worst = int(np.argmax(residuals))
    return (
        f'bad fit: residual {1e3 * rms:.1f} mm rms ({1e3 * MAX_RESIDUAL_M:.1f} mm allowed), '
        f'{(~kept).sum()} of {len(kept)} points are outliers ({100 * MAX_OUTLIER_SHARE:.0f} % '
        'allowed), '
        f'worst is place {place[worst]} with {1e3 * residuals[worst]:.1f} mm: check the order of '
        'the places and measure again'
    )


def _swapped(camera_m: np.ndarray, base_m: np.ndarray, place: np.ndarray) -> tuple[int, int] | None:
    """Return two places whose exchange makes the whole set fit, or None."""
    places = np.unique(place)
    camera = np.stack([np.median(camera_m[place == p], axis=0) for p in places])
    base = np.stack([base_m[place == p][0] for p in places])
    for i in range(len(places)):
        for j in range(i):
            order = np.arange(len(places))
            order[[i, j]] = order[[j, i]]
            residuals = np.linalg.norm(
                transform(register(camera, base[order]), camera) - base[order], axis=1
            )
            if residuals.max() < 2 * MAX_RESIDUAL_M:
                return int(places[j]), int(places[i])
    return None


def _leave_one_out(camera_m: np.ndarray, base_m: np.ndarray, place: np.ndarray) -> float:
    squared = []
    for p in np.unique(place):
        out = place == p
        T = register(camera_m[~out], base_m[~out])
        squared.append(np.square(transform(T, camera_m[out]) - base_m[out]).sum(axis=1))
    return float(np.sqrt(np.concatenate(squared).mean()))


def _uncertainty(
    base_m: np.ndarray, error_m: np.ndarray, place: np.ndarray, scale: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the places' middle (3,), and the covariance (6, 6) of position there and rotation.

    The points of one place may have a common error (peg, viewing direction), so that the mean
    errors of the places are independent, not the errors of the points. Errors explained by the
    scale do not count.
    """
    places = np.unique(place)
    mean_error_m = np.stack([error_m[place == p].mean(axis=0) for p in places])
    at_m = np.stack([base_m[place == p].mean(axis=0) for p in places])
    lever, n = at_m - at_m.mean(axis=0), len(places)
    # per coordinate: 3n of them less the six unknowns and the scale
    variance = np.square(mean_error_m - (scale - 1) * lever).sum() / (3 * n - 7)
    covariance = np.zeros((6, 6))
    covariance[:3, :3] = variance / n * np.eye(3)
    covariance[3:, 3:] = variance * np.linalg.inv(
        np.square(lever).sum() * np.eye(3) - lever.T @ lever
    )
    return at_m.mean(axis=0), covariance
