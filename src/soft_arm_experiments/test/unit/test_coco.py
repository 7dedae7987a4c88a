import json

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask as cocomask

from soft_arm_experiments.vision import coco
from soft_arm_vision.errors import VisionError


def picture(seed=0):
    return np.random.default_rng(seed).integers(0, 256, (24, 32, 3), dtype=np.uint8)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.05, 0.5, 1.0]))
def test_run_lengths_come_back(seed, share):
    mask = np.random.default_rng(seed).random((7, 11)) < share
    runs = coco.run_lengths(mask)
    np.testing.assert_array_equal(coco.mask_of(runs, mask.shape), mask)


def test_uncompressed_run_lengths_are_columns_first():
    mask = np.zeros((3, 2), bool)
    mask[1:, 0] = True
    runs = {'size': [3, 2], 'counts': [1, 2, 3]}
    np.testing.assert_array_equal(coco.mask_of(runs, mask.shape), mask)


def test_written_set_comes_back(tmp_path):
    mask = np.zeros((24, 32), bool)
    mask[5:9, 10:20] = True
    T = np.eye(4) + 0.5
    depth = np.full((24, 32), 470, np.uint16)
    written = [
        coco.Sample(picture(0), mask[None], np.array([1]), depth, np.array([0.4]), T),
        coco.Sample(picture(1), np.zeros((0, 24, 32), bool), np.zeros(0, int)),
    ]
    assert coco.write(tmp_path, written, ('arm', 'ring'), {'seed': 3}) == 2
    first, second = coco.read(tmp_path, ('ring',))
    np.testing.assert_array_equal(first.rgb, written[0].rgb)
    np.testing.assert_array_equal(first.masks, mask[None])
    np.testing.assert_array_equal(first.depth, depth)
    np.testing.assert_allclose(first.T_optical_ring, T)
    assert first.classes.tolist() == [0] and first.visible_share.tolist() == [0.4]
    assert (
        second.masks.shape == (0, 24, 32) and second.depth is None and second.T_optical_ring is None
    )
    labels = json.loads((tmp_path / coco.LABELS).read_text())
    assert labels['annotations'][0]['bbox'] == [10, 5, 10, 4] and labels['info'] == {'seed': 3}


def test_labels_of_a_laboratory(tmp_path):
    (tmp_path / 'images').mkdir()
    cv2.imwrite(str(tmp_path / 'images' / 'shot.png'), picture())
    content = {
        'categories': [{'id': 7, 'name': 'ring'}, {'id': 9, 'name': 'table'}],
        'images': [{'id': 42, 'file_name': 'shot.png', 'width': 32, 'height': 24}],
        'annotations': [
            {
                'id': 1,
                'image_id': 42,
                'category_id': 7,
                'segmentation': [[4, 4, 12, 4, 12, 10, 4, 10]],
            },
            {'id': 2, 'image_id': 42, 'category_id': 9, 'segmentation': [[0, 0, 5, 0, 5, 5]]},
            {
                'id': 3,
                'image_id': 42,
                'category_id': 7,
                'segmentation': [[0, 0, 5, 0, 5, 5]],
                'iscrowd': 1,
            },
        ],
    }
    path = tmp_path / 'labels.json'
    path.write_text(json.dumps(content))
    (sample,) = coco.read(path, ('ring',))
    assert sample.classes.tolist() == [0] and sample.masks[0].sum() == 8 * 6
    with pytest.raises(VisionError, match='rename its categories'):
        list(coco.read(path, ('gripper',)))
    (tmp_path / 'images' / 'shot.png').unlink()
    with pytest.raises(VisionError, match='shot.png is neither'):
        list(coco.read(path, ('ring',)))


@pytest.mark.parametrize('content', ['', '[]', '{"images": []}'])
def test_no_labels(tmp_path, content):
    (tmp_path / 'a.json').write_text(content)
    with pytest.raises(VisionError, match='no COCO instance file'):
        list(coco.read(tmp_path / 'a.json', ('ring',)))


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
        coco.mask_of(runs, (3, 4))


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 60))
def test_run_lengths_are_those_of_pycocotools(seed, height, width):
    mask = np.random.default_rng(seed).random((height, width)) < 0.1
    runs = coco.run_lengths(mask)
    assert coco._counts(runs['counts']) == reference_counts(mask)
    np.testing.assert_array_equal(coco.mask_of(runs, mask.shape), cocomask.decode(runs) > 0)


def reference_counts(mask):
    """Lengths of equal pixels down the columns, the first of them without the mask."""
    pixels = np.concatenate([[False], mask.ravel(order='F')])
    ends = np.append(np.flatnonzero(np.diff(pixels)), mask.size)
    return np.diff(ends, prepend=0).tolist()


@pytest.mark.parametrize('text', ['zz9', 'é', '0P', 'P', 'o' * 9 + '0', '0@', '0<\0', '\ud800'])
def test_text_that_holds_no_run_lengths(text):
    """Such a text made pycocotools write beyond its memory."""
    with pytest.raises(VisionError, match='no run lengths'):
        coco.mask_of({'size': [3, 4], 'counts': text}, (3, 4))


def test_empty_segmentation():
    with pytest.raises(VisionError, match='no polygon'):
        coco.mask_of([], (3, 4))
