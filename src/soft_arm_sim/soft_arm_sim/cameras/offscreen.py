"""Off-screen pictures of a MuJoCo scene: colour, exact depth, and which shape each pixel shows."""

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_sim.errors import SimulationError

MAX_GEOMS = 1000
INFRARED = 'infrared'  # name of the camera of a stereo pair; it is moved for each view
NEAR_M, FAR_M = 0.05, 3.0  # clipping planes
PIXEL_M = 1e-6  # pitch of the sensor; arbitrary


def add_camera(
    spec: mujoco.MjSpec,
    T_base_optical: np.ndarray,
    width_px: int,
    height_px: int,
    camera_matrix: np.ndarray,
    name: str = 'colour',
) -> None:
    """Add a pinhole camera and the settings for rendering with it.

    Args:
        spec: The scene, in the base frame.
        T_base_optical: Pose of the optical frame (z forward, x right, y down), shape (4, 4).
        width_px, height_px: Size of the picture.
        camera_matrix: Intrinsics [px], shape (3, 3); pixel centres have whole coordinates.
        name: Name of the camera.
    """
    spec.stat.extent = 1.0  # the unit of znear and zfar [m]
    visual = spec.visual
    visual.map.znear, visual.map.zfar = NEAR_M, FAR_M
    visual.global_.offwidth = max(width_px, visual.global_.offwidth)
    visual.global_.offheight = max(height_px, visual.global_.offheight)
    # each costs more than all the rest of the frame
    visual.quality.offsamples, visual.quality.shadowsize = 0, 0
    light = visual.headlight
    light.ambient, light.diffuse, light.specular = [0.45] * 3, [0.0] * 3, [0.0] * 3
    camera = spec.worldbody.add_camera(
        name=name, pos=T_base_optical[:3, 3], quat=camera_quaternion(T_base_optical[:3, :3])
    )
    camera.resolution = [width_px, height_px]
    camera.sensor_size = [width_px * PIXEL_M, height_px * PIXEL_M]
    camera.focal_pixel = [camera_matrix[0, 0], camera_matrix[1, 1]]
    # MuJoCo counts from the middle of the sensor, a camera matrix from the centre of pixel (0, 0)
    camera.principal_pixel = [
        width_px / 2 - 0.5 - camera_matrix[0, 2],
        height_px / 2 - 0.5 - camera_matrix[1, 2],
    ]


def camera_quaternion(R_base_optical: np.ndarray) -> list[float]:
    """Return the quaternion (w, x, y, z) of a MuJoCo camera, which looks along -z with y up."""
    x, y, z, w = Rotation.from_matrix(R_base_optical * [1, -1, -1]).as_quat()
    return [w, x, y, z]


class Offscreen:
    """Looks through one camera of a scene; use and `close` it in the thread that made it (OpenGL).

    Attributes:
        option: MuJoCo's options of drawing, such as the visible groups of geoms.

    Args:
        model: A scene with a camera of `add_camera`.
        camera: Name of the camera.
        width_px, height_px: Size of the picture.

    Raises:
        SimulationError: If OpenGL is missing.
    """

    def __init__(self, model: mujoco.MjModel, camera: str, width_px: int, height_px: int):
        self._gl = _open_gl(width_px, height_px)
        self.option = mujoco.MjvOption()
        self._near_m, self._far_m = model.vis.map.znear, model.vis.map.zfar
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._camera.fixedcamid = model.camera(camera).id
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
        """Return the geom id shown by each pixel of the last picture, shape (h, w); -1: none."""
        flags = self._scene.flags
        flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = 1
        index = (self._read()[0].astype(np.int32) @ [1, 256, 65536]) - 1
        flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = 0
        geom_of = np.full(self._scene.ngeom + 2, -1)  # its last element serves index -1, "none"
        for drawn in self._scene.geoms[: self._scene.ngeom]:
            if drawn.objtype == mujoco.mjtObj.mjOBJ_GEOM:
                geom_of[drawn.segid] = drawn.objid
        return geom_of[index]

    def close(self) -> None:
        """Free the OpenGL context."""
        self._gl.make_current()  # names of OpenGL's objects hold in one context only
        self._context.free()
        self._gl.free()

    def _read(self) -> tuple[np.ndarray, np.ndarray]:
        rectangle = self._rectangle
        self._gl.make_current()  # another camera of this thread may have been drawn meanwhile
        rgb = np.empty((rectangle.height, rectangle.width, 3), np.uint8)
        depth = np.empty((rectangle.height, rectangle.width), np.float32)
        mujoco.mjr_render(rectangle, self._scene, self._context)
        mujoco.mjr_readPixels(rgb, depth, rectangle, self._context)
        # OpenGL counts rows from below
        return np.ascontiguousarray(rgb[::-1]), np.ascontiguousarray(depth[::-1])


def _open_gl(width_px: int, height_px: int) -> 'mujoco.GLContext':
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
