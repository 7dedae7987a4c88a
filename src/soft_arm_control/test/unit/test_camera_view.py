import numpy as np
import pytest

from soft_arm_control.errors import OutsideViewError
from soft_arm_control.tip.camera_view import CameraView

MATRIX = np.array([[600.0, 0.0, 320.0], [0.0, 600.0, 240.0], [0.0, 0.0, 1.0]])
# Half a metre in front of the arm, which hangs along z of the base; x of both frames agree.
T_BASE_CAMERA = np.array(
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, -0.5], [0.0, 1.0, 0.0, 0.2], [0.0, 0.0, 0.0, 1.0]]
)
VIEW = CameraView(T_BASE_CAMERA, MATRIX, 640, 480)


@pytest.mark.parametrize('point_m', [(0.0, 0.0, 0.2), (0.26, 0.0, 0.2), (0.0, 0.0, 0.395)])
def test_a_target_in_the_image_is_taken(point_m):
    VIEW.check(np.array(point_m))


@pytest.mark.parametrize(
    ('point_m', 'words'),
    [
        ((0.275, 0.0, 0.2), '11 px outside the image of 640 x 480 px'),
        ((0.0, 0.0, -0.05), '60 px outside'),
        ((0.0, -0.6, 0.2), '100 mm behind the camera'),
    ],
)
def test_a_target_out_of_the_image_is_refused(point_m, words):
    with pytest.raises(OutsideViewError, match=words):
        VIEW.check(np.array(point_m))
