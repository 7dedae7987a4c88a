import json

import cv2
import numpy as np
import pytest

from soft_arm_training import coco
from soft_arm_vision.errors import VisionError


def picture(seed=0):
    return np.random.default_rng(seed).integers(0, 256, (24, 32, 3), dtype=np.uint8)


def test_written_set_comes_back(tmp_path):
    mask = np.zeros((24, 32), bool)
    mask[5:9, 10:20] = True
    depth = np.full((24, 32), 470, np.uint16)
    written = [
        coco.Sample(picture(0), mask[None], np.array([1]), depth, np.array([0.4])),
        coco.Sample(picture(1), np.zeros((0, 24, 32), bool), np.zeros(0, int)),
    ]
    assert coco.write(tmp_path, written, ('arm', 'ring'), {'seed': 3}) == 2
    first, second = coco.read(tmp_path, ('ring',))
    np.testing.assert_array_equal(first.rgb, written[0].rgb)
    np.testing.assert_array_equal(first.masks, mask[None])
    np.testing.assert_array_equal(first.depth, depth)
    assert first.classes.tolist() == [0] and first.visible_share.tolist() == [0.4]
    assert second.masks.shape == (0, 24, 32) and second.depth is None
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
    with pytest.raises(VisionError, match='not a COCO instance file'):
        list(coco.read(tmp_path / 'a.json', ('ring',)))


def test_empty_segmentation():
    with pytest.raises(VisionError, match='no polygon'):
        coco.mask_of([], (3, 4))
