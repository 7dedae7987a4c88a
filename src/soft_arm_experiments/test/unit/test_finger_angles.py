"""From pictures of the virtual finger to bends, and the laws of what lies between."""

import cv2
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from soft_arm_description.robot import load_robot
from soft_arm_sim.cameras.finger_camera import FingerCamera
from soft_arm_sim.cameras.parameters import Distortion, load_finger_camera_parameters
from soft_arm_vision.errors import VisionError
from soft_arm_vision.finger.angles import FingerEstimator, bends, draw_lines, on_plane
from soft_arm_vision.finger.cut_lines import LinesNotFound, find_lines
from soft_arm_vision.intrinsics import Intrinsics
from system_testing.finger import arc_backbone

ROBOT, PARAMETERS = load_robot('four_piece_finger'), load_finger_camera_parameters()
SHAPE = np.array([0.22, 0.24, 0.22, 0.18])


def intrinsics_of(parameters):
    i = parameters.image
    return Intrinsics(
        i.width_px, i.height_px, i.fx_px, i.fy_px, i.cx_px, i.cy_px, parameters.distortion.opencv
    )


INTRINSICS = intrinsics_of(PARAMETERS)


@pytest.fixture(scope='module')
def camera():
    camera = FingerCamera(ROBOT, PARAMETERS, 2)
    yield camera
    camera.close()


def measure(parameters, angles, robot=ROBOT, side='minus_y', intrinsics=None):
    camera = FingerCamera(robot, parameters, 1)
    estimator = FingerEstimator(robot, intrinsics or intrinsics_of(parameters), side)
    lines = [estimator.update(*camera.capture(arc_backbone(robot, a))) for a in angles]
    camera.close()
    return np.array([estimator.estimate(seen).piece_angles_rad for seen in lines])


@given(
    st.integers(0, 10_000),
    st.lists(st.floats(-0.7, 0.7), min_size=4, max_size=4),
    st.lists(st.booleans(), min_size=5, max_size=5),
)
def test_bends_come_back_from_lines_in_any_plane(seed, angles, swapped):
    """The order of ends and the finger's pose do not matter; the other side reverses the sign."""
    assume(abs(np.cumsum(angles)).max() < 2.5)
    turn = Rotation.random(random_state=seed).as_matrix()
    heading, place, ends = 0.0, np.zeros(3), []
    for angle, swap in zip([0.0, *angles], swapped, strict=True):
        heading += angle / 2  # along the chord
        place = place + 0.014 * np.array([np.sin(heading), 0.0, np.cos(heading)])
        heading += angle / 2
        across = 0.01 * np.array([np.cos(heading), 0.0, -np.sin(heading)])
        ends.append([place + across, place - across][:: -1 if swap else 1])
    ends_m = np.array(ends) @ turn.T + [0.01, -0.02, 0.2]
    assert bends(ends_m, turn[:, 1]) == pytest.approx(angles, abs=1e-9)
    assert bends(ends_m, -turn[:, 1]) == pytest.approx(np.negative(angles), abs=1e-9)


@given(st.integers(0, 1000), st.floats(-0.4, 0.4), st.floats(-0.4, 0.4), st.floats(0.1, 1.0))
def test_rays_meet_the_plane(seed, a, b, depth_m):
    rays = np.random.default_rng(seed).uniform(-0.4, 0.4, (10, 2))
    plane = np.array([a, b, 1.0]) / depth_m
    points = on_plane(rays, plane)
    assert points @ plane == pytest.approx(np.ones(10)) and points[:, :2] / points[
        :, 2:
    ] == pytest.approx(rays)


def test_bends_are_measured_to_a_quarter_of_a_degree():
    draw = np.random.default_rng(7)
    angles = np.array(
        [SHAPE * draw.uniform(-0.9, 1.3) * (1 + 0.15 * draw.standard_normal(4)) for _ in range(20)]
    )
    errors = np.rad2deg(measure(PARAMETERS, angles) - angles)
    assert np.sqrt(np.mean(errors**2)) < 0.13 and np.abs(errors).max() < 0.5
    assert abs(errors.sum(axis=1).mean()) < 0.25


