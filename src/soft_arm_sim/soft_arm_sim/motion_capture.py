"""Motion-capture system of the virtual rig, which measures a body on the tip."""

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_io.fields import NonNegative, Positive, Strict
from soft_arm_physics.model.world import pose
from soft_arm_physics.parameter_file import Vector3, load_parameters
from soft_arm_sim.cameras.parameters import CONFIG


class Place(Strict):
    """Pose of a frame in another one."""

    position_m: Vector3
    rpy_deg: Vector3

    @property
    def matrix(self) -> np.ndarray:
        """The same as a matrix, shape (4, 4)."""
        return pose(self.position_m, self.rpy_deg)


class MotionCaptureParameters(Strict):
    """Poses of motion-capture frame and body, measurement noise and latency."""

    rate_hz: Positive
    latency_s: NonNegative
    position_sd_m: NonNegative
    rotation_sd_deg: NonNegative
    world_frame: str
    world_in_base: Place
    body_in_tip: Place


def load_motion_capture(
    path: str | Path = CONFIG / 'motion_capture.yaml',
) -> MotionCaptureParameters:
    """Read a file; see `parameter_file.load_parameters` for errors."""
    return load_parameters(MotionCaptureParameters, path)


class VirtualMotionCapture:
    """Measures the body on a tip.

    Args:
        parameters: Of the system.
        seed: Draws its noise.
    """

    def __init__(self, parameters: MotionCaptureParameters, seed: int):
        self.parameters, self._random = parameters, np.random.default_rng([seed, 6])
        self._T_world_base = np.linalg.inv(parameters.world_in_base.matrix)
        self._T_tip_body = parameters.body_in_tip.matrix

    def measured(self, T_base_tip: np.ndarray) -> np.ndarray:
        """Return the measured pose of the body in the system's frame, (4, 4), of a true tip."""
        p = self.parameters
        T = self._T_world_base @ T_base_tip @ self._T_tip_body
        noise_rad = np.deg2rad(p.rotation_sd_deg) * self._random.standard_normal(3)
        T[:3, :3] = Rotation.from_rotvec(noise_rad).as_matrix() @ T[:3, :3]
        T[:3, 3] += p.position_sd_m * self._random.standard_normal(3)
        return T
