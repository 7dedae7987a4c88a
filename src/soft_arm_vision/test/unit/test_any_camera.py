"""The ring is found by cameras of any usual size, focal length and lens."""

import numpy as np
import pytest

from soft_arm_description.robot import load_robot
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.detector import RingDetector
from soft_arm_vision.segmentation.segmenter import make_segmenter

RING = load_robot('two_module_arm').ring
PLUMB_BOB = (0.16, -0.49, 2e-4, -5e-4, 0.44)
BARREL = (-0.11, 0.02, 1e-3, -5e-4, 0.0)
RATIONAL = (0.4, -0.1, 1e-3, -1e-3, 0.02, 0.3, -0.12, 0.01)


@pytest.mark.parametrize('segmenter', ['yolact', 'colour'])
@pytest.mark.parametrize(
    ('size', 'focal_px', 'lens'),
    [
        ((640, 480), 607.0, BARREL),
        ((848, 480), 605.0, RATIONAL),
        ((1280, 720), 910.0, PLUMB_BOB),
        ((1280, 720), 640.0, ()),
    ],
)
def test_the_ring_far_from_the_middle_is_where_it_is(render_ring, size, focal_px, lens, segmenter):
    width, height = size
    camera = Intrinsics(
        width, height, focal_px, 1.005 * focal_px, width / 2 + 3, height / 2 - 5, lens
    )
    centre = np.array([0.3 * width / focal_px, 0.2 * height / focal_px, 1.0]) * 0.45
    frame = render_ring(centre, (0.2, 1.0, -0.2), intrinsics=camera, noise=0.5)
    detector = RingDetector(RING, make_segmenter(segmenter, RING))
    found = detector.detect(frame.colour, frame.depth, camera, lambda centre_m: frame.axis)
    assert found.fit is not None, found.reason
    assert np.linalg.norm(found.fit.centre - centre) < 1.5e-3
    assert found.fit.axis @ frame.axis > np.cos(np.radians(2.5))
