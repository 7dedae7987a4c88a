"""Virtual camera square to the finger's bending plane: colour and depth, with lens distortion."""

import cv2
import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_description.robot import Robot
from soft_arm_sim.cameras.depth_noise import DepthNoise
from soft_arm_sim.cameras.finger_scene import finger_scene, scene_poses
from soft_arm_sim.cameras.offscreen import Offscreen
from soft_arm_sim.cameras.parameters import FingerCameraParameters
from soft_arm_sim.errors import SimulationError

FINER = 2  # pinhole pixels per sensor pixel, each way: a pixel sees an area, not a point
UNDISTORTION = cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 40, 1e-10  # iterations, error


class FingerCamera:
    """Renders a finer pinhole picture and distorts it as the lens does.

    Use and `close` it in the thread that made it (OpenGL).

    Args:
        robot: Robot file of the finger, with `cut_lines`.
        parameters: Intrinsics, lens, mounting and noise.
        seed: Draws the noise.

    Raises:
        SimulationError: If the robot is not a finger with painted lines, or OpenGL is missing.
    """

    def __init__(self, robot: Robot, parameters: FingerCameraParameters, seed: int = 0):
        self.parameters, self._robot = parameters, robot
        image = parameters.image
        self._maps, pinhole, (width_px, height_px) = _lens(parameters)
        model = finger_scene(robot, parameters, width_px, height_px, pinhole)
        self._data = mujoco.MjData(model)
        self._model, self._view = model, Offscreen(model, 'colour', width_px, height_px)
        self._noise = DepthNoise(parameters.noise, (image.height_px, image.width_px), seed)

    def capture(self, T_base_backbone: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # noqa: N803
        """Render one frame of the finger.

        Args:
            T_base_backbone: Poses along the finger in its base at the ends of all sections,
                shape (n, 4, 4).

        Returns:
            Colour (h, w, 3) uint8, and depth aligned to it, (h, w) uint16 [mm], 0 = none.
        """
        rgb, depth_m = self.capture_truth(T_base_backbone)
        return self._noise.colour(rgb), self._noise.depth(depth_m)

    def capture_truth(self, T_base_backbone: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # noqa: N803
        """Render the same frame without noise; depth is float32 [m]."""
        backbone = np.asarray(T_base_backbone, dtype=float)
        count = 1 + sum(segment.sections for segment in self._robot.segments)
        if backbone.shape != (count, 4, 4) or not np.isfinite(backbone).all():
            raise SimulationError(
                f'backbone of shape {backbone.shape}: give {count} finite poses (4, 4), of the '
                'base and the end of every section'
            )
        poses = scene_poses(self._robot, backbone)
        self._data.mocap_pos[:] = poses[:, :3, 3]
        # MuJoCo has w first.
        self._data.mocap_quat[:] = np.roll(
            Rotation.from_matrix(poses[:, :3, :3]).as_quat(), 1, axis=1
        )
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)
        fine_rgb, fine_depth_m = self._view.draw(self._data)
        # Colour is averaged over a sensor pixel's area, then moved to where the lens shows it.
        # Depth is not averaged: the noise model treats its borders.
        rgb = cv2.remap(
            cv2.blur(fine_rgb, (FINER, FINER), anchor=(0, 0)),
            self._maps[0],
            self._maps[1],
            cv2.INTER_LINEAR,
        )
        return rgb, cv2.remap(fine_depth_m, self._maps[2], self._maps[3], cv2.INTER_NEAREST)

    def close(self) -> None:
        """Free the OpenGL context."""
        self._view.close()


def _lens(
    parameters: FingerCameraParameters,
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray, tuple[int, int]]:
    """Return the finer pinhole picture's maps (u, v of colour, of depth), matrix (3, 3), size."""
    image, lens = parameters.image, np.array(parameters.distortion.opencv)
    shape, zero = (image.height_px, image.width_px), np.zeros(3)
    pixels = np.dstack(np.meshgrid(*map(np.arange, shape[::-1]))).reshape(-1, 1, 2).astype(float)
    rays = cv2.undistortPoints(pixels, image.camera_matrix, lens, criteria=UNDISTORTION)
    again = cv2.projectPoints(
        cv2.convertPointsToHomogeneous(rays), zero, zero, image.camera_matrix, lens
    )[0]
    if not np.abs(again - pixels).max() < 0.01:
        raise SimulationError(
            f'the lens {parameters.distortion} folds the picture: give smaller coefficients'
        )
    straight = rays[:, 0] * (image.fx_px, image.fy_px)
    low, high = np.floor(straight.min(axis=0)) - 1, np.ceil(straight.max(axis=0)) + 1
    size = (FINER * (high - low)).astype(int) + 1
    fine = FINER * (straight - low)
    pinhole = np.diag([FINER * image.fx_px, FINER * image.fy_px, 1.0])
    pinhole[:2, 2] = -FINER * low
    u, v = (fine[:, i].reshape(shape).astype(np.float32) for i in (0, 1))
    middle = (FINER - 1) / 2  # pixel i of cv2.blur above is the mean of i .. i + FINER - 1
    return (u - middle, v - middle, u, v), pinhole, (int(size[0]), int(size[1]))
