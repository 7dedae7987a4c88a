"""Depth as the colour camera beside the depth camera would see it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from soft_arm_vision.alignment import align_depth
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics

DEPTH = Intrinsics(106, 60, 53.0, 53.0, 52.5, 29.5)
COLOUR = Intrinsics(80, 60, 76.0, 76.0, 40.0, 30.0)
LENSES = ((), (-0.1, 0.02, 1e-3, -1e-3, 0.0), (0.4, -0.1, 1e-3, -1e-3, 0.02, 0.3, -0.12, 0.01))


def plane_depth(camera: Intrinsics, T_world_camera: np.ndarray, plane: np.ndarray) -> np.ndarray:
    """Depth [m] of the plane n x = 1 through each pixel's centre; the world is the colour frame."""
    rays = np.dstack([camera.ray_grid(), np.ones((camera.height, camera.width))])
    ahead = rays.reshape(-1, 3) @ T_world_camera[:3, :3].T @ plane
    return ((1 - T_world_camera[:3, 3] @ plane) / ahead).reshape(rays.shape[:2])


@settings(max_examples=30, deadline=None)
@given(
    tilt=st.tuples(st.floats(-0.7, 0.7), st.floats(-0.7, 0.7)),
    distance_m=st.floats(0.3, 1.0),
    turn=st.tuples(*[st.floats(-0.03, 0.03)] * 3),
    shift_m=st.tuples(st.floats(-0.05, 0.05), st.floats(-5e-3, 5e-3), st.floats(-5e-3, 5e-3)),
    lenses=st.tuples(st.sampled_from(LENSES), st.sampled_from(LENSES)),
)
def test_a_plane_has_the_depth_that_the_colour_camera_sees(tilt, distance_m, turn, shift_m, lenses):
    colour, depth = (
        Intrinsics(c.width, c.height, c.fx, c.fy, c.cx, c.cy, lens)
        for c, lens in zip((COLOUR, DEPTH), lenses, strict=True)
    )
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = Rotation.from_rotvec(turn).as_matrix(), shift_m
    plane = np.array([*tilt, 1.0]) / distance_m
    aligned = align_depth(plane_depth(depth, T, plane), depth, colour, T)
    expected = plane_depth(colour, np.eye(4), plane)
    inside = np.s_[15:-15, 15:-15]
    known = aligned[inside] > 0
    assert known.mean() > 0.9
    # Half the diagonal of a depth pixel, and how far depth changes over it.
    slope_m = np.hypot(*np.gradient(expected)) * COLOUR.fx / DEPTH.fx
    error_m = np.abs(aligned - expected)[inside][known]
    assert (error_m < 1e-4 + 1.2 * slope_m[inside][known]).all()
    assert abs(np.mean((aligned - expected)[inside][known])) < 2e-4 + 0.1 * slope_m.max()


def test_of_overlapping_depths_the_nearest_is_kept():
    depth_m = np.full((60, 106), 0.8)
    depth_m[:, 50:60] = 0.4
    T = np.eye(4)
    T[0, 3] = 0.03
    aligned = align_depth(depth_m, DEPTH, COLOUR, T)
    row = aligned[30]
    near = np.flatnonzero(np.isclose(row, 0.4))
    # By projection of the near patch's edges, which no neighbour moves.
    left, right = (
        (edge - DEPTH.cx) / DEPTH.fx * COLOUR.fx + COLOUR.cx + 0.03 / 0.4 * COLOUR.fx
        for edge in (49.5, 59.5)
    )
    assert near[0] == np.ceil(left) and near[-1] == np.ceil(right) - 1
    assert np.isclose(row[near[-1] + 1], 0.8) or row[near[-1] + 1] == 0
    shadow = (row == 0).sum()  # what only the near patch hides from the depth camera
    assert 0 < shadow <= np.ceil((0.03 / 0.4 - 0.03 / 0.8) * COLOUR.fx) + 1


def test_of_the_same_camera_depth_stays_as_it_is():
    depth_m = np.random.default_rng(7).uniform(0.2, 2.0, (60, 106)).astype(np.float32)
    depth_m[3:9, 4:40] = 0
    depth_m[20, 20] = np.nan
    aligned = align_depth(depth_m, DEPTH, DEPTH, np.eye(4))
    assert np.array_equal(aligned, np.nan_to_num(depth_m))


def test_depth_of_another_size_is_refused():
    with pytest.raises(VisionError, match='differ in size'):
        align_depth(np.ones((48, 64)), DEPTH, COLOUR, np.eye(4))
