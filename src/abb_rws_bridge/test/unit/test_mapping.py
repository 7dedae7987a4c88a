"""Units and orders at the border (T15), and RAPID literals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abb_rws_bridge import irb120, mapping
from abb_rws_bridge.errors import BadResponse, ConfigurationError

ROBTARGET = {
    'x': '245.4252',
    'y': '79.2751',
    'z': '510.5658',
    'q1': '0.021432',
    'q2': '0.514601',
    'q3': '0.761545',
    'q4': '0.393417',
}


def test_robtarget_becomes_the_pose_of_the_same_joints():
    np.testing.assert_allclose(
        mapping.pose(ROBTARGET),
        irb120.forward_kinematics(np.deg2rad([10, -20, 30, 40, 50, 60])),
        atol=2e-6,
    )


def test_ros_has_the_scalar_last_and_the_controller_first():
    turn = irb120.forward_kinematics(np.deg2rad([10, -20, 30, 40, 50, 60]))[:3, :3]
    np.testing.assert_allclose(
        mapping.q_xyzw(turn), [0.514601, 0.761545, 0.393417, 0.021432], atol=2e-6
    )


@given(st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1))
def test_quaternions_survive_the_way_there_and_back(q):
    q = np.array(q) / np.linalg.norm(q)
    np.testing.assert_allclose(
        mapping.rotation(mapping.q_wxyz(mapping.rotation(q))), mapping.rotation(q), atol=1e-12
    )


@pytest.mark.parametrize('prefix', ['rax_', 'j'])
def test_jointtarget_is_in_degrees(prefix):
    fields = {f'{prefix}{i}': str(30.0 * i) for i in range(1, 7)}
    np.testing.assert_allclose(mapping.joints_rad(fields), np.pi / 6 * np.arange(1, 7))


@pytest.mark.parametrize(
    'change', [{'rax_3': '9E+09'}, {'rax_3': 'NaN'}, {'rax_3': ''}, {'rax_3': 'inf'}]
)
def test_a_jointtarget_that_is_none_is_refused(change):
    fields = {f'rax_{i}': '0' for i in range(1, 7)} | change
    with pytest.raises(BadResponse):
        mapping.joints_rad(fields)
    with pytest.raises(BadResponse):
        mapping.joints_rad({})
    with pytest.raises(BadResponse, match='length'):
        mapping.pose(ROBTARGET | {'q1': '1'})


@given(st.lists(st.floats(-6.9, 6.9), min_size=6, max_size=6))
def test_literal_of_a_jointtarget_can_be_read_back(joints_rad):
    degrees, external = mapping.parse_literal(mapping.jointtarget_literal(joints_rad))
    np.testing.assert_allclose(np.deg2rad(degrees), joints_rad, atol=1e-8)
    assert external == [0] * 6


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('TRUE', True),
        ('-9E+09', -9e9),
        ('"a ""b"" ]"', 'a "b" ]'),
        ('[[1,2],["x",FALSE],[]]', None),
        (' [ 1 , 2.5 ] ', [1, 2.5]),
        ('.5', 0.5),
    ],
)
def test_literals(text, value):
    if value is None:
        with pytest.raises(ConfigurationError):
            mapping.parse_literal(text)
    else:
        assert mapping.parse_literal(text) == value


@pytest.mark.parametrize(
    'text',
    [
        '',
        '1e999',
        '[-1e999]',
        '[',
        ']',
        '[1,',
        '[1,]',
        '[,1]',
        '1,2',
        '[1 2]',
        '1 2',
        '[1]]',
        'NaN',
        'a',
        '"open',
        '[1];DROP',
        '1&x=2',
    ],
)
def test_what_is_no_literal_is_refused(text):
    with pytest.raises(ConfigurationError):
        mapping.parse_literal(text)


def test_speed_ratio_is_percent_over_there():
    assert mapping.percent(0.5) == '50' and mapping.ratio('50') == 0.5
    for bad in (-0.01, 1.01, float('nan')):
        with pytest.raises(ConfigurationError):
            mapping.percent(bad)
