import mujoco
import numpy as np
import pytest

from soft_arm_description.robot import load_robot
from soft_arm_description.world import load_world
from soft_arm_physics import Simulation
from soft_arm_physics.pneumatic_arm import pneumatic_arm
from soft_arm_sim.cameras.camera import ON_THE_ARM, VirtualCamera
from soft_arm_sim.cameras.parameters import load_calibration_jig, load_camera_parameters
from soft_arm_sim.cameras.world_camera import WorldCameras
from soft_arm_sim.errors import SimulationError

ROBOT = load_robot('two_module_arm')
PARAMETERS = load_camera_parameters()
JIG = load_calibration_jig()
IMAGE, RING = PARAMETERS.image, ROBOT.ring


@pytest.fixture(scope='module')
def bent():
    plant = pneumatic_arm(ROBOT, 1)
    plant.robot.actuate([-96e3, -96e3, -96e3, -20e3, 10e3, -90e3])
    plant.settle()
    return plant.robot


@pytest.fixture(scope='module')
def camera():
    camera = VirtualCamera(ROBOT, PARAMETERS, JIG, seed=3)
    yield camera
    camera.close()


@pytest.fixture(autouse=True)
def ring_on_the_arm(camera):
    camera.place_ring(ON_THE_ARM)


def points_in_base(depth_m, mask):
    """Back-project masked pixels by the camera's intrinsics and true pose, shape (n, 3)."""
    v, u = np.nonzero(mask)
    z = depth_m[v, u]
    optical = np.stack(
        ((u - IMAGE.cx_px) / IMAGE.fx_px * z, (v - IMAGE.cy_px) / IMAGE.fy_px * z, z), axis=1
    )
    T = PARAMETERS.mounting.T_base_optical
    return optical @ T[:3, :3].T + T[:3, 3]


def fitted_centre(points, axis, place):
    """Centre of the free cylinder through the points of the ring's outer side near `place`.

    And its radius; axially the extent's middle.
    """
    x = np.cross(axis, [0.3, 0.5, 0.7])
    x /= np.linalg.norm(x)
    across = np.stack((x, np.cross(axis, x)))
    outer = points[
        np.abs(np.linalg.norm((points - place) @ across.T, axis=1) - RING.radius_m) < 0.8e-3
    ]
    height = outer @ axis
    side = outer[np.abs(height - place @ axis) < RING.height_m / 2 - 0.3e-3]  # without the rims
    assert len(side) > 1500
    plane = side @ across.T
    solution = np.linalg.lstsq(
        np.column_stack((2 * plane, np.ones(len(plane)))), (plane**2).sum(axis=1), rcond=None
    )[0]
    centre = solution[:2]
    return centre @ across + axis * (height.min() + height.max()) / 2, np.sqrt(
        solution[2] + centre @ centre
    )


def test_ring_centre_back_projected_from_exact_depth_is_the_tip(camera, bent):
    truth, T = camera.capture_truth(bent.joint_positions()), bent.T_base_tip()
    centre, radius = fitted_centre(
        points_in_base(truth.depth_m, truth.ring_mask), T[:3, 2], T[:3, 3]
    )
    assert truth.ring_mask.sum() > 2000
    assert np.linalg.norm(centre - T[:3, 3]) < 0.2e-3
    assert radius == pytest.approx(RING.radius_m, abs=0.05e-3)


def test_depth_is_what_a_ray_meets(camera, bent):
    truth = camera.capture_truth(bent.joint_positions())
    T, model, data = PARAMETERS.mounting.T_base_optical, camera._model, camera._data
    # Rays do not see the facets of drawn round shapes.
    exact = [int(mujoco.mjtGeom.mjGEOM_BOX), int(mujoco.mjtGeom.mjGEOM_MESH)]
    hit, compared = np.zeros(1, np.int32), 0
    for u, v in np.random.default_rng(0).integers(
        (4, 4), (IMAGE.width_px - 4, IMAGE.height_px - 4), (400, 2)
    ):
        ray = np.array([(u - IMAGE.cx_px) / IMAGE.fx_px, (v - IMAGE.cy_px) / IMAGE.fy_px, 1.0])
        depth_m = mujoco.mj_ray(
            model,
            data,
            T[:3, 3],
            T[:3, :3] @ ray,
            np.array([1, 1, 1, 0, 0, 0], np.uint8),
            1,
            -1,
            hit,
        )
        if (
            np.ptp(truth.depth_m[v - 1 : v + 2, u - 1 : u + 2]) < 0.01
            and model.geom_type[hit[0]] in exact
        ):
            assert truth.depth_m[v, u] == pytest.approx(depth_m, abs=0.05e-3)
            compared += 1
    assert compared > 200


