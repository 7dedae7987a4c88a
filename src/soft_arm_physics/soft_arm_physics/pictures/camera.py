"""Pictures of a simulation, off screen: smooth bodies, a floor with squares, sky and shadows."""

from pathlib import Path
from types import TracebackType
from typing import Self

import cv2
import mujoco
import numpy as np

from soft_arm_physics.errors import PhysicsError
from soft_arm_physics.pictures.skin import add_skins
from soft_arm_physics.simulation import Simulation

HIDDEN_GROUP = 5
VIEW = {'azimuth': 125.0, 'elevation': -18.0}  # [deg], where no camera of the world is named
FOVY_DEG = 45.0


class Camera:
    """Looks at a simulation; use it as a context manager, in the thread that made it (OpenGL).

    Args:
        simulation: What it looks at.
        camera: A camera of the world file; None: one that sees all robots and objects.
        width_px, height_px: Size of the pictures; None: the camera's, or 640 x 480.

    Raises:
        PhysicsError: If the camera is unknown, or OpenGL is missing.
    """

    def __init__(
        self,
        simulation: Simulation,
        camera: str | None = None,
        width_px: int | None = None,
        height_px: int | None = None,
    ):
        known = {item.name: item for item in simulation.world.cameras}
        if camera is not None and camera not in known:
            names = ', '.join(known) or 'none'
            raise PhysicsError(f'the world has no camera {camera!r}: there are {names}')
        named = known.get(camera or '')
        self.width_px = width_px or (named.width_px if named else 640)
        self.height_px = height_px or (named.height_px if named else 480)
        self._simulation = simulation
        self._model = _looks(simulation, self.width_px, self.height_px)
        self._data = mujoco.MjData(self._model)
        self._option = mujoco.MjvOption()
        self._option.geomgroup[:] = [1, 1, 1, 0, 0, 0]
        self._view = _fixed(self._model, camera) if camera else _overview(simulation)
        try:
            self._renderer = mujoco.Renderer(self._model, self.height_px, self.width_px)
        except Exception as error:  # each back end of OpenGL has its own
            raise PhysicsError(
                'no OpenGL to draw pictures with: apt-get install libegl1 libgl1-mesa-dri, and '
                f'set MUJOCO_GL=egl ({" ".join(str(error).split())[:80]})'
            ) from error

    def picture(self) -> np.ndarray:
        """Draw the present state: RGB, shape (height, width, 3), uint8."""
        model, data, shown = self._simulation.model, self._simulation.data, self._data
        self._model.body_pos[:], self._model.body_quat[:] = model.body_pos, model.body_quat
        shown.qpos[:] = data.qpos
        mujoco.mj_kinematics(self._model, shown)
        mujoco.mj_comPos(self._model, shown)
        mujoco.mj_camlight(self._model, shown)
        self._renderer.update_scene(shown, self._view, self._option)
        return self._renderer.render()

    def close(self) -> None:
        """Free the OpenGL context."""
        self._renderer.render()  # makes its context current: else closing frees another camera's
        self._renderer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Video:
    """Writes pictures to an MP4 file; use it as a context manager.

    Raises:
        PhysicsError: If the file cannot be written.
    """

    def __init__(self, path: str | Path, rate_hz: float, width_px: int, height_px: int):
        code = cv2.VideoWriter.fourcc(*'mp4v')
        self._writer = cv2.VideoWriter(str(path), code, rate_hz, (width_px, height_px))
        if not self._writer.isOpened():
            raise PhysicsError(f'{path}: OpenCV cannot write a video there')

    def add(self, picture: np.ndarray) -> None:
        """Append an RGB picture (height, width, 3)."""
        self._writer.write(cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.release()


def _looks(simulation: Simulation, width_px: int, height_px: int) -> mujoco.MjModel:
    """Return the simulation's model with skins, sky and a floor with squares; same joints."""
    spec = simulation.spec.copy()
    covered = [
        name
        for robot in simulation.robots.values()
        for name in add_skins(spec, robot.robot, robot.prefix)
    ]
    for name in covered:
        geom = spec.geom(name)
        if geom is not None:
            geom.group = HIDDEN_GROUP
    texture = mujoco.mjtTexture
    spec.add_texture(
        type=texture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.93, 0.95, 0.98],
        rgb2=[0.62, 0.70, 0.80],
        width=64,
        height=64,
    )
    spec.add_texture(
        name='squares',
        type=texture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=[0.74, 0.75, 0.76],
        rgb2=[0.68, 0.69, 0.71],
        width=128,
        height=128,
    )
    squares = spec.add_material(name='squares', texrepeat=[10.0, 10.0], texuniform=True)
    squares.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = 'squares'  # squares of 50 mm
    if simulation.world.ground is not None:
        spec.geom('ground').material, spec.geom('ground').rgba = 'squares', [1.0, 1.0, 1.0, 1.0]
    spec.visual.global_.offwidth, spec.visual.global_.offheight = width_px, height_px
    spec.visual.quality.shadowsize, spec.visual.quality.offsamples = 0, 4
    light = spec.visual.headlight
    light.ambient, light.diffuse, light.specular = [0.4] * 3, [0.55] * 3, [0.1] * 3
    return spec.compile()


def _fixed(model: mujoco.MjModel, camera: str) -> mujoco.MjvCamera:
    view = mujoco.MjvCamera()
    view.type, view.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, model.camera(camera).id
    return view


def _overview(simulation: Simulation) -> mujoco.MjvCamera:
    """Return a camera that sees every robot, bent or straight, and every object."""
    points = [robot.backbone_m() for robot in simulation.robots.values()]
    points += [simulation.pose(item.name)[None, :3, 3] for item in simulation.world.objects]
    low, high = np.concatenate(points).min(axis=0), np.concatenate(points).max(axis=0)
    view = mujoco.MjvCamera()
    view.lookat[:] = (low + high) / 2.0
    view.azimuth, view.elevation = VIEW['azimuth'], VIEW['elevation']
    reach_m = 0.65 * float(np.linalg.norm(high - low))
    view.distance = reach_m / np.tan(np.radians(FOVY_DEG / 2.0))
    return view
