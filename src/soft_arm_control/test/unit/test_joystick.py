import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soft_arm_control.errors import ControlError
from soft_arm_control.joystick import Joystick, SegmentBinding
from soft_arm_description.robot import load_robot

ROBOTS = [load_robot('squid_camera'), load_robot('squid_grasper')]
CAMERA = SegmentBinding('camera_1', 0, 1, 2, button=1)
PERIOD_S = 0.02


def joystick(*grips):
    return Joystick(ROBOTS, grips or (CAMERA,), 0.5, 0.02, 0.1)


def test_a_stick_bends_at_its_rate_while_its_button_is_held():
    stick = joystick()
    for _ in range(50):
        [(name, theta, phi, ell)] = stick.move([0.0, -0.5, 0.0], [0, 1], PERIOD_S)
    assert (name, theta, phi) == ('camera_1', pytest.approx(0.25), pytest.approx(-math.pi / 2))
    assert ell == pytest.approx(0.59)
    assert stick.move([1.0, 1.0, 1.0], [1, 0], PERIOD_S) == []
    assert stick.move([0.09, -0.09, 0.0], [0, 1], PERIOD_S) == []  # the stick rests


def test_it_goes_on_from_what_others_command():
    stick = joystick()
    stick.follow('camera_1', 0.8, 0.0, 0.6)
    stick.follow('camera_1', math.nan, 0.0, 0.6)
    stick.follow('tail', 0.1, 0.0, 0.6)
    [(_, theta, phi, ell)] = stick.move([0.0, 1.0, -1.0], [0, 1], PERIOD_S)
    assert theta * math.cos(phi) == pytest.approx(0.8)
    assert theta * math.sin(phi) == pytest.approx(0.01)
    assert ell == pytest.approx(0.6 - 0.0004)


@given(
    st.lists(st.tuples(*[st.floats(-1.0, 1.0)] * 3), min_size=1, max_size=30), st.floats(0.01, 2.0)
)
def test_a_segment_stays_within_its_limits(sticks, period_s):
    arm, stick = ROBOTS[0].segments[0], joystick()
    for axes in sticks:
        for _, theta, phi, ell in stick.move(axes, [0, 1], period_s):
            for coordinate, value in zip(arm.coordinates, (theta, phi, ell), strict=True):
                assert coordinate.low - 1e-9 <= value <= coordinate.high + 1e-9


@pytest.mark.parametrize(
    ('axes', 'buttons', 'word'),
    [
        ([0.0, 0.0], [0, 1], '2 axes'),
        ([0.0, 0.0, 0.0], [1], '1 buttons'),
        ([0.0, math.nan, 0.0], [0, 1], 'nan'),
        ([0.0, 0.0, 3.0], [0, 1], '3.0'),
    ],
)
def test_another_joystick_moves_nothing(axes, buttons, word):
    stick = joystick(SegmentBinding('grasper_1', 0, 1), CAMERA)
    with pytest.raises(ControlError, match=word):
        stick.move([1.0, *axes[1:]], buttons, PERIOD_S)
    [(_, theta, _, _)] = stick.move([1.0, 0.0, 0.0], [0, 0], PERIOD_S)
    assert theta == pytest.approx(0.01)  # one period from rest: the first call moved nothing


def test_wrong_segments_are_refused():
    with pytest.raises(ControlError, match="'tail'.*camera_1"):
        joystick(SegmentBinding('tail', 0, 1))
    with pytest.raises(ControlError, match='twice'):
        joystick(CAMERA, CAMERA)
