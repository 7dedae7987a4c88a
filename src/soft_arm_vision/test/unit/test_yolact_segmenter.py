"""The shipped network through the Segmenter interface, by onnxruntime; no torch."""

import json
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soft_arm_vision.clouds.cloud import depth_in_metres
from soft_arm_vision.errors import VisionError
from soft_arm_vision.ring.detector import RingDetector
from soft_arm_vision.segmentation.segmenter import make_segmenter
from soft_arm_vision.segmentation.yolact.exported import SHIPPED, WINDOW_PX, ExportedYolact
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
    earlier = metadata | {'verifier': {'constant': -6.2}}  # a key of cards of earlier releases
    (tmp_path / SHIPPED.with_suffix('.json').name).write_text(json.dumps(earlier))
    assert ExportedYolact(tmp_path / SHIPPED.name).classes == ('ring',)
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


@pytest.mark.parametrize('times', [2.0, 4.0])
def test_ring_is_seen_like_a_larger_one_that_is_as_much_farther_away(ring, render_ring, times):
    frame = render_ring(CENTRE, AXIS)
    depth_m = depth_in_metres(frame.depth)
    other = ring.model_copy(update={'radius_m': times * ring.radius_m})
    for mine, theirs in zip(
        ExportedYolact(ring=other).raw(frame.colour, np.float32(times) * depth_m),
        ExportedYolact(ring=ring).raw(frame.colour, depth_m),
        strict=True,
    ):
        np.testing.assert_allclose(mine, theirs, atol=1e-2)


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize(('radius_m', 'height_m'), [(0.08, 0.04), (0.02, 0.024)])
def test_ring_of_another_size_is_found_in_the_picture_and_in_a_window(
    ring, render_ring, radius_m, height_m, seed
):
    other = ring.model_copy(update={'radius_m': radius_m, 'height_m': height_m})
    frame = render_ring([0.02, -0.01, 0.45], [0.1, 1.0, 0.1], ring=other, seed=seed)
    segmenter, last = make_segmenter('yolact', other), None
    for _ in range(2):
        last = next(
            segmenter.segment(frame.colour, depth_in_metres(frame.depth), frame.intrinsics, last)
        )
        mask = np.zeros_like(frame.visible)
        mask[last.window] = last.mask
        assert last.score > 0.5
        assert (mask & frame.visible).sum() > 0.6 * (mask | frame.visible).sum()


def test_network_that_finds_no_rings_is_refused(ring):
    network = ExportedYolact()
    network.classes = ('marker',)
    with pytest.raises(VisionError, match="finds marker, but no 'ring'"):
        YolactSegmenter(ring, network)


@pytest.fixture
def looks(segmenter, monkeypatch):
    """Return the windows that the network looks at, as they come."""
    looks, detect = [], segmenter.network.detect

    def noted(*images, window=None):
        looks.append(window)
        return detect(*images, window=window)

    monkeypatch.setattr(segmenter.network, 'detect', noted)
    return looks


@pytest.mark.parametrize('shift_m', [0.0, 0.03])
def test_tracked_ring_is_found_as_well_in_a_window(segmenter, looks, ring, render_ring, shift_m):
    detector = RingDetector(ring, segmenter)
    for moved_m in (0.0, shift_m):
        frame = render_ring(CENTRE + [moved_m, 0, 0], AXIS)
        found = detector.detect(frame.colour, frame.depth, frame.intrinsics)
    assert [window is None for window in looks] == [True, False]
    alone = RingDetector(ring, segmenter).detect(frame.colour, frame.depth, frame.intrinsics)
    for detection in (found, alone):
        assert np.linalg.norm(detection.fit.centre - frame.centre) < 1e-3
    masks = np.zeros((2, *frame.visible.shape), bool)
    for mask, detection in zip(masks, (found, alone), strict=True):
        mask[detection.candidate.window] = detection.candidate.mask
    assert masks.all(axis=0).sum() > 0.95 * masks.any(axis=0).sum()


def test_ring_that_jumps_out_of_the_window_is_found(segmenter, looks, ring, render_ring):
    detector = RingDetector(ring, segmenter)
    for x in (-0.14, 0.14):
        frame = render_ring([x, 0, 0.47], AXIS)
        detection = detector.detect(frame.colour, frame.depth, frame.intrinsics)
        assert np.linalg.norm(detection.fit.centre - frame.centre) < 1e-3
    assert [window is None for window in looks] == [True, False, True]


def test_ring_too_near_for_a_window_is_found(segmenter, looks, ring, render_ring):
    detector = RingDetector(ring, segmenter)
    for seed in (1, 2):
        frame = render_ring([0.0, 0.0, 0.23], AXIS, seed=seed)
        detection = detector.detect(frame.colour, frame.depth, frame.intrinsics)
        assert detection.fit is not None, detection.reason
    assert looks == [None, None]


@given(
    st.tuples(st.integers(240, 1080), st.integers(320, 1920)),
    st.tuples(*[st.floats(0, 1)] * 4),
)
def test_window_lies_in_the_picture_and_holds_what_it_is_about(segmenter, shape, ends):
    part = tuple(
        slice(int(min(pair) * size), int(max(pair) * size))
        for pair, size in zip((ends[:2], ends[2:]), shape, strict=True)
    )
    layout = segmenter.network.layout
    window = segmenter.network.window_about(part, shape)
    for i, (whole, size) in enumerate(
        [(layout.height_px, WINDOW_PX[1]), (layout.width_px, WINDOW_PX[0])]
    ):
        first, last = (x * whole / shape[i] for x in (part[i].start, part[i].stop))
        if window is None:
            continue
        assert window[i].start >= 0 and window[i].stop <= whole
        assert window[i].stop - window[i].start == size
        half_cell = layout.strides_px[0] / 2
        assert window[i].start - half_cell <= first and last <= window[i].stop + half_cell
    too_large = any(
        (p.stop - p.start) * whole / size > most
        for p, whole, size, most in zip(
            part,
            (layout.height_px, layout.width_px),
            shape,
            reversed(WINDOW_PX),
            strict=True,
        )
    )
    assert (window is None) == too_large
