"""Finds against depth: what is a ring, and which pixels are its own."""

import numpy as np
import pytest
from hypotheses import candidate_from_mask

from soft_arm_vision.clouds.cloud import depth_in_metres
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.ring.pose_hypothesis import _window, find_pose_hypothesis
from soft_arm_vision.ring.verification import MIN_SCORE_WITHOUT_POSE, Verifier
from soft_arm_vision.segmentation.yolact.exported import ExportedYolact

CENTRE, AXIS = np.array([0.02, -0.01, 0.45]), np.array([0.3, 1, 0.4])


def region_of(frame, mask, ring, seed=0):
    return find_pose_hypothesis(
        candidate_from_mask(mask),
        frame.colour,
        depth_in_metres(frame.depth),
        frame.intrinsics,
        ring,
        np.random.default_rng(seed),
    )


def accepts(region):
    """Of a find that the network is as sure of as it can be."""
    return region is not None and Verifier(**ExportedYolact().metadata['verifier']).accepts(
        1.0, region
    )


def is_ring(region):
    """The same, whatever becomes of its pose."""
    return (
        accepts(region)
        and Verifier(**ExportedYolact().metadata['verifier']).verification_score(1.0, region)
        >= MIN_SCORE_WITHOUT_POSE
    )


def whole(region, shape):
    mask = np.zeros(shape, bool)
    mask[
        region.row : region.row + region.mask.shape[0],
        region.column : region.column + region.mask.shape[1],
    ] = region.mask
    return mask


@pytest.mark.parametrize('axis', [(0.3, 1, 0.4), (0.1, 0.2, 1), (1, 0.1, 0)])
def test_ring_and_its_pixels(ring, render_ring, axis):
    frame = render_ring(CENTRE, axis, arm=False)
    region = region_of(frame, frame.visible, ring)
    assert is_ring(region)
    assert (
        np.linalg.norm(region.cylinder.point[0] - frame.centre) < 6e-3
        and region.contour_support > 0.95
    )
    mask = whole(region, frame.visible.shape)
    assert (mask & frame.visible).sum() / (mask | frame.visible).sum() > 0.75
    assert (mask & ~frame.visible).sum() < 0.03 * frame.visible.sum()


def test_thing_before_the_ring_that_the_find_took_in_is_left_out(ring, render_ring):
    free = render_ring(CENTRE, AXIS, arm=False).visible
    frame = render_ring(CENTRE, AXIS, arm=False, occluder=(310, 350))
    hidden = free & ~frame.visible
    region = region_of(frame, free, ring)
    assert is_ring(region)
    mask = whole(region, free.shape)
    assert (mask & hidden).sum() < 0.05 * hidden.sum()


@pytest.mark.parametrize('times', [2, 3, 4])
def test_tall_wall_of_the_same_radius_is_no_ring(ring, render_ring, times):
    tall = ring.model_copy(update={'height_m': times * ring.height_m})
    frame = render_ring(CENTRE, AXIS, ring=tall, arm=False)
    assert not accepts(region_of(frame, frame.visible, ring))


def test_piece_of_a_wall_that_ends_where_a_ring_would_go_on_is_no_ring(ring, render_ring):
    frame = render_ring(CENTRE, AXIS, arm=False)
    u = np.arange(frame.visible.shape[1])[None]
    piece = frame.visible & (np.abs(u - 347) < 20)
    depth = np.where(frame.visible & ~piece, np.uint16(900), frame.depth)
    region = find_pose_hypothesis(
        candidate_from_mask(piece),
        frame.colour,
        depth_in_metres(depth),
        frame.intrinsics,
        ring,
        np.random.default_rng(0),
    )
    assert not accepts(region) and region.contour_support < 0.6


def test_flat_thing_is_no_ring(ring, render_ring):
    frame = render_ring(CENTRE, AXIS, ring_present=False, arm=False, wall_m=0.5)
    mask = np.zeros(frame.visible.shape, bool)
    mask[200:240, 280:380] = True
    region = region_of(frame, mask, ring)
    assert not accepts(region)


def test_no_depth_no_region(ring, render_ring):
    frame = render_ring(CENTRE, AXIS)
    blind = np.zeros(frame.visible.shape, np.float32)
    assert (
        find_pose_hypothesis(
            candidate_from_mask(frame.visible),
            frame.colour,
            blind,
            frame.intrinsics,
            ring,
            np.random.default_rng(0),
        )
        is None
    )


def test_window_of_a_ring_lies_where_the_lens_shows_it(ring, render_ring):
    lens = Intrinsics(640, 480, 607.3, 607.3, 320.0, 240.0, (-0.11, 0.0, 0.0, 0.0, 0.0))
    frame = render_ring([0.33, 0.23, 0.75], [0.1, 1, 0.1], intrinsics=lens, arm=False)
    rows, columns = _window(frame.centre, frame.visible.shape, lens, ring)
    v, u = np.nonzero(frame.visible)
    outside = (
        rows.start - v.min(),
        v.max() + 1 - rows.stop,
        columns.start - u.min(),
        u.max() + 1 - columns.stop,
    )
    assert max(outside) <= 0
    assert rows.stop - rows.start < 1.3 * (2 * ring.radius_m) / 0.75 * lens.fy
