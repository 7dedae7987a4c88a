import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask as cocomask

from soft_arm_calibration.bags import run_lengths as rle
from soft_arm_vision.errors import VisionError


def test_uncompressed_run_lengths_are_columns_first():
    mask = np.zeros((3, 2), bool)
    mask[1:, 0] = True
    runs = {'size': [3, 2], 'counts': [1, 2, 3]}
    np.testing.assert_array_equal(rle.mask_of_runs(runs, mask.shape), mask)


@pytest.mark.parametrize(
    'runs',
    [
        {'size': [3, 3], 'counts': [9]},
        {'size': [3, 4], 'counts': [9]},
        {'size': [3, 4], 'counts': [2**40]},
        {'size': [3, 4], 'counts': '03'},
    ],
)
def test_mask_that_does_not_fit(runs):
    with pytest.raises(VisionError, match='do not fit an image of'):
        rle.mask_of_runs(runs, (3, 4))


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 60),
    st.integers(1, 60),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)
def test_run_lengths_equal_those_of_pycocotools(seed, height, width, share):
    mask = np.random.default_rng(seed).random((height, width)) < share
    runs = rle.run_lengths(mask)
    assert rle._counts(runs['counts']) == reference_counts(mask)
    np.testing.assert_array_equal(rle.mask_of_runs(runs, mask.shape), cocomask.decode(runs) > 0)


def reference_counts(mask):
    """Lengths of equal pixels down the columns, the first of them without the mask."""
    pixels = np.concatenate([[False], mask.ravel(order='F')])
    ends = np.append(np.flatnonzero(np.diff(pixels)), mask.size)
    return np.diff(ends, prepend=0).tolist()


@pytest.mark.parametrize('text', ['zz9', 'é', '0P', 'P', 'o' * 9 + '0', '0@', '0<\0', '\ud800'])
def test_text_that_holds_no_run_lengths(text):
    """pycocotools writes beyond its memory for such a text."""
    with pytest.raises(VisionError, match='no run lengths'):
        rle.mask_of_runs({'size': [3, 4], 'counts': text}, (3, 4))
