import numpy as np
import pytest

from soft_arm_vision.clouds.cloud import back_project_cells, depth_in_metres, solid_pixels
from soft_arm_vision.intrinsics import Intrinsics

CAMERA = Intrinsics(64, 48, 60.0, 61.0, 31.5, 23.0)


def test_points_project_back_onto_the_middle_of_their_cells():
    depth_m = np.linspace(0.3, 0.8, 48 * 64).reshape(48, 64).astype(np.float32)
    points = back_project_cells(np.ones((48, 64), bool), depth_m, CAMERA)
    u = CAMERA.fx * points[:, 0] / points[:, 2] + CAMERA.cx
    v = CAMERA.fy * points[:, 1] / points[:, 2] + CAMERA.cy
    middles = np.arange(0, 64, 2) + 0.5
    np.testing.assert_allclose(u.reshape(24, 32), np.tile(middles, (24, 1)), atol=1e-4)
    np.testing.assert_allclose(v.reshape(24, 32), np.tile(middles[:24, None], (1, 32)), atol=1e-4)


def test_window_of_the_image_gives_the_same_points():
    depth_m = np.full((48, 64), 0.5, np.float32)
    window = np.zeros((48, 64), bool)
    window[10:20, 30:50] = True
    whole = back_project_cells(window, depth_m, CAMERA)
    part = back_project_cells(window[10:20, 30:50], depth_m[10:20, 30:50], CAMERA, (10, 30))
    np.testing.assert_allclose(whole, part, atol=1e-9)


@pytest.mark.parametrize('bad', [np.nan, np.inf, -0.5, 0.0])
def test_missing_depth_is_no_data(bad):
    depth = np.full((4, 4), 0.5, np.float32)
    depth[1, 2] = bad
    metres = depth_in_metres(depth)
    assert metres[1, 2] == 0
    assert (metres > 0).sum() == 15


def test_millimetres_become_metres():
    assert depth_in_metres(np.array([[470]], np.uint16))[0, 0] == pytest.approx(0.47)


def test_flying_pixels_and_border_are_dropped():
    depth_m = np.full((40, 40), 0.5, np.float32)
    mask = np.zeros((40, 40), bool)
    mask[5:35, 5:35] = True
    depth_m[20, 20] = 0.54  # flies between fore- and background
    depth_m[25, 10] = 0  # a hole does not spoil its neighbours
    kept = solid_pixels(mask, depth_m, 0.024)
    assert not kept[20, 20]
    assert not kept[25, 10] and kept[25, 11]
    assert not kept[6, 20] and kept[7, 20]