def test_a_strong_lens_matters_and_is_undone():
    lens = Distortion(k1=-0.45, k2=0.12, k3=0.0, p1=0.004, p2=-0.003)
    aside = PARAMETERS.mounting.model_copy(
        update={'position_m': (0.035, -0.2, -0.005), 'look_at_m': (0.035, 0.0, -0.005)}
    )
    parameters = PARAMETERS.model_copy(update={'distortion': lens, 'mounting': aside})
    angles = [-0.9 * SHAPE, -0.6 * SHAPE, -0.3 * SHAPE]
    undone = np.rad2deg(measure(parameters, angles) - angles)
    ignored = np.rad2deg(
        measure(parameters, angles, intrinsics=Intrinsics(640, 480, 610.0, 610.0, 322.4, 238.7))
        - angles
    )
    assert np.abs(undone).max() < 0.8 and np.abs(ignored.sum(axis=1)).max() > 2.0
    assert np.abs(undone.sum(axis=1)).max() < 0.7


def test_from_the_other_side_the_bends_have_the_same_sign():
    behind = PARAMETERS.mounting.model_copy(update={'position_m': (0.005, 0.2, 0.025)})
    # The wall of the scene stands behind the camera.
    parameters = PARAMETERS.model_copy(update={'mounting': behind})
    measured = measure(parameters, [SHAPE, -0.5 * SHAPE], side='plus_y')
    assert np.rad2deg(measured) == pytest.approx(np.rad2deg([SHAPE, -0.5 * SHAPE]), abs=0.6)
    assert np.rad2deg(measure(parameters, [SHAPE])) == pytest.approx(np.rad2deg([-SHAPE]), abs=0.6)


def test_the_plane_gets_better_with_pictures(camera):
    """The depth of one image has steps of 1 mm; several positions of the finger average them."""
    true_normal = PARAMETERS.mounting.T_base_optical[:3, :3].T @ [0.0, 1.0, 0.0]
    angles = [s * SHAPE for s in np.linspace(-0.9, 1.3, 12)]
    estimator, alone = FingerEstimator(ROBOT, INTRINSICS), []
    for a in angles:
        own, frame = FingerEstimator(ROBOT, INTRINSICS), camera.capture(arc_backbone(ROBOT, a))
        alone.append(own.estimate(own.update(*frame)).tilt_rad)
        lines = estimator.update(*frame)
    tilt_rad = np.arccos(true_normal[2])
    assert (
        abs(estimator.estimate(lines).tilt_rad - tilt_rad)
        < np.deg2rad(0.4)
        < np.abs(np.array(alone) - tilt_rad).max()
    )


@pytest.mark.parametrize('brightness', [0.45, 1.15])
def test_light_does_not_move_the_lines(camera, brightness):
    rgb, depth = camera.capture(arc_backbone(ROBOT, 0.7 * SHAPE))
    depth_m = depth * np.float32(1e-3)
    lit = np.clip(rgb * brightness, 0, 255).astype(np.uint8)
    moved = find_lines(lit, depth_m, INTRINSICS, ROBOT) - find_lines(
        rgb, depth_m, INTRINSICS, ROBOT
    )
    assert np.abs(moved).max() < 0.5


@pytest.mark.parametrize('line, words', [(0, 'reference'), (2, 'chain of 4'), (4, 'chain of 4')])
def test_a_hidden_line_is_told(camera, line, words):
    rgb, depth = camera.capture(arc_backbone(ROBOT, 0.7 * SHAPE))
    lines = find_lines(rgb, depth * np.float32(1e-3), INTRINSICS, ROBOT)
    hidden = cv2.line(rgb.copy(), *np.rint(lines[line]).astype(int).tolist(), (90, 90, 90), 16)
    with pytest.raises(LinesNotFound, match=words):
        find_lines(hidden, depth * np.float32(1e-3), INTRINSICS, ROBOT)


