"""Samples of a study: product of the grid, strata of the Latin hypercube, limits of ranges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from soft_arm_studies.samples import Vary, samples

seeds = st.integers(0, 2**32 - 1)


def vary(**parts) -> Vary:
    return Vary.model_validate(parts)


def test_a_grid_is_the_product_of_its_values_the_last_key_fastest():
    grid = {'robot.a': [1, 2], 'world.b': {'low': 1.0, 'high': 100.0, 'count': 3, 'scale': 'log'}}
    found = samples(vary(grid=grid), 0)
    assert [a for a, _ in found] == [1, 1, 1, 2, 2, 2]
    np.testing.assert_allclose([b for _, b in found], [1.0, 10.0, 100.0] * 2)


@given(seed=seeds, count=st.integers(1, 60), log=st.booleans())
def test_a_latin_hypercube_has_one_sample_in_each_stratum_of_each_key(seed, count, log):
    keys = {
        'robot.a': {'low': 2.0, 'high': 6.0},
        'robot.b': {'low': 1e-3, 'high': 1e3, 'scale': 'log' if log else 'linear'},
        'robot.c': ['x', 'y'],
    }
    study = vary(latin_hypercube={'count': count, 'keys': keys})
    found = samples(study, seed)
    assert found == samples(study, seed)
    a, b, c = zip(*found, strict=True)
    b_fraction = np.log(np.array(b) / 1e-3) / np.log(1e6) if log else (np.array(b) - 1e-3) / 1e3
    for fractions in ((np.array(a) - 2.0) / 4.0, b_fraction):
        np.testing.assert_array_equal(np.sort(np.floor(fractions * count - 1e-9)), range(count))
    assert abs(c.count('x') - count / 2) <= 1


@given(seed=seeds)
def test_the_parts_multiply_and_random_values_stay_in_their_range(seed):
    study = vary(
        grid={'seed': [1, 2, 3]},
        random={'count': 4, 'keys': {'a.n': {'low': -1, 'high': 1, 'whole': True}}},
        latin_hypercube={'count': 5, 'keys': {'a.m': {'low': 5.0, 'high': 6.0}}},
    )
    found = samples(study, seed)
    assert len(found) == study.n_runs == 60
    assert study.keys == ['seed', 'a.n', 'a.m']
    for _, n, m in found:
        assert n in (-1, 0, 1) and isinstance(n, int) and 5.0 <= m < 6.0


def test_whole_numbers_are_equally_likely_below_zero_and_above():
    ranges = {'a.n': {'low': -1, 'high': 1, 'whole': True}}
    found = [n for (n,) in samples(vary(random={'count': 3000, 'keys': ranges}), 0)]
    assert [found.count(n) for n in (-1, 0, 1)] == pytest.approx([1000] * 3, abs=120)


@pytest.mark.parametrize(
    'parts, message',
    [
        ({}, 'nothing is varied'),
        ({'grid': {'a.b': {'low': 2, 'high': 1, 'count': 3}}}, 'must be smaller than high'),
        ({'grid': {'a.b': {'low': 0, 'high': 1, 'count': 3, 'scale': 'log'}}}, 'must be positive'),
        ({'grid': {'a.b': {'low': 0.5, 'high': 2, 'count': 3, 'whole': True}}}, 'whole numbers'),
        ({'grid': {'a.b': [1], 'a.c': []}}, 'at least 1 item'),
        (
            {'grid': {'a.b': [1]}, 'random': {'count': 2, 'keys': {'a.b': [1]}}},
            'a.b is varied twice',
        ),
        ({'random': {'count': 10**6, 'keys': {'a.b': [1]}}, 'grid': {'a.c': [1, 2]}}, 'more than'),
    ],
)
def test_impossible_samples_are_refused(parts, message):
    with pytest.raises(ValidationError, match=message):
        vary(**parts)
