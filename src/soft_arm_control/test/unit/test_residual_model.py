import numpy as np

from soft_arm_control.tip import residual_model
from soft_arm_control.tip.residual_model import ResidualModel

MIDDLE = np.full(6, 0.13)


def error_m(lengths_m):
    """Smooth and of a real arm's size."""
    x = lengths_m - MIDDLE
    return np.array([0.004 + 0.08 * x[0], 0.05 * x[1] - 0.03 * x[4], -0.006 + 0.1 * x[5]])


def test_gives_back_what_it_was_told_and_what_lies_between():
    known, rng = ResidualModel(6), np.random.default_rng(1)
    places = MIDDLE + rng.uniform(-0.04, 0.04, (25, 6))
    for place in places:
        known.add(place, error_m(place))
    assert max(np.linalg.norm(known.at(p) - error_m(p)) for p in places) < 0.5e-3
    between = [(a + b) / 2 for a, b in zip(places[:-1], places[1:], strict=True)]
    left_m = np.mean([np.linalg.norm(known.at(p) - error_m(p)) for p in between])
    assert left_m < 0.25 * np.mean([np.linalg.norm(error_m(p)) for p in between])


def test_far_away_it_expects_no_more_than_it_was_told():
    known = ResidualModel(6)
    for k in range(3):
        known.add(MIDDLE - 0.02 * k, np.array([0.0, 0.0, 0.01 * k]))
    assert np.abs(known.at(MIDDLE + 0.08)).max() < 0.02


def test_its_deviation_is_small_where_it_was_told_and_never_above_the_first():
    known = ResidualModel(6)
    at_first_m = known.deviation_m(MIDDLE)
    known.add(MIDDLE, np.zeros(3))
    assert known.deviation_m(MIDDLE) < 0.05 * at_first_m
    assert known.deviation_m(MIDDLE) < known.deviation_m(MIDDLE + 0.08) < at_first_m


def test_forgets_the_oldest_beyond_its_capacity(monkeypatch):
    monkeypatch.setattr(residual_model, 'CAPACITY', 3)
    known = ResidualModel(6)
    for k in range(5):
        known.add(MIDDLE + 0.02 * k, np.full(3, 1e-3 * k))
    assert len(known) == 3
    assert np.allclose(known.at(MIDDLE + 0.08), 4e-3, atol=4e-4)
