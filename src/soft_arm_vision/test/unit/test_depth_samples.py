"""How much of the depth a pose of the ring leaves residual."""

import numpy as np
import pytest
from hypotheses import candidate_from_mask

from soft_arm_vision.clouds.cloud import depth_in_metres
from soft_arm_vision.ring.depth_samples import sample_depth
from soft_arm_vision.ring.ray_cylinder import ring_depths

CENTRE, AXIS = np.array([0.02, -0.01, 0.45]), np.array([0.3, 1, 0.4])


def rays_of(frame, mask, ring):
    return sample_depth(
        candidate_from_mask(mask), depth_in_metres(frame.depth), frame.intrinsics, ring
    )


@pytest.mark.parametrize('axis', [(0.3, 1, 0.4), (0.1, 0.3, 1), (1, 0.1, 0)])
def test_pose_of_the_ring_explains_what_it_shows(ring, render_ring, axis):
    frame = render_ring(CENTRE, axis, arm=False)
    assert rays_of(frame, frame.visible, ring).residual(frame.centre, frame.axis) < 0.15


def test_other_poses_do_not(ring, render_ring):
    frame = render_ring(CENTRE, AXIS, arm=False)
    rays = rays_of(frame, frame.visible, ring)
    at_best = rays.residual(frame.centre, frame.axis)
    across = np.cross(frame.axis, [0, 0, 1.0])
    for shift in 0.015 * np.array([frame.axis, -frame.axis, across, [0, 0, 1.0]]):
        assert rays.residual(frame.centre + shift, frame.axis) > at_best + 0.2
    assert rays.residual(frame.centre, across / np.linalg.norm(across)) > at_best + 0.3


def test_ring_through_which_the_camera_sees_is_none(ring, render_ring):
    """Rays beside a piece of the wall pass through the ring: something far is measured there."""
    frame = render_ring(CENTRE, AXIS, arm=False)
    piece = frame.visible & (np.abs(np.arange(frame.visible.shape[1])[None] - 347) < 25)
    find, intrinsics = candidate_from_mask(piece), frame.intrinsics
    hidden = depth_in_metres(np.where(frame.visible & ~piece, np.uint16(300), frame.depth))
    through = depth_in_metres(np.where(frame.visible & ~piece, np.uint16(900), frame.depth))
    before, behind = (
        sample_depth(find, depth_m, intrinsics, ring).residual(frame.centre, frame.axis)
        for depth_m in (hidden, through)
    )
    assert before < 0.2 < 0.8 < behind


def test_search_ends_at_the_ring(ring, render_ring):
    frame = render_ring(CENTRE, AXIS, arm=False, occluder=(310, 330))
    rays = rays_of(frame, frame.visible, ring)
    axis = frame.axis + [0.25, -0.1, 0.2]
    centre, axis = rays.refine(frame.centre + [0.006, -0.005, 0.008], axis / np.linalg.norm(axis))
    assert np.linalg.norm(centre - frame.centre) < 3e-3
    assert np.degrees(np.arccos(abs(axis @ frame.axis))) < 4
    assert rays.residual(centre, axis) < rays.residual(frame.centre, frame.axis) + 0.02


def test_near_end_of_the_wall_is_the_rings(ring, render_ring):
    """Seen along its axis, most of a ring is the end of its wall."""
    frame = render_ring(CENTRE, CENTRE, arm=False)
    rays = frame.intrinsics.rays(np.argwhere(frame.visible)[:, ::-1])
    ends = ring_depths(rays, frame.centre, frame.axis, ring)
    measured = depth_in_metres(frame.depth)[frame.visible]
    known = measured > 0
    assert (
        np.isfinite(ends[known]).mean() > 0.9
        and np.median(np.abs(ends - measured)[known & np.isfinite(ends)]) < 2e-3
    )


@pytest.mark.parametrize('half', [-1, 1])
def test_plane_explains_a_board_better_and_a_ring_worse(ring, render_ring, half):
    frame = render_ring(CENTRE, AXIS, arm=False)
    piece = frame.visible & (half * (np.arange(frame.visible.shape[1])[None] - 347) > 0)
    depth_m = depth_in_metres(frame.depth)
    assert (
        sample_depth(candidate_from_mask(piece), depth_m, frame.intrinsics, ring).flatness(
            frame.centre, frame.axis
        )
        < -0.8
    )
    v, u = np.indices(depth_m.shape)
    board_m = np.float32(0.45 + 1e-4 * (u - 320) + 2e-4 * (v - 240)) + np.random.default_rng(
        0
    ).normal(0, 1e-3, depth_m.shape)
    rays = sample_depth(
        candidate_from_mask(piece), board_m.astype(np.float32), frame.intrinsics, ring
    )
    assert rays.flatness(*rays.refine(frame.centre, frame.axis)) > 0


def test_what_something_before_the_ring_hides_is_told_from_what_does_not_fit(ring, render_ring):
    free = render_ring(CENTRE, AXIS, arm=False).visible
    frame = render_ring(CENTRE, AXIS, arm=False, occluder=(310, 350))
    rays = rays_of(frame, free, ring)
    kept, hidden = rays.without_occluded(frame.centre, frame.axis)
    assert hidden == pytest.approx((free & ~frame.visible).sum() / free.sum(), abs=0.1)
    assert (
        rays.residual(frame.centre, frame.axis)
        > 0.3
        > 0.2
        > kept.residual(frame.centre, frame.axis)
    )
    behind, share = rays.without_occluded(frame.centre + [0, 0, 0.03], frame.axis)
    assert share > 0.8 and behind is rays


def test_no_depth_no_rays(ring, render_ring):
    frame = render_ring(CENTRE, AXIS)
    blind = np.zeros(frame.visible.shape, np.float32)
    assert sample_depth(candidate_from_mask(frame.visible), blind, frame.intrinsics, ring) is None
