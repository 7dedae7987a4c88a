"""The virtual D435i: one off-screen MuJoCo pass gives colour and depth of the arm, the jig and the room."""

from dataclasses import dataclass

import mujoco
import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_sim.arm_model import chain_rest_length_m
from soft_arm_sim.camera_parameters import CalibrationJig, CameraParameters
from soft_arm_sim.camera_scene import ARM_GROUP, FAR_M, NEAR_M, RING_GROUP, build_scene
from soft_arm_sim.depth_noise import DepthNoise
from soft_arm_sim.errors import SimulationError

ON_THE_ARM = -1
HIDDEN_GROUP = 5
MAX_GEOMS = 1000


@dataclass(frozen=True, eq=False)
class Frame:
    """What the sensor reports: `rgb` (h, w, 3) uint8 and aligned `depth` (h, w) uint16 in quanta (mm), 0 = none."""

    rgb: np.ndarray
    depth: np.ndarray


@dataclass(frozen=True, eq=False)
class TrueFrame:
    """What is there: `rgb` (h, w, 3) uint8, `depth_m` (h, w) float32 along the optical axis, `ring_mask` (h, w) bool."""

    rgb: np.ndarray
    depth_m: np.ndarray
    ring_mask: np.ndarray


class VirtualCamera:
    """A D435i looking at one arm. OpenGL ties it to the thread that made it; `close` it there.

    Args:
        robot: The robot file.
        parameters: Intrinsics, mounting and noise.
        jig: Where `place_ring` can put the ring.
        seed: Of the noise and of the placement.
        scene: Another scene with the parts of `camera_scene.build_scene`; None: that one.

    Raises:
        SimulationError: If there is no OpenGL to render with.
    """

    def __init__(self, robot: Robot, parameters: CameraParameters, jig: CalibrationJig, seed: int = 0, scene: mujoco.MjModel | None = None):
        self.parameters, self._jig = parameters, jig
        image = parameters.image
        self._gl = _open_gl(image.width_px, image.height_px)
        self._model = scene or build_scene(robot, parameters)
        self._data = mujoco.MjData(self._model)
        self._cells = [_Cells(self._model, s) for s in robot.segments]
        self._camera = mujoco.MjvCamera()
        self._camera.type, self._camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, self._model.camera('colour').id
        self._option = mujoco.MjvOption()
        self._scene = mujoco.MjvScene(self._model, MAX_GEOMS)
        for flag in (
            mujoco.mjtRndFlag.mjRND_SHADOW,
            mujoco.mjtRndFlag.mjRND_REFLECTION,
            mujoco.mjtRndFlag.mjRND_SKYBOX,
            mujoco.mjtRndFlag.mjRND_HAZE,
        ):
            self._scene.flags[flag] = 0
        self._context = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        self._rectangle = mujoco.MjrRect(0, 0, image.width_px, image.height_px)
        self._random = np.random.default_rng([seed, 2])
        self._noise = DepthNoise(parameters.noise, (image.height_px, image.width_px), seed)
        self.place_ring(ON_THE_ARM)

    def place_ring(self, peg: int) -> None:
        """Put the ring on a peg of the jig and take the arm out of view, or put both back (`ON_THE_ARM`).

        Raises:
            SimulationError: If the jig has no such peg.
        """
        if not ON_THE_ARM <= peg < len(self._jig.pegs_m):
            raise SimulationError(f'peg {peg}: the jig has pegs 0..{len(self._jig.pegs_m) - 1}; {ON_THE_ARM} puts the ring back on the arm')
        on_arm = peg == ON_THE_ARM
        group = self._model.geom_group
        for name, visible, shown in (('ring_on_arm', on_arm, RING_GROUP), ('ring_on_peg', not on_arm, RING_GROUP), ('peg', not on_arm, 0)):
            group[self._model.geom(name).id] = shown if visible else HIDDEN_GROUP
        self._option.geomgroup[ARM_GROUP] = on_arm
        if not on_arm:
            self._data.mocap_pos[0] = self._jig.pegs_m[peg] + self._jig.repeatability_m * self._random.standard_normal(3)

    @property
    def ring_on_jig_m(self) -> np.ndarray:
        """True place of the ring on the jig in the base frame [m], shape (3,); only tests may look."""
        return self._data.mocap_pos[0].copy()

    def capture(self, qpos: np.ndarray) -> Frame:
        """One frame of the arm with joint positions `qpos` (as `Plant.qpos`)."""
        rgb, depth_m = self._render(qpos)
        return Frame(self._noise.colour(rgb), self._noise.depth(depth_m))

    def capture_truth(self, qpos: np.ndarray) -> TrueFrame:
        """The same without noise, with the ring's mask."""
        rgb, depth_m = self._render(qpos)
        rings = [self._model.geom(name).id for name in ('ring_on_arm', 'ring_on_peg')]
        return TrueFrame(rgb, depth_m, np.isin(self.geom_image(), rings))

    def geom_image(self) -> np.ndarray:
        """Which geom of the scene each pixel of the last capture shows, shape (h, w), -1 where there is none."""
        flags = self._scene.flags
        flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = 1
        index = (self._read()[0].astype(np.int32) @ [1, 256, 65536]) - 1
        flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = 0
        geom_of = np.full(self._scene.ngeom + 2, -1)  # the last stands for "none", whose index is -1
        for drawn in self._scene.geoms[: self._scene.ngeom]:
            if drawn.objtype == mujoco.mjtObj.mjOBJ_GEOM:
                geom_of[drawn.segid] = drawn.objid
        return geom_of[index]

    def geom_image_of_group(self, qpos: np.ndarray, group: int) -> np.ndarray:
        """As `geom_image`, with every other group of geoms out of the way."""
        shown = self._option.geomgroup.copy()
        self._option.geomgroup[:] = np.arange(len(shown)) == group
        self._render(qpos)
        self._option.geomgroup[:] = shown
        return self.geom_image()

    def sense_depth(self, depth_m: np.ndarray) -> np.ndarray:
        """What the sensor reports of exact depth, in quanta; see `DepthNoise.depth`."""
        return self._noise.depth(depth_m)

    def move_jig(self, position_m: np.ndarray, q_wxyz: np.ndarray) -> None:
        """Hold the ring of the jig in any pose in the base frame."""
        self._data.mocap_pos[0], self._data.mocap_quat[0] = position_m, q_wxyz

    def close(self) -> None:
        """Free the OpenGL context."""
        self._context.free()
        self._gl.free()

    def _render(self, qpos):
        data, model = self._data, self._model
        data.qpos[:] = qpos
        for cells in self._cells:
            cells.stretch(model, qpos)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_camlight(model, data)
        mujoco.mjv_updateScene(model, data, self._option, None, self._camera, mujoco.mjtCatBit.mjCAT_ALL, self._scene)
        rgb, inverse = self._read()
        return rgb, NEAR_M * FAR_M / (NEAR_M + inverse * (FAR_M - NEAR_M))

    def _read(self):
        rectangle = self._rectangle
        rgb = np.empty((rectangle.height, rectangle.width, 3), np.uint8)
        depth = np.empty((rectangle.height, rectangle.width), np.float32)
        mujoco.mjr_render(rectangle, self._scene, self._context)
        mujoco.mjr_readPixels(rgb, depth, rectangle, self._context)
        return np.ascontiguousarray(rgb[::-1]), np.ascontiguousarray(depth[::-1])  # OpenGL counts rows from below


