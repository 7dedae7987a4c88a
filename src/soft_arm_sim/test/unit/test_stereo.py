"""The stereo camera against the exact depth of the same scenes."""

import cv2
import numpy as np
import pytest

from soft_arm_description.robot import load_robot
from soft_arm_sim.cameras.camera import VirtualCamera
from soft_arm_sim.cameras.parameters import load_calibration_jig
from soft_arm_sim.cameras.random_scenes import scaled_camera
from soft_arm_sim.cameras.stereo import align_nearest

ROBOT = load_robot('two_module_arm')
PARAMETERS = scaled_camera(ROBOT, 1.0, 'stereo')
STEREO, IMAGE = PARAMETERS.stereo, PARAMETERS.image


@pytest.fixture(scope='module')
def camera():
    camera = VirtualCamera(ROBOT, PARAMETERS, load_calibration_jig(), seed=5)
    yield camera
    camera.close()


@pytest.fixture(scope='module')
def shot(camera):
    """Return exact depth [m], measured depth [mm] and the ring's mask of the arm at rest."""
    qpos = np.zeros(camera.joints)
    truth = camera.capture_truth(qpos)
    return truth.depth_m, camera.capture(qpos).depth, truth.ring_mask


def test_flat_surfaces_are_measured_within_the_noise_of_a_d435i(shot):
    exact_m, depth, _ = shot
    smooth = cv2.morphologyEx(exact_m, cv2.MORPH_GRADIENT, np.ones((15, 15))) < 0.03
    inside = smooth & (exact_m < 1.5)
    inside[:, :40] = inside[:, -40:] = False
    known = inside & (depth > 0)
    pixels = STEREO.focal_px * STEREO.baseline_m * (1 / exact_m[known] - 1 / (1e-3 * depth[known]))
    assert known.sum() > 0.85 * inside.sum()
    assert abs(np.median(pixels)) < 0.1
    assert 0.03 < 1.4826 * np.median(np.abs(pixels - np.median(pixels))) < 0.2


def test_the_near_side_of_an_edge_grows_and_the_far_side_has_a_shadow(shot):
    exact_m, depth, ring = shot
    around = cv2.dilate(ring.astype(np.uint8), np.ones((7, 7))).astype(bool) & ~ring
    behind = around & (exact_m > np.median(exact_m[ring]) + 0.1)
    measured_m = 1e-3 * depth[behind]
    assert np.mean(measured_m == 0) > 0.02
    near_m = np.median(exact_m[ring])
    assert np.mean((measured_m > 0) & (np.abs(measured_m - near_m) < 0.04)) > 0.2


def test_images_differ_by_noise_and_pattern_alone(camera):
    qpos = np.zeros(camera.joints)
    first, second = camera.capture(qpos).depth, camera.capture(qpos).depth
    both = (first > 0) & (second > 0)
    apart = np.abs(first[both].astype(int) - second[both].astype(int))
    assert apart.max() > 0
    assert np.mean(apart <= 0.05 * first[both]) > 0.98


@pytest.mark.parametrize('depth_mm', [300, 500, 900])
def test_aligned_depth_of_a_plane_has_no_gaps(depth_mm):
    plane = np.full((STEREO.height_px, STEREO.width_px), depth_mm, np.uint16)
    aligned = align_nearest(plane, PARAMETERS)
    assert (aligned[2:-2, 2:-2] == depth_mm).all()  # what would reach over the border is left out


def test_a_point_is_aligned_where_colour_sees_it_and_the_nearest_stays():
    near_mm, far_mm, u, v = 400, 800, 450, 250
    depth = np.full((STEREO.height_px, STEREO.width_px), far_mm, np.uint16)
    depth[v, u] = near_mm
    rows, columns = np.nonzero(align_nearest(depth, PARAMETERS) == near_mm)
    ray = np.array([u - STEREO.cx_px, v - STEREO.cy_px, STEREO.focal_px]) / STEREO.focal_px
    x, y, z = ray * 1e-3 * near_mm + STEREO.position_m
    assert abs(columns.mean() - (IMAGE.fx_px * x / z + IMAGE.cx_px)) <= 1
    assert abs(rows.mean() - (IMAGE.fy_px * y / z + IMAGE.cy_px)) <= 1
    assert 2 <= len(set(columns)) <= 3
