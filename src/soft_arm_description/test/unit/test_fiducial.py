import numpy as np
import pytest
from pydantic import ValidationError

from soft_arm_description.fiducial import Fiducial

MARKER = {'id': 3, 'position_m': (0.05, 0.0, 0.01), 'rpy_deg': (90.0, 0.0, 90.0)}
FIDUCIAL = {
    'dictionary': 'DICT_APRILTAG_36h11',
    'printed_from': 'apriltag',
    'size_m': 0.04,
    'markers': (MARKER,),
}


def test_corners_go_clockwise_from_the_upper_left_as_one_looks_at_the_marker():
    (corners_m,) = Fiducial(**FIDUCIAL).corners_m.values()
    # It looks along x, its upper edge is that with the larger z, and its right is y.
    expected_m = [
        (0.05, -0.02, 0.03),
        (0.05, 0.02, 0.03),
        (0.05, 0.02, -0.01),
        (0.05, -0.02, -0.01),
    ]
    np.testing.assert_allclose(corners_m, expected_m, atol=1e-12)


@pytest.mark.parametrize(
    ('key', 'value', 'words'),
    [
        ('markers', (MARKER, MARKER), 'id'),
        ('markers', (), 'at least 1'),
        ('markers', ({**MARKER, 'id': 587},), '0..586'),
        ('dictionary', 'DICT_NOPE', 'DICT_4X4_50'),
        ('dictionary', 'DICT_4X4_50', 'remove the key'),
        ('printed_from', None, 'give apriltag'),
        ('size_m', 40.0, 'm'),
    ],
)
def test_what_no_camera_could_find_is_refused(key, value, words):
    with pytest.raises(ValidationError, match=words):
        Fiducial(**FIDUCIAL | {key: value})
