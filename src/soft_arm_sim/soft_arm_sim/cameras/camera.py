"""Virtual D435i: one off-screen MuJoCo pass renders colour and depth of arm, jig and room."""

from dataclasses import dataclass

import mujoco
import numpy as np

from soft_arm_description.robot import BellowsSegment, Robot
from soft_arm_sim.cameras.depth_noise import DepthNoise
from soft_arm_sim.cameras.offscreen import Offscreen
from soft_arm_sim.cameras.parameters import CalibrationJig, CameraParameters
from soft_arm_sim.cameras.scene import (
    ARM_GROUP,
    JIG_GROUP,
    RING_GROUP,
    bellows_of,
    build_scene,
    ring_of,
)
from soft_arm_sim.cameras.stereo import StereoDepth
from soft_arm_sim.errors import SimulationError

ON_THE_ARM = -1
HIDDEN_GROUP = 5


@dataclass(frozen=True, eq=False)
class Frame:
    """Output of the sensor.

    `rgb` (h, w, 3) uint8, and `depth` aligned to it, (h, w) uint16 in quanta (mm), 0 = none.
    """

    rgb: np.ndarray
    depth: np.ndarray


@dataclass(frozen=True, eq=False)
class TrueFrame:
    """Ground truth of one frame.

    `rgb` (h, w, 3) uint8, `depth_m` (h, w) float32 along the optical axis, `ring_mask` (h, w) bool.
    """

    rgb: np.ndarray
    depth_m: np.ndarray
    ring_mask: np.ndarray


