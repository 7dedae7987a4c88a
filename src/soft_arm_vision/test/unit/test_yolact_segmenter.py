"""The shipped network through the Segmenter interface, by onnxruntime; no torch."""

import json
import shutil

import numpy as np
import pytest

from soft_arm_vision.clouds.cloud import depth_in_metres
from soft_arm_vision.errors import VisionError
from soft_arm_vision.ring.detector import RingDetector
from soft_arm_vision.segmentation.segmenter import make_segmenter
from soft_arm_vision.segmentation.yolact.exported import SHIPPED, ExportedYolact
from soft_arm_vision.segmentation.yolact_segmenter import YolactSegmenter

CENTRE, AXIS = np.array([0.02, -0.01, 0.45]), np.array([0.3, 1, 0.4])


@pytest.fixture(scope='module')
def segmenter(ring):
    return make_segmenter('yolact', ring)


def test_ring_is_found_with_its_edge(segmenter, render_ring):
    frame = render_ring(CENTRE, AXIS)
    found = next(segmenter.segment(frame.colour, depth_in_metres(frame.depth), frame.intrinsics))
    mask = np.zeros_like(frame.visible)
    mask[found.window] = found.mask
    assert (mask & frame.visible).sum() / (mask | frame.visible).sum() > 0.85
    assert 0.15 <= found.score <= 1


def test_no_ring(segmenter, render_ring):
    frame = render_ring(CENTRE, AXIS, ring_present=False)
    assert (
        list(segmenter.segment(frame.colour, depth_in_metres(frame.depth), frame.intrinsics)) == []
    )
    dark = np.zeros_like(frame.colour)
    assert list(segmenter.segment(dark, depth_in_metres(frame.depth), frame.intrinsics)) == []


def test_ring_of_an_impossible_size_at_its_depth_is_none(segmenter, render_ring):
    frame = render_ring(CENTRE, AXIS)
    depth_m = depth_in_metres(frame.depth)
    assert list(segmenter.segment(frame.colour, depth_m, frame.intrinsics))
    assert list(segmenter.segment(frame.colour, 4 * depth_m, frame.intrinsics)) == []


def test_pose_from_its_mask(segmenter, ring, render_ring):
    frame = render_ring(CENTRE, AXIS)
    detection = RingDetector(ring, segmenter).detect(frame.colour, frame.depth, frame.intrinsics)
    assert detection.fit is not None, detection.reason
    assert np.linalg.norm(detection.fit.centre - frame.centre) < 1e-3


def test_card_belongs_to_the_network(tmp_path):
    metadata = ExportedYolact().metadata
    assert (
        SHIPPED.stat().st_size < 12e6
        and metadata['classes'] == ['ring']
        and 'command' in metadata
        and 'metrics' in metadata
    )
    for name in (SHIPPED.name, SHIPPED.with_suffix('.json').name):
        shutil.copy(SHIPPED.parent / name, tmp_path / name)
    with (tmp_path / SHIPPED.name).open('ab') as file:
        file.write(b'x')
    with pytest.raises(VisionError, match='damaged'):
        ExportedYolact(tmp_path / SHIPPED.name)
    (tmp_path / SHIPPED.with_suffix('.json').name).write_text(json.dumps({'sha256': 'none'})[:-1])
    with pytest.raises(VisionError, match='cannot be read'):
        ExportedYolact(tmp_path / SHIPPED.name)


def test_low_ring_is_found(ring, render_ring):
    low = ring.model_copy(update={'height_m': 0.006})
    frame = render_ring([0.01, 0.0, 0.3], AXIS, ring=low, seed=1)
    detection = RingDetector(low, make_segmenter('yolact', low)).detect(
        frame.colour, frame.depth, frame.intrinsics
    )
    assert detection.fit is not None, detection.reason
    assert np.linalg.norm(detection.fit.centre - frame.centre) < 1e-3


def test_network_that_finds_no_rings_is_refused(ring):
    network = ExportedYolact()
    network.classes = ('marker',)
    with pytest.raises(VisionError, match="finds marker, but no 'ring'"):
        YolactSegmenter(ring, network)


def test_network_without_odds_is_refused(ring):
    network = ExportedYolact()
    del network.metadata['verifier']
    with pytest.raises(VisionError, match='no odds'):
        YolactSegmenter(ring, network)
