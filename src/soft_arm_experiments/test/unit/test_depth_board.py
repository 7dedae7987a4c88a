"""The sensor model fitted to a board of known size is the model of the camera."""

from functools import cache

import cv2
import numpy as np
import pytest
from scipy.ndimage import minimum_filter

from soft_arm_sim.cameras.board_scene import BOARD_M, board_frames
from soft_arm_sim.cameras.parameters import load_camera_parameters
from soft_arm_vision.calibration.board import find_board
from soft_arm_vision.calibration.depth_board import fit_sensor, view_board
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics

GIVEN = {
    'depth_sigma_m_per_m2': 2.5e-3,
    'depth_correlation_px': 3.0,
    'depth_scale_error': -0.006,
    'border_width_px': 3,
}


@cache
def frames():
    parameters = load_camera_parameters()
    noise = parameters.noise.model_copy(update=GIVEN)
    parameters = parameters.model_copy(update={'noise': noise})
    i = parameters.image
    intrinsics = Intrinsics(i.width_px, i.height_px, i.fx_px, i.fy_px, i.cx_px, i.cy_px)
    return intrinsics, list(board_frames(parameters, 12, seed=5))


def measured(change=lambda depth_m: depth_m, photograph=lambda rgb: rgb):
    intrinsics, seen = frames()
    views = [
        view_board(photograph(f.rgb), change(1e-3 * f.depth), intrinsics, BOARD_M) for f, _ in seen
    ]
    return fit_sensor([v for v in views if v], intrinsics.fx, (0.2, 3.0), BOARD_M, 0.0)


def scale_error(sensor):
    return 1 / sensor.depth_scale - 1


def test_the_plane_of_the_board_is_found_by_colour():
    intrinsics, seen = frames()
    for frame, T in seen:
        board = find_board(frame.rgb, intrinsics, BOARD_M)
        middle = np.append(board.corners.mean(axis=0), 1.0)
        true_m = T[:3, 2] @ T[:3, 3] / (T[:3, 2] @ middle)
        assert board.depth_m(middle[:2]) == pytest.approx(true_m, rel=2e-3)


def test_what_the_virtual_camera_was_made_with_is_measured():
    sensor, _ = measured()
    assert sensor.noise_m_per_m2 == pytest.approx(GIVEN['depth_sigma_m_per_m2'], rel=0.1)
    assert sensor.correlation_px == pytest.approx(GIVEN['depth_correlation_px'], rel=0.15)
    assert scale_error(sensor) == pytest.approx(GIVEN['depth_scale_error'], abs=1e-3)
    assert abs(sensor.bias_m) < 8e-4 and sensor.scale_sd < 1e-3
    assert sensor.quantum_m == 1e-3 and sensor.disparity_quantum_m_per_m2 == 0
    assert sensor.edge_width_px == pytest.approx(GIVEN['border_width_px'], abs=1.0)
    assert sensor.fattening_px < 0.3 and sensor.edge_sd_px < 0.4


def test_depth_that_reaches_past_the_edge_is_found():
    plain, _ = measured()
    fat, _ = measured(lambda z: minimum_filter(np.where(z > 0, z, 9.0), 5) % 9.0)
    assert fat.fattening_px == pytest.approx(plain.fattening_px + 2.0, abs=0.7)


def test_an_offset_of_all_depths_is_found():
    plain, _ = measured()
    near, _ = measured(lambda z: np.where(z > 0, z - 2e-3, 0.0))
    assert near.bias_m < -1e-3 < plain.bias_m
    more_m = near.bias_m - plain.bias_m + 0.7 * (scale_error(near) - scale_error(plain))
    assert more_m == pytest.approx(-2e-3, abs=5e-4)


@pytest.mark.parametrize('gamma', [1.0, 2.2, 3.0])
@pytest.mark.parametrize('blur_px', [0.8, 1.2])
def test_what_light_pixels_stand_for_is_told_by_blurred_edges(gamma, blur_px):
    def photograph(rgb):
        light = cv2.GaussianBlur(rgb / 255, (0, 0), blur_px)
        return np.rint(255 * light ** (1 / gamma)).astype(np.uint8)

    sensor, _ = measured(photograph=photograph)
    assert sensor.pixel_gamma == pytest.approx(gamma, rel=0.1)
    assert scale_error(sensor) == pytest.approx(GIVEN['depth_scale_error'], abs=1e-3)


def test_edges_of_one_pixel_do_not_tell():
    assert measured()[0].pixel_gamma == 1.0


def test_an_overexposed_board_does_not_tell():
    def photograph(rgb):
        light = cv2.GaussianBlur(rgb / rgb.max(), (0, 0), 1.2)
        return np.rint(255 * np.minimum(1.5 * light, 1.0) ** (1 / 2.2)).astype(np.uint8)

    assert measured(photograph=photograph)[0].pixel_gamma == 1.0


def test_coarse_disparity_is_seen_as_steps_that_grow_with_depth():
    step_m_per_m2 = 5e-3

    def coarse(z):
        with np.errstate(divide='ignore'):
            return np.where(z > 0, 1 / (step_m_per_m2 * np.rint(1 / z / step_m_per_m2)), 0.0)

    sensor, _ = measured(coarse)
    assert sensor.disparity_quantum_m_per_m2 == pytest.approx(step_m_per_m2, rel=0.4)


def test_too_few_or_too_similar_views_are_refused():
    intrinsics, seen = frames()
    view = view_board(seen[0][0].rgb, 1e-3 * seen[0][0].depth, intrinsics, BOARD_M)
    for views, words in (([view] * 3, 'at least 8'), ([view] * 9, 'from one distance')):
        with pytest.raises(VisionError, match=words):
            fit_sensor(views, intrinsics.fx, (0.2, 3.0), BOARD_M, 0.0)


def test_depth_in_another_unit_is_refused():
    with pytest.raises(VisionError, match='the unit of the depth'):
        measured(lambda z: 0.5 * z)


def test_no_board_is_no_view():
    intrinsics, seen = frames()
    grey = np.full_like(seen[0][0].rgb, 90)
    assert view_board(grey, 1e-3 * seen[0][0].depth, intrinsics, BOARD_M) is None
