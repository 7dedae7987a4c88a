"""White board of known size before a dark wall, seen by the virtual camera."""

from collections.abc import Iterator

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_sim.cameras.camera import Frame
from soft_arm_sim.cameras.depth_noise import DepthNoise
from soft_arm_sim.cameras.offscreen import Offscreen
from soft_arm_sim.cameras.parameters import CameraParameters
from soft_arm_sim.cameras.stereo import StereoDepth, add_cameras

BOARD_M = 0.297, 0.210  # a sheet of A4
MIN_DISTANCE_M, MAX_DISTANCE_M = 0.45, 0.95
WALL_BEHIND_M = 0.3
MAX_TILT_DEG = 30.0  # about the rows and the columns of the image
# About the optical axis: an edge along a row would be known to the pixel only, without smoothing.
TURN_DEG = 4.0, 10.0
SIDE_SHARE = 0.08  # largest offset from the optical axis over the distance
HALF_THICKNESS_M = 1e-5  # thin: visible sides would enlarge the board
_GEOM = mujoco.mjtGeom


def board_frames(
    parameters: CameraParameters, count: int, seed: int = 0
) -> Iterator[tuple[Frame, np.ndarray]]:
    """Yield frames of the board at distances from `MIN_DISTANCE_M` to `MAX_DISTANCE_M`, tilted.

    Args:
        parameters: Intrinsics, and noise or stereo pair.
        count: Number of frames.
        seed: Draws the poses and the noise.

    Yields:
        The camera's frame, and the board's true pose in the optical frame, shape (4, 4).

    Raises:
        SimulationError: If OpenGL is missing.
    """
    image, random = parameters.image, np.random.default_rng([seed, 7])
    model = board_scene(parameters)
    data = mujoco.MjData(model)
    noise = DepthNoise(parameters.noise, (image.height_px, image.width_px), seed)
    view = Offscreen(model, 'colour', image.width_px, image.height_px)
    stereo = (
        None if parameters.stereo is None else StereoDepth(model, parameters, view.option, seed)
    )
    try:
        for distance_m in np.linspace(MIN_DISTANCE_M, MAX_DISTANCE_M, count):
            T_optical_board = _pose(random, float(distance_m))
            move_board(data, T_optical_board)
            mujoco.mj_forward(model, data)
            rgb, depth_m = view.draw(data)
            depth = noise.depth(depth_m) if stereo is None else stereo.depth(data)
            yield Frame(noise.colour(rgb), depth), T_optical_board
    finally:
        view.close()
        if stereo is not None:
            stereo.close()


def board_scene(parameters: CameraParameters) -> mujoco.MjModel:
    """Compile board and wall; the world is the optical frame of the camera `colour`."""
    spec = mujoco.MjSpec()
    for name in ('board', 'wall'):
        spec.worldbody.add_body(name=name, mocap=True)
    spec.body('board').add_geom(
        type=_GEOM.mjGEOM_BOX,
        size=[BOARD_M[0] / 2, BOARD_M[1] / 2, HALF_THICKNESS_M],
        rgba=[0.9, 0.9, 0.9, 1],
    )
    spec.body('wall').add_geom(type=_GEOM.mjGEOM_BOX, size=[3, 3, 1e-3], rgba=[0.25, 0.25, 0.25, 1])
    spec.worldbody.add_light(pos=[0, -1, -1], dir=[0, 0.5, 1], diffuse=[0.4] * 3)
    add_cameras(spec, np.eye(4), parameters)
    return spec.compile()


def move_board(data: mujoco.MjData, T_optical_board: np.ndarray) -> None:
    """Place the board in the optical frame, (4, 4), and the wall behind it."""
    data.mocap_pos[0] = T_optical_board[:3, 3]
    data.mocap_quat[0] = Rotation.from_matrix(T_optical_board[:3, :3]).as_quat()[[3, 0, 1, 2]]
    data.mocap_pos[1] = 0, 0, T_optical_board[2, 3] + WALL_BEHIND_M
    data.mocap_quat[1] = 1, 0, 0, 0


def _pose(random: np.random.Generator, distance_m: float) -> np.ndarray:
    T = np.eye(4)
    tilt = random.uniform(-MAX_TILT_DEG, MAX_TILT_DEG, 2)
    turn = *tilt, random.choice((-1, 1)) * random.uniform(*TURN_DEG)
    T[:3, :3] = Rotation.from_euler('xyz', turn, degrees=True).as_matrix()
    T[:3, 3] = distance_m * np.append(random.uniform(-SIDE_SHARE, SIDE_SHARE, 2), 1.0)
    return T
