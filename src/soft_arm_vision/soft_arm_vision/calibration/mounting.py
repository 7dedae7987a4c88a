"""Pose of a camera in the arm's base frame: poses and covariances in files."""

from dataclasses import dataclass

import numpy as np
from pydantic import model_validator
from scipy.spatial.transform import Rotation

from soft_arm_io.fields import Number, Strict, Word

Vector = tuple[Number, Number, Number]


@dataclass(frozen=True)
class Mounting:
    """Pose of the camera of a calibration file, and its uncertainty.

    Attributes:
        T_base_camera: Pose of the optical frame in the base frame, shape (4, 4).
        base_frame, camera_frame: Names of the two frames.
        middle_m, covariance, scale: As in `Extrinsics`.
    """

    T_base_camera: np.ndarray
    base_frame: Word
    camera_frame: Word
    middle_m: np.ndarray
    covariance: np.ndarray
    scale: float

    def in_base(
        self, T_camera_tip: np.ndarray, covariance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a pose (4, 4) and its covariance (6, 6) [m, rad] in the base frame.

        Args:
            T_camera_tip: The pose in the optical frame, shape (4, 4).
            covariance: Of position and rotation about the optical frame's axes; what is not known
                of the camera's pose is added.
        """
        T = self.T_base_camera @ T_camera_tip
        both = np.kron(np.eye(2), self.T_base_camera[:3, :3])
        return T, both @ covariance @ both.T + self.covariance_at(T[:3, 3])

    def covariance_at(self, position_m: np.ndarray) -> np.ndarray:
        """Return what the calibration adds to the covariance (6, 6) of a pose at a position [m].

        A wrong rotation moves a place by `omega x (place - middle)`; a depth scale that the pose
        does not correct moves it along `place - middle`. At the middle of the calibration's points
        both vanish.
        """
        x, y, z = position_m - self.middle_m
        lever = np.eye(6)
        lever[:3, 3:] = [[0, z, -y], [-z, 0, x], [y, -x, 0]]
        covariance = lever @ self.covariance @ lever.T
        covariance[:3, :3] += (self.scale - 1) ** 2 * np.outer((x, y, z), (x, y, z))
        return covariance


class Pose(Strict):
    """A pose in a calibration file."""

    position_m: Vector
    q_xyzw: tuple[Number, Number, Number, Number]

    @model_validator(mode='after')
    def _check(self) -> 'Pose':
        if abs(np.linalg.norm(self.q_xyzw) - 1) > 1e-3:
            raise ValueError(f'q_xyzw {self.q_xyzw} is not a rotation: its norm is not 1')
        return self

    @property
    def matrix(self) -> np.ndarray:
        """The same as a matrix, shape (4, 4)."""
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = Rotation.from_quat(self.q_xyzw).as_matrix(), self.position_m
        return T


def pose_of(T: np.ndarray) -> Pose:
    """Return a pose (4, 4) for a calibration file, rounded."""
    return Pose.model_validate(
        {
            'position_m': rounded(T[:3, 3]),
            'q_xyzw': rounded(Rotation.from_matrix(T[:3, :3]).as_quat(), 9),
        }
    )


def is_covariance(rows: tuple[tuple[float, ...], ...]) -> bool:
    """Return whether rows are a covariance of position and rotation, shape (6, 6)."""
    covariance = np.array(rows)
    return covariance.shape == (6, 6) and bool(np.linalg.eigvalsh(covariance).min() > -1e-12)


def rounded(values: np.ndarray, digits: int = 7) -> list[float]:
    """Return values rounded to a number of digits."""
    return [round(float(v), digits) for v in values]
