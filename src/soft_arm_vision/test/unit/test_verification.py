"""Finds weighed by logistic regression."""

import numpy as np
import pytest

from soft_arm_vision.errors import FitRefused, Underconstrained, VisionError
from soft_arm_vision.ring.pose_hypothesis import PoseHypothesis
from soft_arm_vision.ring.verification import Verifier, accepted_without_pose, fit_verifier

VERIFIER = Verifier(
    constant=-5.0,
    score=0.8,
    residual=-9.0,
    free_space_violation=-7.0,
    visible_fraction=6.0,
    flatness=-3.0,
    occluded_fraction=-4.0,
    contour_support=5.0,
)


def hypothesis(
    residual=0.1,
    free_space_violation=0.0,
    visible_fraction=0.4,
    flatness=-1.0,
    occluded_fraction=0.0,
    longer_cylinder_gain=-0.3,
    contour_support=0.9,
):
    return PoseHypothesis(
        None,
        residual,
        free_space_violation,
        visible_fraction,
        flatness,
        occluded_fraction,
        longer_cylinder_gain,
        contour_support,
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
            hypothesis(
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
        finds.append(
            (
                score,
                drawn,
                rng.random() < 1 / (1 + np.exp(-VERIFIER.verification_score(score, drawn))),
            )
        )
    found = fit_verifier(finds)
    for name in (
        'constant',
        'score',
        'residual',
        'free_space_violation',
        'visible_fraction',
        'flatness',
        'occluded_fraction',
        'contour_support',
    ):
        assert getattr(found, name) == pytest.approx(
            getattr(VERIFIER, name), abs=0.25 * max(1, abs(getattr(VERIFIER, name)))
        )


def test_finds_that_a_line_parts_give_finite_odds():
    finds = [(0.9, hypothesis(0.1), True), (0.2, hypothesis(0.4), False)] * 20
    found = fit_verifier(finds)
    assert (
        found.verification_score(0.9, hypothesis(0.1))
        > 2
        > -2
        > found.verification_score(0.2, hypothesis(0.4))
    )


@pytest.mark.parametrize(
    ('score', 'seen'),
    [
        (0.3, hypothesis()),
        (0.9, hypothesis(residual=0.45)),
        (0.9, hypothesis(free_space_violation=0.5)),
        (0.5, hypothesis(visible_fraction=0.02)),
        (0.9, hypothesis(flatness=0.5)),
        (0.9, hypothesis(occluded_fraction=0.5)),
        (0.9, hypothesis(contour_support=0.3)),
    ],
)
def test_whatever_speaks_against_a_ring_lowers_its_odds(score, seen):
    assert VERIFIER.verification_score(score, seen) < VERIFIER.verification_score(
        0.9, hypothesis()
    ) and VERIFIER.accepts(0.9, hypothesis())


@pytest.mark.parametrize(
    'seen', [hypothesis(visible_fraction=0.1), hypothesis(longer_cylinder_gain=0.2)]
)
def test_find_that_shows_next_to_nothing_or_goes_on_is_no_ring_however_sure_the_network(seen):
    odds = Verifier(50.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert odds.accepts(1.0, hypothesis()) and not odds.accepts(1.0, seen)


def test_what_speaks_against_a_ring_asks_for_better_odds_than_what_tells_too_little():
    assert accepted_without_pose(0.0, Underconstrained()) and not accepted_without_pose(
        0.0, FitRefused()
    )
    assert accepted_without_pose(2.0, FitRefused()) and not accepted_without_pose(
        -1.9, Underconstrained()
    )


@pytest.mark.parametrize('finds', [[], [(0.9, hypothesis(), True)] * 3])
def test_odds_do_not_follow_from_one_kind_of_finds(finds):
    with pytest.raises(VisionError, match='train the network further'):
        fit_verifier(finds)
