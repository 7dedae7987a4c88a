import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soft_arm_twin.controls import Button, Choice, Point, Slider, Switch, Text
from soft_arm_twin.errors import RefusedValueError

OF_ALL = {'name': 'x', 'label': 'Bellows 1', 'group': 'arm'}
SLIDER = Slider(**OF_ALL, low=-20.0, high=90.0, step=1.0, value=0.0, unit='kPa')
CONTROLS = {
    'slider': SLIDER,
    'switch': Switch(**OF_ALL, value=False),
    'button': Button(**OF_ALL),
    'choice': Choice(**OF_ALL, options=('a', 'b'), value='a'),
    'point': Point(**OF_ALL, low_m=(-1, -1, 0), high_m=(1, 1, 2), value_m=(0, 0, 0)),
    'text': Text(**OF_ALL, max_length=5),
}
GOOD = {'slider': 3, 'switch': True, 'button': None, 'choice': 'b', 'point': [0, 0, 2]}
GOOD['text'] = 'hello'
BAD = {
    'slider': [-20.001, math.nan, '3', True, None, [3], 10**400],
    'switch': [0, 1, 'true', None],
    'button': [True, 0, '', {}],
    'choice': ['c', 0, None, ['a'], '__class__'],
    'point': [[0, 0], [0, 0, 2.1], [0, 0, math.nan], 'abc', [0, 0, True], None, {'x': 0}],
    'text': ['hello!', 'a\nb', '\x1b[2J', 3, None],
}


@pytest.mark.parametrize('kind', GOOD)
def test_a_good_value_passes(kind):
    checked = CONTROLS[kind].checked(GOOD[kind])
    assert list(checked) == GOOD[kind] if kind == 'point' else checked == GOOD[kind]


@pytest.mark.parametrize(('kind', 'value'), [(k, v) for k in BAD for v in BAD[k]])
def test_a_bad_value_is_refused_in_one_line(kind, value):
    with pytest.raises(RefusedValueError) as refused:
        CONTROLS[kind].checked(value)
    assert '\n' not in str(refused.value)


@given(st.floats())
def test_a_slider_passes_a_number_unchanged_or_not_at_all(value):
    try:
        checked = SLIDER.checked(value)
    except RefusedValueError:
        assert not -20 <= value <= 90
    else:
        assert checked == value
        assert -20 <= checked <= 90
