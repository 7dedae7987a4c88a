"""Off-screen pictures of a MuJoCo scene: colour, exact depth, and which shape each pixel shows."""

import mujoco
import numpy as np

from soft_arm_sim.errors import SimulationError

MAX_GEOMS = 1000


class Offscreen:
    """Looks through one camera of a scene. OpenGL ties it to the thread that made it.

    `close` it there.

    Attributes:
        option: What is drawn; MuJoCo's groups of geoms.

    Args:
        model: The scene; its `stat.extent` is 1, so that `visual.map.znear` and `zfar` are metres.
        camera: Name of the camera.
        width_px, height_px: Of the picture.

    Raises:
        SimulationError: If there is no OpenGL to render with.
    """

    def __init__(self, model: mujoco.MjModel, camera: str, width_px: int, height_px: int):
        self._gl = _open_gl(width_px, height_px)
        self.option = mujoco.MjvOption()
        self._near_m, self._far_m = model.vis.map.znear, model.vis.map.zfar
        self._camera = mujoco.MjvCamera()
        self._camera.type, self._camera.fixedcamid = (
            mujoco.mjtCamera.mjCAMERA_FIXED,
            model.camera(camera).id,
        )
        self._model, self._scene = model, mujoco.MjvScene(model, MAX_GEOMS)
        for flag in (
            mujoco.mjtRndFlag.mjRND_SHADOW,
            mujoco.mjtRndFlag.mjRND_REFLECTION,
            mujoco.mjtRndFlag.mjRND_SKYBOX,
            mujoco.mjtRndFlag.mjRND_HAZE,
        ):
            self._scene.flags[flag] = 0
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        self._rectangle = mujoco.MjrRect(0, 0, width_px, height_px)

    def draw(self, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
        """Render `data`: colour (h, w, 3) uint8, depth along the optical axis (h, w) float32."""
        mujoco.mjv_updateScene(
            self._model,
            data,
            self.option,
            None,
            self._camera,
            mujoco.mjtCatBit.mjCAT_ALL,
            self._scene,
        )
        rgb, inverse = self._read()
        return rgb, self._near_m * self._far_m / (
            self._near_m + inverse * (self._far_m - self._near_m)
        )

    def geom_image(self) -> np.ndarray:
        """Return the geom that each pixel of the last picture shows, shape (h, w); -1: none."""
        flags = self._scene.flags
        flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = 1
        index = (self._read()[0].astype(np.int32) @ [1, 256, 65536]) - 1
        flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = 0
        geom_of = np.full(
            self._scene.ngeom + 2, -1
        )  # the last stands for "none", whose index is -1
        for drawn in self._scene.geoms[: self._scene.ngeom]:
            if drawn.objtype == mujoco.mjtObj.mjOBJ_GEOM:
                geom_of[drawn.segid] = drawn.objid
        return geom_of[index]

    def close(self) -> None:
        """Free the OpenGL context."""
        self._context.free()
        self._gl.free()

    def _read(self):
        rectangle = self._rectangle
        self._gl.make_current()  # another camera of this thread may have been drawn meanwhile
        rgb = np.empty((rectangle.height, rectangle.width, 3), np.uint8)
        depth = np.empty((rectangle.height, rectangle.width), np.float32)
        mujoco.mjr_render(rectangle, self._scene, self._context)
        mujoco.mjr_readPixels(rgb, depth, rectangle, self._context)
        return np.ascontiguousarray(rgb[::-1]), np.ascontiguousarray(
            depth[::-1]
        )  # OpenGL counts rows from below


def _open_gl(width_px: int, height_px: int):
    remedy = (
        'no OpenGL to render the virtual camera with: '
        'apt-get install libegl1 libgl1-mesa-dri, and set MUJOCO_GL=egl'
    )
    if not hasattr(mujoco, 'GLContext'):
        raise SimulationError(remedy)
    try:
        context = mujoco.GLContext(width_px, height_px)
        context.make_current()
    except (ImportError, RuntimeError) as error:
        raise SimulationError(f'{remedy} ({error})') from error
    return context
