"""Sequences with objects of the ring's colour beside or before it, by the virtual camera."""

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_arm_description.robot import load_robot
from soft_arm_sim.cameras.camera import VirtualCamera
from soft_arm_sim.cameras.parameters import load_calibration_jig
from soft_arm_sim.cameras.random_scenes import scaled_camera
from soft_arm_sim.cameras.scene import RING_GROUP, scene_spec
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.detector import RingDetector
from soft_arm_vision.segmentation.segmenter import make_segmenter

ROBOT = load_robot('two_module_arm')
CAMERA = scaled_camera(ROBOT, 1.0)
INTRINSICS = Intrinsics(
    CAMERA.image.width_px,
    CAMERA.image.height_px,
    CAMERA.image.fx_px,
    CAMERA.image.fy_px,
    CAMERA.image.cx_px,
    CAMERA.image.cy_px,
)
T_BASE_CAMERA = CAMERA.mounting.T_base_optical
VISIBLE = 0.25  # share of the ring from which a frame counts
RIGHT_M = 3e-3  # a pose further off is wrong; the worst that may be given is known to 1 mm
THINGS = {  # half sizes [m]
    'block': (mujoco.mjtGeom.mjGEOM_BOX, (0.04, 0.02, 0.02), ROBOT.ring.colour_rgb),
    'deep block': (mujoco.mjtGeom.mjGEOM_BOX, (0.04, 0.02, 0.04), ROBOT.ring.colour_rgb),
    'sleeve': (mujoco.mjtGeom.mjGEOM_CYLINDER, (0.045, 0.2, 0.0), ROBOT.ring.colour_rgb),
    'card': (mujoco.mjtGeom.mjGEOM_BOX, (0.12, 0.12, 0.002), (0.4, 0.4, 0.4)),
}


class Scene:
    """A ring before the virtual camera, and movable objects; places are in the optical frame."""

    def __init__(self, seed):
        spec = scene_spec(ROBOT, CAMERA)
        for name, (kind, size, colour) in THINGS.items():
            body = spec.worldbody.add_body(name=name, mocap=True)
            body.add_geom(type=kind, size=list(size), rgba=[*colour, 1], mass=0)
        self._model = spec.compile()
        self.camera = VirtualCamera(ROBOT, CAMERA, load_calibration_jig(), seed, self._model)
        self.camera.place_ring(0)
        self._ring = self._model.geom('ring_on_peg').id
        self._qpos = np.zeros(self._model.nq)

    def frame(self, centre, axis, **things):
        """Return a frame with objects at (place, turn), the ring's centre and visible share."""
        for name in THINGS:
            place, turn = things.get(
                name.replace(' ', '_'), (np.array([0.0, 0.0, -5.0]), Rotation.identity())
            )
            number = self._model.body(name).mocapid[0]
            data = self.camera._data
            data.mocap_pos[number] = self._in_base(place)
            data.mocap_quat[number] = self._q_wxyz(turn)
        self.camera.move_jig(
            self._in_base(centre), self._q_wxyz(Rotation.align_vectors([axis], [[0, 0, 1]])[0])
        )
        frame = self.camera.capture(self._qpos)
        seen = (self.camera.geom_image() == self._ring).sum()
        whole = (self.camera.geom_image_of_group(self._qpos, RING_GROUP) == self._ring).sum()
        return frame, np.array(centre), seen / whole

    @staticmethod
    def _in_base(place):
        return T_BASE_CAMERA[:3, :3] @ place + T_BASE_CAMERA[:3, 3]

    @staticmethod
    def _q_wxyz(turn):
        return np.roll((Rotation.from_matrix(T_BASE_CAMERA[:3, :3]) * turn).as_quat(), 1)


def beside(scene, rng, thing, gap_m, frames):
    """A block beside the ring, each time elsewhere."""
    for _ in range(frames):
        centre = np.array([rng.uniform(-0.05, 0.05), rng.uniform(-0.05, 0.05), 0.47])
        axis = np.array([rng.normal(0, 0.3), 1.0, rng.normal(0, 0.3)])
        away_m = ROBOT.ring.radius_m + 0.04 + rng.uniform(*gap_m)
        place = centre + [
            rng.choice([-1, 1]) * away_m,
            rng.uniform(-0.03, 0.03),
            rng.uniform(-0.03, 0.03),
        ]
        yield scene.frame(
            centre, axis, **{thing: (place, Rotation.from_rotvec(rng.normal(0, 0.2, 3)))}
        )


def hidden_for_two(scene, rng):
    """A block comes beside a slow ring; a card then hides the ring for two frames."""
    begin = np.array([rng.uniform(-0.03, 0.03), 0.0, 0.47])
    side = rng.choice([-1, 1])
    gap_m = rng.uniform(0.01, 0.04)
    for number in range(14):
        centre, things = begin + [0.002 * number, 0.001 * number, 0.0], {}
        if number >= 3:
            things['block'] = (
                centre + [side * (ROBOT.ring.radius_m + 0.04 + gap_m), 0.0, 0.0],
                Rotation.from_rotvec([0.1, 0.2, 0.1]),
            )
        if 5 <= number < 7:
            things['card'] = centre - [0.0, 0.0, 0.1], Rotation.identity()
        yield scene.frame(centre, [0.2, 1.0, 0.2], **things)


def sleeve_before(scene, rng):
    """A sleeve passes before the ring, from one side to the other."""
    centre, nearer = np.array([rng.uniform(-0.03, 0.03), 0.0, 0.47]), rng.uniform(0.65, 0.8)
    turn = Rotation.from_euler('xz', [np.pi / 2 + rng.normal(0, 0.1), rng.normal(0, 0.3)])
    for x in np.linspace(-0.2, 0.2, 25):
        yield scene.frame(centre, [0.2, 1.0, 0.3], sleeve=(nearer * centre + [x, 0.0, 0.0], turn))


@pytest.fixture(scope='module')
def sequences():
    scene, rng = Scene(5), np.random.default_rng(5)
    frames = {
        'block': list(beside(scene, rng, 'block', (0.005, 0.05), 20)),
        'deep block': list(beside(scene, rng, 'deep_block', (0.005, 0.05), 20)),
        'block 0.2 m away': list(beside(scene, rng, 'block', (0.1, 0.13), 20)),
        'hidden for two frames': [*hidden_for_two(scene, rng), *hidden_for_two(scene, rng)],
        'sleeve': list(sleeve_before(scene, rng)),
    }
    scene.camera.close()
    return frames


@pytest.mark.parametrize(
    'name', ['block', 'deep block', 'block 0.2 m away', 'hidden for two frames', 'sleeve']
)
@pytest.mark.parametrize('segmenter', ['colour', 'yolact'])
def test_ring_is_found_wherever_it_is_visible(sequences, segmenter, name):
    fresh = 'block' in name
    segment = make_segmenter(segmenter, ROBOT.ring)
    detector, found, wrong = RingDetector(ROBOT.ring, segment), [], []
    for frame, centre, share in sequences[name]:
        if fresh:
            detector = RingDetector(
                ROBOT.ring,
                make_segmenter('colour', ROBOT.ring) if segmenter == 'colour' else segment,
            )
        detection = detector.detect(frame.rgb, frame.depth, INTRINSICS)
        if detection.fit is not None:
            wrong += (
                [detection.fit.centre]
                if np.linalg.norm(detection.fit.centre - centre) > RIGHT_M
                else []
            )
        if share >= VISIBLE:
            found.append(detection.fit is not None)
    assert not wrong
    assert len(found) >= 15 and np.mean(found) >= 0.95, f'{sum(found)} of {len(found)}'
