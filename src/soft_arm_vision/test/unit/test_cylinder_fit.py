import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_arm_vision.clouds.cylinder import (
    Cylinders,
    optimise,
    perpendiculars,
    surface_frame,
    tukey,
)
from soft_arm_vision.clouds.cylinder_fit import (
    MAX_HYPOTHESES,
    msac_cost,
    ransac_cylinder,
    required_hypotheses,
)

RADIUS_M = 0.045


def wall(rng, *, n=2000, sigma_m=0.0, outliers=0.0, height_m=0.024, radius_m=RADIUS_M):
    """Half a wall about y through (0, 0, 0.45), seen from the origin."""
    angle = rng.uniform(-1.3, 1.3, n)
    r = radius_m + rng.normal(0, sigma_m, n)
    points = np.column_stack(
        [r * np.sin(angle), rng.uniform(-height_m / 2, height_m / 2, n), 0.45 - r * np.cos(angle)]
    )
    spoilt = rng.random(n) < outliers
    points[spoilt] = rng.uniform((-0.05, -0.02, 0.40), (0.05, 0.02, 0.52), (spoilt.sum(), 3))
    return points


def angle_deg(a, b):
    return np.degrees(np.arccos(min(1.0, abs(a @ b))))


@pytest.mark.parametrize(
    ('share', 'size', 'expected'),
    [(0.6, 2, 16), (0.6, 3, 29), (0.6, 5, 86), (0.5, 3, 52), (0.8, 7, 30)],
)
def test_iterations_are_the_papers(share, size, expected):
    # The table is rounded, k is rounded up.
    assert abs(required_hypotheses(share, size, 0.999) - expected) <= 1


def test_iterations_at_the_ends():
    assert required_hypotheses(1.0, 2) == 1
    assert required_hypotheses(0.0, 2) == MAX_HYPOTHESES


@pytest.mark.parametrize('seed', range(8))
def test_known_radius_with_outliers(seed):
    rng = np.random.default_rng(seed)
    turn = Rotation.from_euler('zx', rng.uniform(-2, 2, 1).tolist() + [rng.uniform(-0.3, 0.3)])
    middle = np.array([0, 0, 0.45])
    points = turn.apply(wall(rng, sigma_m=5e-4, outliers=0.3) - middle) + middle
    found, share = ransac_cylinder(points, radius_m=RADIUS_M, rng=rng)
    axis = turn.apply([0, 1, 0])
    assert angle_deg(found.axis[0], axis) < 2.5
    offset = found.point[0] - middle
    assert np.linalg.norm(offset - (offset @ axis) * axis) < 1.5e-3
    assert 0.6 < share < 0.9


def test_free_radius():
    rng = np.random.default_rng(3)
    found, _ = ransac_cylinder(
        wall(rng, sigma_m=3e-4, outliers=0.2, radius_m=0.039, height_m=0.06),
        radius_m=None,
        rng=rng,
        radius_limits_m=(0.01, 0.2),
    )
    assert found.radius[0] == pytest.approx(0.039, abs=5e-4)
    assert angle_deg(found.axis[0], np.array([0, 1, 0])) < 1.0


def test_noise_makes_no_cylinder_of_the_known_radius():
    rng = np.random.default_rng(0)
    found = ransac_cylinder(
        rng.uniform(-0.3, 0.3, (1500, 3)) + [0, 0, 0.8], radius_m=RADIUS_M, rng=rng
    )
    assert found is None or found[1] < 0.2
    assert ransac_cylinder(np.zeros((5, 3)), radius_m=RADIUS_M, rng=rng) is None


def test_optimisation_of_many_is_that_of_each():
    rng = np.random.default_rng(1)
    points = wall(rng, sigma_m=5e-4)
    axes = np.array([[0.1, 1, 0], [-0.1, 1, 0.1], [0, 1, 0.2], [0, -1, 0.1]])
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    starts = Cylinders(rng.normal(0, 3e-3, (4, 3)) + [0, 0, 0.45], axes, np.full(4, RADIUS_M))
    together = optimise(points, starts, cut_m=6e-3, iterations=4, viewpoint=np.zeros(3))
    for i in range(4):
        alone = optimise(points, starts[i : i + 1], cut_m=6e-3, iterations=4, viewpoint=np.zeros(3))
        np.testing.assert_allclose(alone.axis[0], together.axis[i], atol=1e-9)
        np.testing.assert_allclose(alone.point[0], together.point[i], atol=1e-9)


def test_exact_wall_is_found_exactly_with_its_radius():
    rng = np.random.default_rng(2)
    start = Cylinders(
        np.array([[2e-3, 0, 0.452]]), np.array([[0.05, 0.9987, 0.0]]), np.array([0.047])
    )
    fit = optimise(wall(rng), start, cut_m=0.02, iterations=12, viewpoint=None, free_radius=True)
    assert fit.radius[0] == pytest.approx(RADIUS_M, abs=1e-7)
    assert angle_deg(fit.axis[0], np.array([0, 1, 0])) < 1e-3


def test_far_side_costs_as_much_as_an_outlier():
    cylinder = Cylinders(np.array([[0, 0, 0.45]]), np.array([[0.0, 1, 0]]), np.array([RADIUS_M]))
    sides = np.array([[0, 0, 0.45 - RADIUS_M], [0, 0, 0.45 + RADIUS_M]])
    cost, share = msac_cost(sides, cylinder, 3e-3, np.zeros(3))
    assert (cost[0], share[0]) == (0.5, 0.5)
    assert msac_cost(sides, cylinder, 3e-3, None)[1][0] == 1.0


def test_frame_and_weights():
    axis = np.random.default_rng(0).normal(size=3)
    axis /= np.linalg.norm(axis)
    e1, e2 = perpendiculars(axis)
    assert np.linalg.det(np.stack([e1, e2, axis])) == pytest.approx(1, abs=1e-12)
    axial, normal, distance = surface_frame(
        np.array([[0.05, 0.01, 0.45]]), np.array([0, 0, 0.45]), np.array([0.0, 1, 0]), RADIUS_M
    )
    assert (axial[0], distance[0]) == pytest.approx((0.01, 0.005))
    np.testing.assert_allclose(normal[0], [1, 0, 0])
    assert tukey(np.array([0.0, 1.0, -2.0]), 1.0).tolist() == [1, 0, 0]