@pytest.mark.parametrize('length, distance', [(1.0, 1.5), (1.0, 0.4), (2.2, 1.0)])
def test_other_stripes_of_that_paint_are_no_lines(camera, length, distance):
    """Replace the tip's line by one of wrong length, or at a wrong distance."""
    rgb, depth = camera.capture(arc_backbone(ROBOT, 0.7 * SHAPE))
    # Depth gives nothing.
    depth_m = np.full(depth.shape, np.median(depth[200:240, 300:340]) * np.float32(1e-3))
    lines = find_lines(rgb, depth_m, INTRINSICS, ROBOT)
    paint = rgb[tuple(np.rint(lines[4].mean(axis=0)).astype(int)[::-1])].tolist()
    before = lines[3].mean(axis=0)
    tip = lines[4].mean(axis=0)
    hidden = cv2.line(rgb.copy(), *np.rint(lines[4]).astype(int).tolist(), (90, 90, 90), 16)
    middle = before + distance * (tip - before)
    half = 0.5 * length * 1.25 * (lines[4, 1] - lines[4, 0])

    def with_stripe(middle, half):
        return cv2.line(
            hidden.copy(), *np.rint([middle - half, middle + half]).astype(int).tolist(), paint, 4
        )

    find_lines(
        with_stripe(tip, 0.5 * 1.25 * (lines[4, 1] - lines[4, 0])), depth_m, INTRINSICS, ROBOT
    )
    with pytest.raises(LinesNotFound, match='chain of 4'):
        find_lines(with_stripe(middle, half), depth_m, INTRINSICS, ROBOT)


def test_clicks_take_the_place_of_detection(camera):
    """Clicks two pixels off along a line change nothing; across it, half a pixel counts."""
    estimator = FingerEstimator(ROBOT, INTRINSICS)
    frame = camera.capture(arc_backbone(ROBOT, 0.7 * SHAPE))
    found = estimator.update(*frame)
    along = np.diff(found, axis=1)[:, 0]
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    clicked = found + np.stack([2 * along, -2 * along], axis=1)
    grey = np.full_like(frame[0], 128)  # nothing could be found in this
    assert estimator.estimate(
        estimator.update(grey, frame[1], clicked)
    ).piece_angles_rad == pytest.approx(estimator.estimate(found).piece_angles_rad, abs=2e-3)
    across = np.column_stack([-along[:, 1], along[:, 0]])
    clicked[2, 0] += 0.5 * across[2]
    assert abs(
        estimator.estimate(clicked).piece_angles_rad - estimator.estimate(found).piece_angles_rad
    )[1] == pytest.approx(0.5 / 56, rel=0.5)


def test_an_overlay_shows_the_lines(camera):
    frame = camera.capture(arc_backbone(ROBOT, SHAPE))
    estimator = FingerEstimator(ROBOT, INTRINSICS)
    picture = draw_lines(frame[0], estimator.estimate(estimator.update(*frame)))
    changed = (picture != frame[0]).any(axis=2)
    assert 200 < changed.sum() < 5000 and (picture[changed].astype(int) @ [-1, 2, -1] > 200).any()


def test_what_cannot_be_measured_is_refused(camera):
    frame = camera.capture(arc_backbone(ROBOT, SHAPE))
    estimator = FingerEstimator(ROBOT, INTRINSICS)
    with pytest.raises(VisionError, match='differ in size'):
        estimator.update(frame[0][::2], frame[1])
    lines = estimator.update(*frame)
    with pytest.raises(VisionError, match='have depth'):
        estimator.update(frame[0], np.zeros_like(frame[1]), lines)
    with pytest.raises(VisionError, match='minus_y'):
        FingerEstimator(ROBOT, INTRINSICS, 'left')
    with pytest.raises(VisionError, match='cut_lines'):
        FingerEstimator(load_robot('modal_bellows'), INTRINSICS)