class VirtualCamera:
    """A D435i looking at one arm; use and `close` it in the thread that made it (OpenGL).

    Args:
        robot: The robot file.
        parameters: Intrinsics, mounting and noise.
        jig: Pegs on which `place_ring` can put the ring.
        seed: Draws the noise and the placement errors of the ring on a peg.
        scene: Another scene with the parts of `scene.build_scene`; None: that scene.

    Raises:
        SimulationError: If OpenGL is missing.
    """

    def __init__(
        self,
        robot: Robot,
        parameters: CameraParameters,
        jig: CalibrationJig,
        seed: int = 0,
        scene: mujoco.MjModel | None = None,
    ):
        self.parameters, self._jig = parameters, jig
        image = parameters.image
        self._robot, self._model = robot, scene or build_scene(robot, parameters)
        # On the arm and on the jig; none of a robot without a ring.
        self._rings = np.flatnonzero(self._model.geom_group == RING_GROUP)
        self._view = Offscreen(self._model, 'colour', image.width_px, image.height_px)
        self._option = self._view.option
        self._data = mujoco.MjData(self._model)
        self._cells = [_Cells(self._model, f'{robot.name}/{s.name}', s) for s in bellows_of(robot)]
        self._random = np.random.default_rng([seed, 2])
        self._noise = DepthNoise(parameters.noise, (image.height_px, image.width_px), seed)
        self._stereo = None
        if parameters.stereo is not None:
            self._stereo = StereoDepth(self._model, parameters, self._option, seed)
        self.place_ring(ON_THE_ARM)

    def place_ring(self, peg: int) -> None:
        """Put the ring on a peg of the jig and hide the arm, or put both back (`ON_THE_ARM`).

        Raises:
            SimulationError: If the jig has no such peg, or the robot no ring to put on it.
        """
        if not ON_THE_ARM <= peg < len(self._jig.pegs_m):
            raise SimulationError(
                f'peg {peg}: the jig has pegs 0..{len(self._jig.pegs_m) - 1}; {ON_THE_ARM} puts '
                'the ring back on the arm'
            )
        on_arm = peg == ON_THE_ARM
        if not on_arm:
            ring_of(self._robot)
        group = self._model.geom_group
        group[self._model.geom('peg').id] = HIDDEN_GROUP if on_arm else JIG_GROUP
        for ring in self._rings:
            visible = (ring == self._rings[0]) == on_arm
            group[ring] = RING_GROUP if visible else HIDDEN_GROUP
        self._option.geomgroup[ARM_GROUP] = on_arm
        if not on_arm:
            self._data.mocap_pos[0] = self._jig.pegs_m[
                peg
            ] + self._jig.repeatability_m * self._random.standard_normal(3)

    @property
    def joints(self) -> int:
        """Number of joint positions that `capture` takes."""
        return int(self._model.nq)

    def capture(self, qpos: np.ndarray) -> Frame:
        """Render one frame of the arm with the joint positions of `SimulatedRobot`."""
        rgb, depth_m = self._render(qpos)
        return Frame(self._noise.colour(rgb), self.sense_depth(depth_m))

    def capture_truth(self, qpos: np.ndarray) -> TrueFrame:
        """Render the same frame without noise, with the ring's mask."""
        rgb, depth_m = self._render(qpos)
        return TrueFrame(rgb, depth_m, np.isin(self.geom_image(), self._rings))

    def geom_image(self) -> np.ndarray:
        """Return the geom id shown by each pixel of the last capture, shape (h, w); -1: none."""
        return self._view.geom_image()

    def geom_image_of_group(self, qpos: np.ndarray, group: int) -> np.ndarray:
        """Return the same for a new capture in which only this group of geoms is visible."""
        shown = self._option.geomgroup.copy()
        self._option.geomgroup[:] = np.arange(len(shown)) == group
        self._render(qpos)
        self._option.geomgroup[:] = shown
        return self.geom_image()

    def sense_depth(self, depth_m: np.ndarray) -> np.ndarray:
        """Return the sensor's output in quanta, (h, w) uint16, 0 = none.

        Args:
            depth_m: Exact depth, see `DepthNoise.depth`; a stereo camera looks at the scene of the
                last capture itself.
        """
        if self._stereo is not None:
            return self._stereo.depth(self._data)
        return self._noise.depth(depth_m)

    def move_jig(self, position_m: np.ndarray, q_wxyz: np.ndarray) -> None:
        """Hold the ring of the jig in any pose in the base frame."""
        self._data.mocap_pos[0], self._data.mocap_quat[0] = position_m, q_wxyz

    def close(self) -> None:
        """Free the OpenGL context."""
        self._view.close()
        if self._stereo is not None:
            self._stereo.close()

    def _render(self, qpos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        data, model = self._data, self._model
        data.qpos[:] = qpos
        for cells in self._cells:
            cells.stretch(model, qpos)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_camlight(model, data)
        return self._view.draw(data)


class _Cells:
    """Visible bellows of one segment; their drawn lengths follow the chain."""

    def __init__(self, model: mujoco.MjModel, chain: str, segment: BellowsSegment):
        n, bellows = segment.sections, segment.actuators
        self._geoms = np.array(
            [[model.geom(f'{name}_{i}').id for name in bellows.names] for i in range(n)]
        )
        self._slides, self._x, self._y = (
            [model.joint(f'{chain}_{joint}_{i}').qposadr[0] for i in range(count)]
            for joint, count in (('slide', n + 1), ('x', n), ('y', n))
        )
        self._cell_m = segment.natural_length_m / n
        self._directions = bellows.centre_radius_m * np.stack(
            (np.cos(bellows.angles_rad), np.sin(bellows.angles_rad))
        )

    def stretch(self, model: mujoco.MjModel, qpos: np.ndarray) -> None:
        slides = qpos[self._slides]
        share = np.full(len(slides), 0.5)
        share[[0, -1]] = 1.0
        axial = self._cell_m + (slides * share)[:-1] + (slides * share)[1:]
        lengths = (
            axial[:, None] - np.stack((qpos[self._x], qpos[self._y]), axis=1) @ self._directions
        )
        model.geom_size[self._geoms, 1] = np.maximum(lengths / 2, 1e-4)
