import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from soft_arm_description.robot import load_robot
from soft_arm_vision.clouds.cloud import REFERENCE_DEPTH_M
from soft_arm_vision.errors import FitRefused
from soft_arm_vision.ring.ray_cylinder import ring_depths
from soft_arm_vision.ring.wall import CORRELATION_PX, GRID_PX, RingWall

RING, PIXEL = load_robot('two_module_arm').ring, 1 / 607.3
CENTRE = np.array([0.01, -0.02, 0.47])
AXES = (np.array([0.96, -0.28, 0.0]), np.array([0.0, 0.0, -1.0]), np.array([0.28, 0.96, 0.0]))
KNOWN = [0, 1, 3, 4]


def points(rng=None, sigma_m=0.0):
    """Cells of the wall, with noise alike over the sensor's two pixels."""
    v, u = np.mgrid[-80:80:GRID_PX, -80:80:GRID_PX]
    rays = np.column_stack([u.ravel(), v.ravel()]) * PIXEL + CENTRE[:2] / CENTRE[2]
    z = ring_depths(rays, CENTRE, AXES[2], RING)
    height = z * (np.column_stack([rays, np.ones(len(z))]) @ AXES[2]) - CENTRE @ AXES[2]
    z[~(np.abs(height) < 0.499 * RING.height_m)] = np.nan  # the wall alone, without its flat ends
    if sigma_m:
        noise = gaussian_filter(rng.normal(size=u.shape), CORRELATION_PX / GRID_PX).ravel()
        z = z + sigma_m * (z / REFERENCE_DEPTH_M) ** 2 * noise / noise.std()
    seen = np.isfinite(z)
    return np.column_stack([rays[seen] * z[seen, None], z[seen]])


def fitted(wall, steps=6):
    """Return shifts across the axis and tilts from the true pose, and their covariance."""
    off = np.zeros(4)
    for _ in range(steps):
        axis = AXES[2] + off[2] * AXES[0] + off[3] * AXES[1]
        axis /= np.linalg.norm(axis)
        e1 = AXES[0] - AXES[0] @ axis * axis
        e1 /= np.linalg.norm(e1)
        hessian, gradient = wall.terms(
            CENTRE + off[0] * AXES[0] + off[1] * AXES[1], (e1, np.cross(axis, e1), axis)
        )
        covariance = np.linalg.inv(hessian[np.ix_(KNOWN, KNOWN)])
        off = off + covariance @ gradient[KNOWN]
    return off, covariance


def test_exact_points_give_the_exact_pose_from_a_pose_beside_it():
    wall = RingWall(points(), RING, PIXEL)
    for roughly in (True, False):
        hessian, gradient = wall.terms(CENTRE + 1e-3 * AXES[1], AXES, roughly)
        step = np.linalg.solve(hessian[np.ix_(KNOWN, KNOWN)], gradient[KNOWN])
        assert (
            step[1] == pytest.approx(-1e-3, abs=3e-4 if roughly else 6e-4) and abs(step[0]) < 3e-4
        )
        # A wall says nothing of the place along its axis.
        assert not hessian[2].any() and gradient[2] == 0
    off, _ = fitted(wall)
    assert np.abs(off[:2]).max() < 2e-5 and np.abs(off[2:]).max() < 1e-3


def test_noise_is_found_and_the_covariance_is_what_the_errors_are():
    rng, squares, sigma_m = np.random.default_rng(2), [], []
    for _ in range(60):
        wall = RingWall(points(rng, 1e-3), RING, PIXEL)
        off, covariance = fitted(wall)
        squares.append(off @ np.linalg.solve(covariance, off))
        sigma_m.append(wall.sigma_m)
    assert np.mean(sigma_m) == pytest.approx(1e-3, rel=0.12)
    assert 3.0 < np.mean(squares) < 5.2  # four degrees of freedom


def test_stray_points_are_left_out():
    rng = np.random.default_rng(3)
    good = points(rng, 5e-4)
    stray = good[rng.permutation(len(good))[: len(good) // 5]] * 1.04  # 2 cm behind
    wall, clean = RingWall(np.concatenate([good, stray]), RING, PIXEL), RingWall(good, RING, PIXEL)
    with_stray, without = fitted(wall)[0], fitted(clean)[0]
    np.testing.assert_allclose(with_stray[:2], without[:2], atol=5e-5)
    assert wall.inlier_share == pytest.approx(clean.inlier_share / 1.2, abs=0.03)


def test_middle_and_height_of_the_wall():
    middle, height_m = RingWall(points(), RING, PIXEL).middle(CENTRE + 0.004 * AXES[2], AXES[2])
    np.testing.assert_allclose(middle, CENTRE, atol=1e-3)
    assert height_m == pytest.approx(RING.height_m, rel=0.1)


def test_wall_beyond_an_end():
    wall = RingWall(points(), RING, PIXEL)
    assert wall.beyond(CENTRE, AXES[2]) == 0
    assert wall.beyond(CENTRE - 0.005 * AXES[2], AXES[2]) == pytest.approx(0.005, abs=1e-3)
    assert wall.beyond(CENTRE + 0.005 * AXES[2], AXES[2]) == pytest.approx(-0.005, abs=1e-3)


def test_points_beside_the_wall_are_refused():
    with pytest.raises(FitRefused, match='points lie on the wall'):
        RingWall(points(), RING, PIXEL).terms(CENTRE + [0.0, 0.0, 0.05], AXES)
