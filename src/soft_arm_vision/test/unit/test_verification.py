"""Finds weighed by logistic regression."""

import numpy as np
import pytest

from soft_arm_vision.errors import FitRefused, TooVague, VisionError
from soft_arm_vision.ring.pose_hypothesis import RingRegion
from soft_arm_vision.ring.verification import RingOdds, counts_without_pose, fit_odds

ODDS = RingOdds(
    constant=-5.0,
    score=0.8,
    unexplained=-9.0,
    contradicted=-7.0,
    shown=6.0,
    flatness=-3.0,
    hidden=-4.0,
    outlined=5.0,
)


def region(
    unexplained=0.1,
    contradicted=0.0,
    shown=0.4,
    flatness=-1.0,
    hidden=0.0,
    goes_on=-0.3,
    outlined=0.9,
):
    return RingRegion(
        None,
        unexplained,
        contradicted,
        shown,
        flatness,
        hidden,
        goes_on,
        outlined,
        np.ones((1, 1), bool),
        0,
        0,
    )


def test_fit_finds_the_odds_that_finds_were_drawn_with():
    rng = np.random.default_rng(0)
    finds = []
    for _ in range(4000):
        score, drawn = (
            rng.uniform(0.05, 0.95),
            region(
                *(
                    rng.uniform(*limits)
                    for limits in (
                        (0, 0.6),
                        (0, 0.3),
                        (0, 0.6),
                        (-2, 1),
                        (0, 0.8),
                        (-1, 0),
                        (0.2, 1),
                    )
                )
            ),
        )
        finds.append((score, drawn, rng.random() < 1 / (1 + np.exp(-ODDS.log_odds(score, drawn)))))
    found = fit_odds(finds)
    for name in (
        'constant',
        'score',
        'unexplained',
        'contradicted',
        'shown',
        'flatness',
        'hidden',
        'outlined',
    ):
        assert getattr(found, name) == pytest.approx(
            getattr(ODDS, name), abs=0.25 * max(1, abs(getattr(ODDS, name)))
        )


def test_finds_that_a_line_parts_give_finite_odds():
    finds = [(0.9, region(0.1), True), (0.2, region(0.4), False)] * 20
    found = fit_odds(finds)
    assert found.log_odds(0.9, region(0.1)) > 2 > -2 > found.log_odds(0.2, region(0.4))


@pytest.mark.parametrize(
    ('score', 'seen'),
    [
        (0.3, region()),
        (0.9, region(unexplained=0.45)),
        (0.9, region(contradicted=0.5)),
        (0.5, region(shown=0.02)),
        (0.9, region(flatness=0.5)),
        (0.9, region(hidden=0.5)),
        (0.9, region(outlined=0.3)),
    ],
)
def test_whatever_speaks_against_a_ring_lowers_its_odds(score, seen):
    assert ODDS.log_odds(score, seen) < ODDS.log_odds(0.9, region()) and ODDS.may_be_ring(
        0.9, region()
    )


@pytest.mark.parametrize('seen', [region(shown=0.1), region(goes_on=0.2)])
def test_find_that_shows_next_to_nothing_or_goes_on_is_no_ring_however_sure_the_network(seen):
    odds = RingOdds(50.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert odds.may_be_ring(1.0, region()) and not odds.may_be_ring(1.0, seen)


def test_what_speaks_against_a_ring_asks_for_better_odds_than_what_tells_too_little():
    assert counts_without_pose(0.0, TooVague()) and not counts_without_pose(0.0, FitRefused())
    assert counts_without_pose(2.0, FitRefused()) and not counts_without_pose(-1.9, TooVague())


@pytest.mark.parametrize('finds', [[], [(0.9, region(), True)] * 3])
def test_odds_do_not_follow_from_one_kind_of_finds(finds):
    with pytest.raises(VisionError, match='train the network further'):
        fit_odds(finds)
