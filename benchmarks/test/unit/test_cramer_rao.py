import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_arm_benchmarks.vision.cramer_rao import centre_bound_m, wall_depths
from soft_arm_description.depth_sensor import D435I
from soft_arm_description.robot import load_robot
from soft_arm_vision.intrinsics import Intrinsics

CAMERA = Intrinsics(640, 480, 607.3, 607.3, 319.5, 239.5)
RING = load_robot('two_module_arm').ring


def pose(depth_m=0.45, turn_deg=(70.0, 10.0, 0.0)):
    T = np.eye(4)
    T[:3, :3] = Rotation.from_euler('xyz', turn_deg, degrees=True).as_matrix()
    T[:3, 3] = (0.02, -0.01, depth_m)
    return T


def scene(T):
    """Mask and depth of a ring alone in front of nothing."""
    v, u = np.mgrid[0:480, 0:640]
    z, _ = wall_depths(
        CAMERA.rays(np.column_stack([u.ravel(), v.ravel()]).astype(float)),
        T[:3, 3],
        (T[:3, 0], T[:3, 1], T[:3, 2]),
        RING,
    )
    depth_m = np.nan_to_num(z).reshape(480, 640)
    return depth_m > 0, depth_m


def test_depths_and_their_derivatives():
    T = pose()
    axes = T[:3, 0], T[:3, 1], T[:3, 2]
    mask, depth_m = scene(T)
    v, u = (rows[::37] for rows in np.nonzero(mask))
    rays = CAMERA.rays(np.column_stack([u, v]).astype(float))
    z, jacobian = wall_depths(rays, T[:3, 3], axes, RING)
    points = np.column_stack([rays * z[:, None], z]) - T[:3, 3]
    radius = np.linalg.norm(points - np.outer(points @ axes[2], axes[2]), axis=1)
    assert np.all(
        np.minimum(
            np.abs(radius - RING.radius_m), np.abs(radius - RING.radius_m + RING.thickness_m)
        )
        < 1e-12
    )
    for column in range(5):
        step = np.zeros(5)
        step[column] = 1e-6
        ahead, behind = (
            wall_depths(
                rays, T[:3, 3] + s * step[:3] @ np.array(axes), moved(axes, s * step[3:]), RING
            )[0]
            for s in (1.0, -1.0)
        )
        slope = (ahead - behind) / 2e-6
        # Not where a ray leaves one wall for the other.
        inner = np.isfinite(slope) & (np.abs(slope) < 100)
        assert inner.mean() > 0.9 and slope[inner] == pytest.approx(
            jacobian[inner, column], abs=1e-4
        )


def moved(axes, tilt):
    axis = axes[2] + tilt[0] * axes[0] + tilt[1] * axes[1]
    return axes[0], axes[1], axis / np.linalg.norm(axis)


def test_less_seen_or_farther_away_is_a_larger_bound():
    T = pose()
    mask, depth_m = scene(T)
    whole_m = centre_bound_m(T, mask, depth_m, RING, CAMERA, D435I)
    half = mask.copy()
    half[:, : int(np.median(np.nonzero(mask)[1]))] = False
    far = pose(0.6)
    assert 1e-5 < whole_m < 3e-4
    assert (
        centre_bound_m(T, half, np.where(mask & ~half, 0.3, depth_m), RING, CAMERA, D435I)
        > 1.2 * whole_m
    )
    assert centre_bound_m(far, *scene(far), RING, CAMERA, D435I) > 1.2 * whole_m
    # The outline alone.
    assert centre_bound_m(T, mask, np.zeros_like(depth_m), RING, CAMERA, D435I) > whole_m


def test_without_an_edge_of_its_own_the_place_along_the_axis_is_open():
    T = pose()
    mask, depth_m = scene(T)
    assert centre_bound_m(T, mask, np.where(mask, depth_m, 0.3), RING, CAMERA, D435I) == np.inf