def test_nominal_pose_looks_square_at_the_bending_plane():
    T = PARAMETERS.mounting.T_base_optical_nominal
    assert T[:3, 2] == pytest.approx([-0.5, np.sqrt(0.75), 0.0], abs=1e-6)
    assert T[:3, 1] == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)
    assert np.linalg.det(T[:3, :3]) == pytest.approx(1.0)


def test_the_mounting_error_needs_a_calibration():
    mounting = PARAMETERS.mounting
    T_error = np.linalg.inv(mounting.T_base_optical_nominal) @ mounting.T_base_optical
    angle_deg = np.degrees(np.arccos((np.trace(T_error[:3, :3]) - 1) / 2))
    assert 1 < angle_deg < 5
    assert 3e-3 < np.linalg.norm(T_error[:3, 3]) < 20e-3


@pytest.mark.parametrize('peg', range(9))
def test_the_ring_on_a_peg_is_whole_in_the_picture_and_where_the_jig_says(camera, bent, peg):
    camera.place_ring(peg)
    truth = camera.capture_truth(bent.joint_positions())
    v, u = np.nonzero(truth.ring_mask)
    assert (
        min(u.min(), v.min()) > 5 and u.max() < IMAGE.width_px - 6 and v.max() < IMAGE.height_px - 6
    )
    centre, _ = fitted_centre(
        points_in_base(truth.depth_m, truth.ring_mask),
        np.array([0.0, 0.0, 1.0]),
        camera._data.mocap_pos[0].copy(),
    )
    assert np.linalg.norm(centre - camera._data.mocap_pos[0].copy()) < 0.2e-3
    assert (
        0
        < np.linalg.norm(camera._data.mocap_pos[0].copy() - JIG.pegs_m[peg])
        < 6 * JIG.repeatability_m
    )


def test_pegs_spread_in_three_dimensions():
    pegs = np.array(JIG.pegs_m)
    spread = np.linalg.svd(pegs - pegs.mean(axis=0))[1]
    assert len(pegs) == 9 and spread[1] > 0.1 and spread[2] > 0.05


def test_placing_again_repeats_within_a_tenth_of_a_millimetre(camera):
    places = []
    for _ in range(200):
        camera.place_ring(4)
        places.append(camera._data.mocap_pos[0].copy())
    assert np.std(places, axis=0) == pytest.approx(np.full(3, 0.1e-3), rel=0.25)


def test_only_one_ring_is_seen_and_the_arm_comes_back(camera, bent):
    on_arm = camera.capture_truth(bent.joint_positions())
    camera.place_ring(8)
    on_peg = camera.capture_truth(bent.joint_positions())
    camera.place_ring(ON_THE_ARM)
    assert not (on_arm.ring_mask & on_peg.ring_mask).any()
    assert (camera.capture_truth(bent.joint_positions()).depth_m == on_arm.depth_m).all()


@pytest.mark.parametrize('peg', [-2, 9])
def test_a_peg_that_is_not_there_is_refused(camera, peg):
    with pytest.raises(SimulationError, match=r'0\.\.8'):
        camera.place_ring(peg)


def test_the_ring_has_its_colour(camera, bent):
    truth = camera.capture_truth(bent.joint_positions())
    red, green, blue = truth.rgb[truth.ring_mask].mean(axis=0)
    assert red > 1.8 * green > 3 * blue


def flat(frame_mask_depth_m):
    """Pixels whose surroundings have no step, so that only axial noise acts."""
    depth_m, step = frame_mask_depth_m, np.zeros(frame_mask_depth_m.shape, bool)
    for shift in range(-3, 4):
        for axis in (0, 1):
            step |= np.abs(np.roll(depth_m, shift, axis) - depth_m) > 0.005
    return ~step


def test_axial_noise_grows_with_the_square_of_depth(camera, bent):
    depth_m = camera.capture_truth(bent.joint_positions()).depth_m
    frames = [camera.capture(bent.joint_positions()).depth for _ in range(12)]
    noise = PARAMETERS.noise
    for low_m, high_m in ((0.42, 0.52), (0.95, 1.15)):
        here = flat(depth_m) & (depth_m > low_m) & (depth_m < high_m)
        errors = np.concatenate(
            [
                f[here & (f > 0)] * 1e-3 - depth_m[here & (f > 0)] * (1 + noise.depth_scale_error)
                for f in frames
            ]
        )
        scaled = errors / np.concatenate([depth_m[here & (f > 0)] ** 2 for f in frames])
        quantum = noise.depth_quantum_m / np.sqrt(12) / ((low_m + high_m) / 2) ** 2
        assert here.sum() > 1000
        assert np.std(scaled) == pytest.approx(
            np.hypot(noise.depth_sigma_m_per_m2, quantum), rel=0.2
        )


