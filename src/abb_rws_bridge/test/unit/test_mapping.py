"""Units (T15) and RAPID literals."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abb_rws_bridge import mapping
from abb_rws_bridge.errors import BadResponse, ConfigurationError


def test_a_jointtarget_is_in_degrees():
    fields = {f'rax_{i}': str(30.0 * i) for i in range(1, 7)}
    np.testing.assert_allclose(mapping.joints_rad(fields), np.pi / 6 * np.arange(1, 7))


@pytest.mark.parametrize(
    'change', [{'rax_3': '9E+09'}, {'rax_3': 'NaN'}, {'rax_3': ''}, {'rax_3': 'inf'}]
)
def test_an_invalid_jointtarget_is_refused(change):
    fields = {f'rax_{i}': '0' for i in range(1, 7)} | change
    with pytest.raises(BadResponse):
        mapping.joints_rad(fields)
    with pytest.raises(BadResponse):
        mapping.joints_rad({})


@given(st.lists(st.floats(-6.9, 6.9), min_size=6, max_size=6))
def test_the_literal_of_a_jointtarget_contains_its_joint_angles(joints_rad):
    literal = mapping.jointtarget_literal(joints_rad)
    mapping.check_literal(literal)
    degrees, external = json.loads(literal)
    np.testing.assert_allclose(np.deg2rad(degrees), joints_rad, atol=1e-8)
    assert external == [0] * 6


@pytest.mark.parametrize(
    'text', ['TRUE', '-9E+09', '"a ""b"" ]"', '[[1,2],["x",FALSE]]', ' [ 1 , 2.5 ] ', '.5']
)
def test_literals_are_accepted(text):
    mapping.check_literal(text)


@pytest.mark.parametrize(
    'text',
    [
        *('', '1e999', '[-1e999]', '[', ']', '[1,', '[1,]', '[,1]', '1,2', '[1 2]', '1 2', '[1]]'),
        *('NaN', 'a', '"open', '[1];DROP', '1&x=2', '[]', '１', '[' * 20_000),
    ],
)
def test_an_invalid_literal_is_refused(text):
    with pytest.raises(ConfigurationError):
        mapping.check_literal(text)


def test_the_speed_ratio_is_a_percentage():
    assert mapping.percent(0.5) == '50' and mapping.ratio('50') == 0.5
    for bad in (-0.01, 1.01, float('nan')):
        with pytest.raises(ConfigurationError):
            mapping.percent(bad)
