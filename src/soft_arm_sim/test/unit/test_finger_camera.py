"""The finger's camera against geometry that it does not share.

OpenCV's projection of the finger's known points.
"""

import cv2
import numpy as np
import pytest

from soft_arm_description.robot import load_robot
from soft_arm_sim.cameras.finger_camera import FingerCamera
from soft_arm_sim.cameras.finger_scene import PAINT_M
from soft_arm_sim.cameras.parameters import Distortion, load_finger_camera_parameters
from soft_arm_sim.errors import SimulationError
from system_testing.finger import arc_backbone

ROBOT, PARAMETERS = load_robot('four_piece_finger'), load_finger_camera_parameters()
IMAGE, NOISE = PARAMETERS.image, PARAMETERS.noise
CAMERA = np.array([[IMAGE.fx_px, 0, IMAGE.cx_px], [0, IMAGE.fy_px, IMAGE.cy_px], [0, 0, 1.0]])
BENT, VACUUM = np.array([0.31, 0.36, 0.30, 0.25]), np.array([-0.20, -0.18, -0.22, -0.15])


@pytest.fixture(scope='module')
def camera():
    camera = FingerCamera(ROBOT, PARAMETERS, 3)
    yield camera
    camera.close()


def project(points_m):
    """Pixels (n, 2) of points in the finger's base frame through pinhole and lens.

    And their depth [m].
    """
    T = np.linalg.inv(PARAMETERS.mounting.T_base_optical)
    optical = points_m @ T[:3, :3].T + T[:3, 3]
    return cv2.projectPoints(
        optical, np.zeros(3), np.zeros(3), CAMERA, np.array(PARAMETERS.distortion.opencv)
    )[0][:, 0], optical[:, 2]


def ends(robot, angles):
    """T_base_end of every piece, (4, 4, 4)."""
    return arc_backbone(robot, angles)[np.cumsum([s.sections for s in robot.segments])]


def line_points(angles, shares):
    """Points on the face of every cut line, (4, n, 3)."""
    radius_m = ROBOT.segments[0].body_radius_m
    local = np.array([[share * radius_m, -radius_m - PAINT_M, 0.0] for share in shares])
    return np.stack([local @ T[:3, :3].T + T[:3, 3] for T in ends(ROBOT, angles)])


@pytest.mark.parametrize('angles', [BENT, VACUUM, np.zeros(4)])
def test_paint_is_where_projection_says(camera, angles):
    rgb, depth_m = camera.capture_truth(arc_backbone(ROBOT, angles))
    pixels, depths_m = project(line_points(angles, np.linspace(-0.9, 0.9, 15)).reshape(-1, 3))
    u, v = np.rint(pixels).astype(int).T
    red, green, blue = rgb[v, u].astype(int).T
    assert (red > 2 * green).all() and (red > 3 * blue).all()
    assert depth_m[v, u] == pytest.approx(depths_m, abs=2e-4)
    inside = (
        line_points(angles, np.linspace(-0.8, 0.8, 9)) - 0.003 * ends(ROBOT, angles)[:, None, :3, 2]
    ).reshape(-1, 3)
    u, v = np.rint(project(inside)[0]).astype(int).T
    assert (np.ptp(rgb[v, u].astype(int), axis=1) < 30).all()  # the body beside the paint is grey


def test_a_lines_middle_is_there_to_a_tenth_of_a_pixel(camera):
    rgb, _ = camera.capture_truth(arc_backbone(ROBOT, np.zeros(4)))
    paint = rgb[..., 0].astype(float) - rgb[..., 2]
    for points in line_points(np.zeros(4), np.linspace(-0.8, 0.8, 40)):
        errors = []
        for u, v in project(points)[0]:
            column, rows = round(u), np.arange(round(v) - 4, round(v) + 5)
            weight = np.clip(paint[rows, column] - 40.0, 0.0, None)
            errors.append(weight @ rows / weight.sum() - v)
        assert abs(np.mean(errors)) < 0.15 and np.std(errors) < 0.25


def test_the_lens_is_in_the_picture():
    """A strong lens far from its axis moves the lines by pixels, to where OpenCV says."""
    lens = Distortion(k1=-0.32, k2=0.08, k3=0.0, p1=0.004, p2=-0.003)
    aside = PARAMETERS.mounting.model_copy(
        update={'position_m': (0.075, -0.2, -0.01), 'look_at_m': (0.075, 0.0, -0.01)}
    )
    camera = FingerCamera(
        ROBOT, PARAMETERS.model_copy(update={'distortion': lens, 'mounting': aside}), 0
    )
    rgb, _ = camera.capture_truth(arc_backbone(ROBOT, VACUUM))
    camera.close()
    T = np.linalg.inv(aside.T_base_optical)
    optical = line_points(VACUUM, np.linspace(-0.8, 0.8, 9))[-1] @ T[:3, :3].T + T[:3, 3]
    bent, straight = (
        cv2.projectPoints(optical, np.zeros(3), np.zeros(3), CAMERA, d)[0][:, 0]
        for d in (np.array(lens.opencv), None)
    )
    assert np.linalg.norm(bent - straight, axis=1).min() > 10
    u, v = np.rint(bent).astype(int).T
    assert (rgb[v, u, 0] > 2 * rgb[v, u, 1].astype(int)).all()


def test_noise_is_on_both_and_repeats_with_its_seed(camera):
    truth, depth_m = camera.capture_truth(arc_backbone(ROBOT, BENT))
    frames = []
    for seed in (5, 5, 6):
        other = FingerCamera(ROBOT, PARAMETERS, seed)
        frames.append(other.capture(arc_backbone(ROBOT, BENT)))
        other.close()
    assert all(np.array_equal(a, b) for a, b in zip(frames[0], frames[1], strict=True))
    assert not np.array_equal(frames[0][0], frames[2][0]) and not np.array_equal(
        frames[0][1], frames[2][1]
    )
    rgb, depth = frames[0]
    plain = (truth > 20).all(axis=2) & (truth < 235).all(axis=2)
    assert np.std(rgb[plain].astype(float) - truth[plain]) == pytest.approx(
        NOISE.colour_sigma, rel=0.1
    )
    assert depth.dtype == np.uint16
    assert (depth == 0).mean() == pytest.approx(NOISE.hole_share, abs=0.01)


@pytest.mark.parametrize('backbone', [np.zeros((16, 4, 4)), np.full((17, 4, 4), np.nan)])
def test_a_backbone_that_is_none_is_refused(camera, backbone):
    with pytest.raises(SimulationError, match='17 finite'):
        camera.capture(backbone)


def test_a_robot_without_lines_is_refused():
    with pytest.raises(SimulationError, match='cut_lines'):
        FingerCamera(load_robot('modal_bellows'), PARAMETERS, 0)


def test_a_lens_that_folds_the_picture_is_refused():
    lens = Distortion(k1=-2.5, k2=0.0, k3=0.0, p1=0.0, p2=0.0)
    with pytest.raises(SimulationError, match='folds'):
        FingerCamera(ROBOT, PARAMETERS.model_copy(update={'distortion': lens}), 0)
