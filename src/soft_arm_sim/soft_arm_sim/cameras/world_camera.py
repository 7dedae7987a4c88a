"""Cameras of a world file, drawn in a separate thread."""

import copy
import math
import threading
import time
from collections.abc import Callable

import mujoco
import numpy as np

from soft_arm_description.world import Camera
from soft_arm_sim.cameras.offscreen import Offscreen
from soft_arm_sim.cameras.parameters import Image
from soft_arm_sim.errors import SimulationError

NEAR_M, FAR_M = 0.02, 20.0
AMBIENT = 0.3  # brightness of a world without lights


def image_of(camera: Camera, rate_hz: float) -> Image:
    """Return the intrinsics of a camera of a world file: square pixels, centred."""
    focal_px = 0.5 * camera.height_px / math.tan(math.radians(camera.fovy_deg) / 2)
    return Image(
        width_px=camera.width_px,
        height_px=camera.height_px,
        fx_px=focal_px,
        fy_px=focal_px,
        cx_px=0.5 * camera.width_px - 0.5,
        cy_px=0.5 * camera.height_px - 0.5,
        rate_hz=rate_hz,
    )


class WorldCameras:
    """Draws cameras of a simulation's model; use and `close` it in the thread that made it.

    Args:
        model: The model; it is copied.
        cameras: The cameras of its world that are drawn.

    Raises:
        SimulationError: If OpenGL is missing.
    """

    def __init__(self, model: mujoco.MjModel, cameras: tuple[Camera, ...]):
        model = copy.copy(model)
        model.stat.extent = 1.0  # the unit of znear and zfar [m]
        model.vis.map.znear, model.vis.map.zfar = NEAR_M, FAR_M
        model.vis.quality.offsamples = model.vis.quality.shadowsize = 0
        light = model.vis.headlight
        ambient = 0.0 if model.nlight else AMBIENT
        light.ambient, light.diffuse, light.specular = [ambient] * 3, [0.0] * 3, [0.0] * 3
        model.vis.global_.offwidth = max(camera.width_px for camera in cameras)
        model.vis.global_.offheight = max(camera.height_px for camera in cameras)
        self._model, self._data = model, mujoco.MjData(model)
        self._views: dict[str, Offscreen] = {}
        for camera in cameras:
            view = Offscreen(model, camera.name, camera.width_px, camera.height_px)
            self._views[camera.name] = view

    def draw(self, camera: str, positions: np.ndarray) -> np.ndarray:
        """Return the picture (h, w, 3) uint8 of a camera at positions of the joints (nq,)."""
        self._data.qpos[:] = positions
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)
        return self._views[camera].draw(self._data)[0]

    def close(self) -> None:
        """Free the OpenGL contexts."""
        for view in self._views.values():
            view.close()


class PictureThread:
    """Takes pictures at a rate between `start` and `stop`, and delivers them in its thread.

    Args:
        model: The simulation's model.
        cameras: The cameras.
        rate_hz: Pictures a second of each camera [Hz]; a machine that is slower skips some.
        wanted: Returns whether a camera's picture is wanted now.
        positions: Returns the joints' positions now, (nq,).
        deliver: Takes a camera's name and its picture (h, w, 3) uint8.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        cameras: tuple[Camera, ...],
        rate_hz: float,
        wanted: Callable[[str], bool],
        positions: Callable[[], np.ndarray],
        deliver: Callable[[str, np.ndarray], None],
    ):
        self._model, self._cameras, self._period_s = model, cameras, 1.0 / rate_hz
        self._wanted, self._positions, self._deliver = wanted, positions, deliver
        self._ending, self._ready = threading.Event(), threading.Event()
        self._error: SimulationError | None = None
        self._thread = threading.Thread(target=self._run, name='cameras', daemon=True)

    def start(self) -> None:
        """Start; raise SimulationError if OpenGL is missing."""
        self._thread.start()
        self._ready.wait()
        if self._error:
            raise self._error

    def stop(self, timeout_s: float = 2.0) -> None:
        """Stop and free the cameras."""
        self._ending.set()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            drawn = WorldCameras(self._model, self._cameras)
        except SimulationError as error:
            self._error = error
            return
        finally:
            self._ready.set()
        due_s = time.monotonic()
        while not self._ending.wait(max(due_s - time.monotonic(), 0.0)):
            due_s = max(due_s + self._period_s, time.monotonic())
            for camera in self._cameras:
                if self._wanted(camera.name):
                    self._deliver(camera.name, drawn.draw(camera.name, self._positions()))
        drawn.close()
