"""What no camera has is refused."""

from types import SimpleNamespace

import pytest

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


def test_usual_lenses_are_taken():
    for distortion in (
        (),
        (0.0,) * 5,
        (-0.11, 0.0, 0.0, 0.0, 0.0),
        (0.16, -0.49, 0.0002, -0.0005, 0.44),
        (0.1, 0.05, 0.0, 0.0),
    ):
        Intrinsics(**GOOD | {'distortion': distortion})


def test_lens_model_of_a_fish_eye_is_refused():
    info = SimpleNamespace(
        width=640,
        height=480,
        k=[607.0, 0, 320.0, 0, 607.0, 240.0, 0, 0, 1.0],
        d=[0.1, 0.0, 0.0, 0.0],
    )
    for model in ('plumb_bob', 'rational_polynomial', ''):
        assert (
            Intrinsics.of_camera_info(
                SimpleNamespace(distortion_model=model, **vars(info))
            ).distortion[0]
            == 0.1
        )
    with pytest.raises(VisionError, match="lens model 'equidistant'"):
        Intrinsics.of_camera_info(SimpleNamespace(distortion_model='equidistant', **vars(info)))
