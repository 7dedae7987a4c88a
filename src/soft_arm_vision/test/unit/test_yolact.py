"""YOLACT's parts that need NumPy only."""

import numpy as np
import pytest

from soft_arm_vision.segmentation.yolact.anchors import (
    AnchorLayout,
    corners,
    decode,
    encode,
    intersection_over_union,
)
from soft_arm_vision.segmentation.yolact.input_channels import input_channels
from soft_arm_vision.segmentation.yolact.postprocessing import assemble, fast_nms, postprocess

LAYOUT = AnchorLayout()


def test_anchors_cover_the_picture_level_by_level():
    boxes = LAYOUT.boxes()
    cells = [rows * columns for rows, columns in LAYOUT.level_shapes()]
    assert cells == [40 * 30, 20 * 15, 10 * 8]
    assert boxes.shape == (6 * sum(cells), 4)
    np.testing.assert_allclose(boxes[0, :2], [4, 4])
    np.testing.assert_allclose(boxes[6, :2], [12, 4])
    sizes = LAYOUT.sizes_px[0] * np.repeat(LAYOUT.octaves, 3)
    np.testing.assert_allclose(np.sqrt(boxes[:6, 2] * boxes[:6, 3]), sizes, rtol=1e-6)
    np.testing.assert_allclose(boxes[:6, 2] / boxes[:6, 3], 2 * LAYOUT.ratios, rtol=1e-6)


def test_anchors_suit_every_box_of_a_ring():
    rng = np.random.default_rng(0)
    size = np.exp(rng.uniform(np.log(26), np.log(110), 500))
    ratio = np.exp(rng.uniform(np.log(0.5), np.log(2), 500))
    half = 0.5 * size[:, None] * np.column_stack([np.sqrt(ratio), 1 / np.sqrt(ratio)])
    centre = rng.uniform(60, 180, (500, 2))
    overlap = intersection_over_union(
        corners(LAYOUT.boxes()), np.concatenate([centre - half, centre + half], axis=1)
    ).max(axis=0)
    assert (overlap > 0.5).mean() > 0.98


def test_decode_is_the_inverse_of_encode():
    rng = np.random.default_rng(0)
    anchors = LAYOUT.boxes()[rng.integers(0, 4000, 50)]
    low = rng.uniform(0, 200, (50, 2))
    boxes = np.concatenate([low, low + rng.uniform(5, 100, (50, 2))], axis=1)
    np.testing.assert_allclose(decode(encode(boxes, anchors), anchors), boxes, rtol=1e-4)


def test_overlap_of_boxes():
    a = np.array([[0, 0, 2, 2.0]])
    b = np.array([[1, 0, 3, 2.0], [0, 0, 2, 2], [5, 5, 6, 6]])
    np.testing.assert_allclose(intersection_over_union(a, b), [[1 / 3, 1, 0]])


def test_fast_nms_lets_a_suppressed_box_suppress():
    boxes = np.array([[0, 0, 10, 10], [0, 3, 10, 13], [0, 6, 10, 16], [50, 50, 60, 60.0]])
    # The third overlaps only the second by half.
    assert fast_nms(boxes).tolist() == [True, False, False, True]


def test_instances_of_two_classes_do_not_suppress_each_other():
    anchors = LAYOUT.boxes()
    scores = np.full((len(anchors), 3), -9.0)
    scores[:, 0] = 9
    scores[500], scores[501], scores[502] = [0, 5, -9], [0, -9, 6], [0, 4, -9]
    boxes = encode(np.tile([40, 40, 90, 80.0], (len(anchors), 1)), anchors)
    found = postprocess(
        boxes, scores, np.arange(len(anchors))[:, None] * np.ones((1, 4)), anchors, LAYOUT, 0.5
    )
    assert found.classes.tolist() == [1, 0]
    assert found.coefficients[:, 0].tolist() == [501, 500]
    np.testing.assert_allclose(found.boxes, np.tile([40, 40, 90, 80], (2, 1)), atol=0.1)
    assert found.scores[0] > found.scores[1] > 0.9


@pytest.mark.parametrize('shape', [(240, 320), (480, 640)])
def test_assembled_mask_lies_where_the_prototype_does(shape):
    v, u = np.mgrid[0:60, 0:80]
    prototypes = np.stack([np.hypot(u - 30, v - 20), np.ones((60, 80))]).astype(np.float32)
    mask, row, column = assemble(
        prototypes, np.array([-1.0, 8.0]), np.array([60, 40, 200, 140.0]), LAYOUT, shape
    )
    scale = shape[0] / 60
    rows, columns = np.nonzero(mask)
    centre = np.array([rows.mean() + row, columns.mean() + column])
    np.testing.assert_allclose(centre, (np.array([20, 30]) + 0.5) * scale - 0.5, atol=0.6)
    assert mask.sum() == pytest.approx(np.pi * (8 * scale) ** 2, rel=0.02)


def test_mask_ends_at_its_box():
    prototypes = np.ones((1, 60, 80), np.float32)
    mask, row, column = assemble(
        prototypes, np.ones(1), np.array([100, 100, 140, 120.0]), LAYOUT, (240, 320)
    )
    assert (row, column) == (99, 99) and mask.shape == (22, 42) and mask.all()


def test_planes_show_colour_nearness_and_the_slopes_of_a_surface():
    v, u = np.mgrid[0:60, 0:80].astype(np.float32)
    picture, depth_m = np.full((60, 80, 3), (118, 178, 58), np.uint8), 0.5 + 0.0005 * u - 0.001 * v
    depth_m[30:34, 40:44] = 0  # farther on its right
    depth_m[50], right_m = 0, depth_m[31, 44]
    found = input_channels(picture, depth_m.astype(np.float32))
    assert found.shape == (6, 60, 80)
    np.testing.assert_allclose(found[:3, 5, 5], [0, 1, -1])
    assert found[3, 10, 10] == pytest.approx(0.4 / depth_m[10, 10])
    assert found[3, 31, 41] == pytest.approx(0.4 / right_m) and (found[3, 50] == 0).all()
    np.testing.assert_allclose(
        found[4:, 20, 20],
        [0.0005 * 300 / depth_m[20, 20], -0.001 * 300 / depth_m[20, 20]],
        rtol=1e-3,
    )
    assert (found[4:, 50] == 0).all() and np.isfinite(found).all()
    assert input_channels(picture).shape == (3, 60, 80)


def test_slope_beside_an_edge_is_the_surface_s_own():
    depth_m = np.where(np.arange(80) < 40, 0.4, 0.9)[None].repeat(60, axis=0).astype(np.float32)
    along_u = input_channels(np.zeros((60, 80, 3), np.uint8), depth_m)[4]
    assert np.abs(along_u[:, :38]).max() < 1e-3 and np.abs(along_u[:, 42:]).max() < 1e-3
