import numpy as np

from soft_arm_control.tip.residual_model import ResidualModel, ResidualModelSettings

MIDDLE = np.full(6, 0.13)


def error_m(lengths_m):
    """Smooth and of a real arm's size."""
    x = lengths_m - MIDDLE
    return np.array([0.004 + 0.08 * x[0], 0.05 * x[1] - 0.03 * x[4], -0.006 + 0.1 * x[5]])


def test_knows_nothing_at_first():
    assert (ResidualModel(MIDDLE).at(MIDDLE + 0.02) == 0.0).all()


def test_gives_back_what_it_was_told_and_what_lies_between():
    known, rng = ResidualModel(MIDDLE), np.random.default_rng(1)
    places = MIDDLE + rng.uniform(-0.04, 0.04, (25, 6))
    for place in places:
        known.add(place, error_m(place))
    assert max(np.linalg.norm(known.at(p) - error_m(p)) for p in places) < 0.5e-3
    between = [(a + b) / 2 for a, b in zip(places[:-1], places[1:], strict=True)]
    left_m = np.mean([np.linalg.norm(known.at(p) - error_m(p)) for p in between])
    assert left_m < 0.25 * np.mean([np.linalg.norm(error_m(p)) for p in between])


def test_carries_a_trend_to_the_next_target():
    known, direction = ResidualModel(MIDDLE), np.array([-1, -1, -1, -0.5, 1, -0.5]) * 0.01
    for k in range(6):
        known.add(MIDDLE + k * direction, error_m(MIDDLE + k * direction))
    following = MIDDLE + 6 * direction
    last = error_m(MIDDLE + 5 * direction)
    assert np.linalg.norm(known.at(following) - error_m(following)) < 0.5 * np.linalg.norm(
        last - error_m(following)
    )


def test_forgets_the_oldest_beyond_its_capacity():
    known = ResidualModel(MIDDLE, ResidualModelSettings(capacity=3))
    for k in range(5):
        known.add(MIDDLE + 0.02 * k, np.full(3, 1e-3 * k))
    assert len(known) == 3
    assert np.allclose(known.at(MIDDLE + 0.08), 4e-3, atol=4e-4)
