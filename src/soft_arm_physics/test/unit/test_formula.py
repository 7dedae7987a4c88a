"""Formulas of time: they mean what they say, and nothing else can be smuggled in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soft_arm_physics import PhysicsError
from soft_arm_physics.actuation.formula import parse_formula

TIMES_S = np.linspace(0.0, 3.0, 31)


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('50e3*sin(2*pi*0.5*t)', 50e3 * np.sin(np.pi * TIMES_S)),
        ('-t**2 + 3', 3.0 - TIMES_S**2),
        ('10*(t < 1.05)', np.where(TIMES_S < 1.05, 10.0, 0.0)),
        ('min(t, 1) - max(-t, -2)', np.minimum(TIMES_S, 1) - np.maximum(-TIMES_S, -2)),
        ('t % 2', TIMES_S % 2),
        (' 7 ', np.full(31, 7.0)),
    ],
)
def test_a_formula_means_what_it_says(text, value):
    np.testing.assert_allclose(parse_formula(text)(TIMES_S), value, atol=1e-12)


def test_further_constants_may_stand_in_a_formula():
    formula = parse_formula('a * t + b', {'a': 2.0, 'b': -1.0})
    np.testing.assert_allclose(formula(TIMES_S), 2.0 * TIMES_S - 1.0)
    with pytest.raises(PhysicsError, match="'c' in .*pi, a$"):
        parse_formula('c * t', {'a': 2.0})


@pytest.mark.parametrize(
    'text',
    [
        '__import__("os")',
        't.real',
        'open("x")',
        '(lambda: 1)()',
        '[t]',
        't if t else 1',
        'sin(t, 2)',
        'sin',
        'x',
        'True',
        '"t"',
        '1j',
        't = 3',
        '',
        '(' * 300,
        '+'.join('t' * 400),
    ],
)
def test_everything_else_is_refused_in_a_line_that_says_what_is_allowed(text):
    with pytest.raises(PhysicsError, match='allowed are|characters') as refused:
        parse_formula(text)
    assert '\n' not in str(refused.value)


@pytest.mark.parametrize('text', ['1/t', '9**9**9**9', 'log(-1-t)', 'exp(1000)', '10**400'])
def test_a_value_that_is_not_finite_is_refused_with_its_time(text):
    with pytest.raises(PhysicsError, match='at t = 0 s'):
        parse_formula(text)(TIMES_S)


@given(st.text(alphabet='t0123456789.+-*/%()<>= sincoexpglqrabdu,_[]"', max_size=30))
def test_any_text_is_a_formula_or_one_line(text):
    try:
        parse_formula(text)(TIMES_S)
    except PhysicsError as error:
        assert '\n' not in str(error)