def test_noise_is_correlated_over_neighbours_and_not_over_frames(camera, bent):
    depth_m = camera.capture_truth(bent.joint_positions()).depth_m
    here = flat(depth_m) & (depth_m > 0.9)
    first, second = (
        np.where(f > 0, f * 1e-3 - depth_m, 0.0)
        for f in (camera.capture(bent.joint_positions()).depth for _ in range(2))
    )

    def correlation(a, b, mask):
        return np.corrcoef(a[mask], b[mask])[0, 1]

    beside = here & np.roll(here, 2, axis=1)
    # two fields filtered with a Gaussian of width s correlate with exp(-d^2 / 4 s^2)
    assert correlation(first, np.roll(first, 2, axis=1), beside) == pytest.approx(
        np.exp(-4 / 16), abs=0.12
    )
    assert (
        abs(correlation(first, np.roll(first, 16, axis=1), here & np.roll(here, 16, axis=1))) < 0.15
    )
    assert abs(correlation(first, second, here)) < 0.15


def test_borders_fly_and_holes_are_zero(camera, bent):
    truth, frame = (
        camera.capture_truth(bent.joint_positions()),
        camera.capture(bent.joint_positions()),
    )
    assert frame.depth.dtype == np.uint16 and frame.depth.shape == (IMAGE.height_px, IMAGE.width_px)
    noise, step = PARAMETERS.noise, np.zeros(truth.depth_m.shape)
    for axis in (0, 1):
        for shift in (-noise.border_width_px, noise.border_width_px):
            step = np.maximum(step, np.abs(np.roll(truth.depth_m, shift, axis) - truth.depth_m))
    border = step > 0.1
    border[:3] = border[-3:] = border[:, :3] = border[:, -3:] = False
    measured = frame.depth[border] > 0
    flying = np.abs(frame.depth[border] * 1e-3 - truth.depth_m[border])[measured] > 0.02
    assert border.sum() > 3000
    assert 0.3 < flying.mean() < 0.55
    inside = flat(truth.depth_m)
    assert (frame.depth[inside] == 0).mean() == pytest.approx(noise.hole_share, rel=0.5)
    assert (frame.depth[border] == 0).mean() == pytest.approx(
        noise.hole_share + noise.border_hole_share, rel=0.3
    )


def test_closing_a_camera_leaves_the_pictures_of_another(camera, bent):
    other = VirtualCamera(ROBOT, PARAMETERS, JIG, 4)
    other.capture(bent.joint_positions())
    before = camera.capture_truth(bent.joint_positions())
    other.close()
    after = camera.capture_truth(bent.joint_positions())
    np.testing.assert_array_equal(after.rgb, before.rgb)
    np.testing.assert_array_equal(after.depth_m, before.depth_m)


def test_without_opengl_one_line_says_what_to_install(monkeypatch):
    monkeypatch.delattr(mujoco, 'GLContext')
    with pytest.raises(SimulationError, match='apt-get install libegl1'):
        VirtualCamera(ROBOT, PARAMETERS, JIG, 0)


TURNED_RAD = 1.2


def brightness(world, turned_rad):
    """Mean brightness of what the camera limb sees with the light limb bent away."""
    sim = Simulation('squid', world, time_step_s=0.001)
    light = sim.robots['light']
    light.actuate([turned_rad, -np.pi / 2, 0.6])
    sim.step(2.0)
    cameras = WorldCameras(sim.model, sim.world.cameras)
    try:
        return float(cameras.draw('viewpoint', sim.data.qpos).mean())
    finally:
        cameras.close()


def test_turning_the_light_limb_away_darkens_the_picture():
    world = load_world('squid_sea')
    towards, away = brightness(world, 0.0), brightness(world, TURNED_RAD)
    assert away < 0.7 * towards
    without = world.model_copy(update={'lights': world.lights[:1]})  # no spot light
    assert without.lights[0].name == 'surface'
    assert brightness(without, 0.0) < 0.5 * towards  # nothing shines from the camera
