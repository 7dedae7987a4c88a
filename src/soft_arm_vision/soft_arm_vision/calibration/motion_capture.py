"""Pose of the tip from another system that measures it, such as motion capture."""

from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from soft_arm_description.calibration import Values
from soft_arm_io.fields import Number, Word
from soft_arm_vision.calibration.mounting import Mounting, Pose, is_covariance
from soft_arm_vision.tip_tracker import TipSight

_Vector = tuple[Number, Number, Number]
_Row = tuple[Number, Number, Number, Number, Number, Number]


class MotionCapture(Values):
    """Poses of mocap frame and body, measurement noise, latency.

    Attributes:
        base_frame, world_frame: Frames of the arm's base, and of the measured poses.
        T_base_world: Pose of the system's frame in the base frame.
        T_body_tip: Pose of the tip in the frame of the body.
        latency_s: Age of a pose at its stamp [s]; 0 for a system that stamps the exposure.
        position_sd_m, rotation_sd_rad: Noise of a pose on each axis.
        middle_m, covariance_m_rad: As in `Extrinsics`.
    """

    kind: ClassVar[str] = 'motion_capture'
    for_any_robot: ClassVar[bool] = True  # the system stands where it stands
    base_frame: Word
    world_frame: Word
    T_base_world: Pose
    T_body_tip: Pose
    latency_s: Annotated[Number, Field(ge=-1, le=1)]
    position_sd_m: Annotated[Number, Field(gt=0, le=0.1)]
    rotation_sd_rad: Annotated[Number, Field(gt=0, le=1)]
    middle_m: _Vector
    covariance_m_rad: tuple[_Row, ...]

    @model_validator(mode='after')
    def _check(self) -> Self:
        if not is_covariance(self.covariance_m_rad):
            raise ValueError('covariance_m_rad is not a 6 x 6 covariance')
        return self

    def sight(self, T_world_body: np.ndarray) -> TipSight:
        """Return the tip of a measured pose of the body, (4, 4)."""
        mounting = Mounting(
            self.T_base_world.matrix,
            self.base_frame,
            self.world_frame,
            np.array(self.middle_m),
            np.array(self.covariance_m_rad),
            1.0,
        )
        T = T_world_body @ self.T_body_tip.matrix
        x, y, z = T[:3, 3] - T_world_body[:3, 3]
        lever = np.eye(6)  # a wrong turn of the body moves the tip
        lever[:3, 3:] = [[0, z, -y], [-z, 0, x], [y, -x, 0]]
        sd = np.repeat((self.position_sd_m, self.rotation_sd_rad), 3)
        return TipSight(*mounting.in_base(T, lever @ np.diag(sd**2) @ lever.T))
