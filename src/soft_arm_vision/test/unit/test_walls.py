import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_arm_vision.clouds.cylinder import perpendiculars, truncated_costs, tukey
from soft_arm_vision.clouds.walls import Wall, hypotheses, on_wall, settle

CAMERA = np.zeros(3)
RADIUS_M, THRESHOLD_M = 0.045, 3e-3


def wall(rng, *, n=2000, sigma_m=0.0, outliers=0.0, height_m=0.024):
    """Half a wall about y through (0, 0, 0.45), seen from the origin."""
    angle = rng.uniform(-1.3, 1.3, n)
    r = RADIUS_M + rng.normal(0, sigma_m, n)
    points = np.column_stack(
        [r * np.sin(angle), rng.uniform(-height_m / 2, height_m / 2, n), 0.45 - r * np.cos(angle)]
    )
    spoilt = rng.random(n) < outliers
    points[spoilt] = rng.uniform((-0.05, -0.02, 0.40), (0.05, 0.02, 0.52), (spoilt.sum(), 3))
    return points


def angle_deg(a, b):
    return np.degrees(np.arccos(min(1.0, abs(a @ b))))


@pytest.mark.parametrize('seed', range(8))
def test_known_radius_with_outliers(seed):
    rng = np.random.default_rng(seed)
    turn = Rotation.from_euler('zx', rng.uniform(-2, 2, 1).tolist() + [rng.uniform(-0.3, 0.3)])
    middle = np.array([0, 0, 0.45])
    points = turn.apply(wall(rng, sigma_m=5e-4, outliers=0.3) - middle) + middle
    best, *_ = hypotheses(points, CAMERA, THRESHOLD_M, RADIUS_M, (0.01, 0.2), rng)
    found, _ = settle(points, best, CAMERA, 2 * THRESHOLD_M, 1e-4, [False, False])
    share = (np.abs(on_wall(points, found, CAMERA).residual_m) < THRESHOLD_M).mean()
    axis = turn.apply([0, 1, 0])
    assert angle_deg(found.axis, axis) < 2.5
    offset = found.point - middle
    assert np.linalg.norm(offset - (offset @ axis) * axis) < 1.5e-3
    assert 0.6 < share < 0.9


def test_noise_makes_no_wall_of_the_known_radius():
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.3, 0.3, (1500, 3)) + [0, 0, 0.8]
    for found in hypotheses(points, CAMERA, THRESHOLD_M, RADIUS_M, (0.01, 0.2), rng):
        assert (np.abs(on_wall(points, found, CAMERA).residual_m) < THRESHOLD_M).mean() < 0.2


def test_exact_wall_is_found_exactly_with_its_radius():
    axis = np.array([0.05, 1, 0]) / np.hypot(0.05, 1)
    start = Wall(np.array([2e-3, 0, 0.452]), axis, 0.047)
    fit, _ = settle(wall(np.random.default_rng(2)), start, CAMERA, 0.02, 1e-6, [True, False])
    assert fit.radius_m == pytest.approx(RADIUS_M, abs=1e-7)
    assert angle_deg(fit.axis, np.array([0, 1, 0])) < 1e-3


def test_inside_of_a_wall_lies_its_thickness_below_the_outside():
    hollow = Wall(np.array([0, 0, 0.45]), np.array([0.0, 1, 0]), RADIUS_M, 2e-3)
    at = on_wall(np.array([[0, 0, 0.45 - RADIUS_M], [0, 0, 0.448 + RADIUS_M]]), hollow, CAMERA)
    assert at.inside.tolist() == [False, True]
    np.testing.assert_allclose(at.residual_m, 0, atol=1e-12)


def test_outlier_costs_one():
    one = (np.array([[0, 0, 0.45]]), np.array([[0.0, 1, 0]]), np.array([RADIUS_M]))
    points = np.array([[RADIUS_M, 0, 0.45], [RADIUS_M + 1.5e-3, 0.2, 0.45], [1.0, 0, 0.45]])
    assert truncated_costs(points, *one, 3e-3)[0] == pytest.approx((0 + 0.25 + 1) / 3)


def test_frame_and_weights():
    axis = np.random.default_rng(0).normal(size=3)
    axis /= np.linalg.norm(axis)
    e1, e2 = perpendiculars(axis)
    assert np.linalg.det(np.stack([e1, e2, axis])) == pytest.approx(1, abs=1e-12)
    at = on_wall(
        np.array([[0.05, 0.01, 0.45]]),
        Wall(np.array([0, 0, 0.45]), np.array([0.0, 1, 0]), RADIUS_M),
        CAMERA,
    )
    assert (at.axial_m[0], at.residual_m[0]) == pytest.approx((0.01, 0.005))
    assert tukey(np.array([0.0, 1.0, -2.0]), 1.0).tolist() == [1, 0, 0]