class _Cells:
    """Visible bellows of one segment, whose drawn length follows the chain."""

    def __init__(self, model, segment):
        n, bellows = segment.sections, segment.actuators
        self._geoms = np.array([[model.geom(f'{name}_{i}').id for name in bellows.names] for i in range(n)])
        self._slides, self._x, self._y = (
            [model.joint(f'{segment.name}_{joint}_{i}').qposadr[0] for i in range(count)]
            for joint, count in (('slide', n + 1), ('x', n), ('y', n))
        )
        self._cell_m = chain_rest_length_m(segment) / n
        self._directions = bellows.centre_radius_m * np.stack((np.cos(bellows.angles_rad), np.sin(bellows.angles_rad)))

    def stretch(self, model, qpos):
        slides = qpos[self._slides]
        share = np.full(len(slides), 0.5)
        share[[0, -1]] = 1.0
        axial = self._cell_m + (slides * share)[:-1] + (slides * share)[1:]
        lengths = axial[:, None] - np.stack((qpos[self._x], qpos[self._y]), axis=1) @ self._directions
        model.geom_size[self._geoms, 1] = np.maximum(lengths / 2, 1e-4)


def _open_gl(width_px: int, height_px: int):
    remedy = 'no OpenGL to render the virtual camera with: apt-get install libegl1 libgl1-mesa-dri, and set MUJOCO_GL=egl'
    if not hasattr(mujoco, 'GLContext'):
        raise SimulationError(remedy)
    try:
        context = mujoco.GLContext(width_px, height_px)
        context.make_current()
    except (ImportError, RuntimeError) as error:
        raise SimulationError(f'{remedy} ({error})') from error
    return context
