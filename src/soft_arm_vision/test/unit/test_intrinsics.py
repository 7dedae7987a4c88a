"""Impossible intrinsics are rejected."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics

GOOD = {
    'width': 640,
    'height': 480,
    'fx': 607.0,
    'fy': 607.0,
    'cx': 320.0,
    'cy': 240.0,
    'distortion': (),
}
NAN, INF = float('nan'), float('inf')


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'width': 0, 'height': 0}, '0 x 0 px'),
        ({'fx': INF}, 'positive and finite'),
        ({'fy': NAN}, 'positive and finite'),
        ({'fx': 0.0}, 'is the camera calibrated'),
        ({'cx': NAN}, 'must be finite'),
        ({'distortion': (0.1, NAN, 0.0, 0.0, 0.0)}, 'must be finite'),
        ({'distortion': (0.1, 0.2, 0.0)}, '3 distortion coefficients'),
        ({'distortion': (-5.0, 0.0, 0.0, 0.0, 0.0)}, 'cannot be undone'),
    ],
)
def test_numbers_of_no_camera_are_named(changes, reason):
    with pytest.raises(VisionError, match=reason):
        Intrinsics(**GOOD | changes)


@settings(max_examples=30, deadline=None)
@given(
    size=st.sampled_from([(640, 480), (848, 480), (1280, 720)]),
    k1=st.floats(-0.15, 0.2),
    p=st.tuples(st.floats(-2e-3, 2e-3), st.floats(-2e-3, 2e-3)),
    rational=st.booleans(),
)
def test_rays_and_pixels_are_each_others_inverse_through_any_lens(size, k1, p, rational):
    lens = (0.3 + k1, -0.1, *p, 0.02, 0.3, -0.12, 0.01) if rational else (k1, 0.05, *p, 0.0)
    width, height = size
    camera = Intrinsics(width, height, 0.95 * width, 0.94 * width, width / 2, height / 2, lens)
    u, v = np.meshgrid(np.linspace(0, width - 1, 7), np.linspace(0, height - 1, 7))
    pixels = np.column_stack([u.ravel(), v.ravel()])
    rays = camera.rays(pixels)
    assert np.abs(camera.pixels(rays) - pixels).max() < 1e-6
    corner = camera.ray_grid()[-1, -1]
    assert np.abs(corner - rays[-1]).max() < 1e-6
    # The independent reference: OpenCV projects a point in space.
    matrix = np.array([[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1.0]])
    point = np.array([[*(0.5 * rays[0]), 0.5]])
    seen = cv2.projectPoints(point, np.zeros(3), np.zeros(3), matrix, np.array(lens))[0][0, 0]
    assert np.abs(seen - pixels[0]).max() < 1e-6


def test_no_pixels_have_no_rays():
    for distortion in ((), (-0.11, 0.0, 0.0, 0.0, 0.0)):
        camera = Intrinsics(**GOOD | {'distortion': distortion})
        assert camera.rays(np.empty((0, 2))).shape == (0, 2)
        assert camera.pixels(np.empty((0, 2))).shape == (0, 2)
