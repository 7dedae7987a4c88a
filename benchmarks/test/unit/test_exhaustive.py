"""The exhaustive search against a brute grid over the family of one target."""

import numpy as np
import pytest

from soft_arm_benchmarks.kinematics.exhaustive import exhaustive_score, exhaustive_scores
from soft_arm_kinematics.ik.scores import principle_scores
from soft_arm_kinematics.segments import pcc


def weighted(arm, lengths_m, present_m):
    weights = arm.robot.ik_weights
    return principle_scores(arm, lengths_m, present_m) @ [
        weights.angle_change,
        weights.bend_growth,
        weights.stiffness,
    ]


def closed(arm, first_m, target_m):
    """Return lengths (k, 6) that reach the target from lengths (k, 3) of the first module."""
    first_arcs = arm.at(np.concatenate([first_m, first_m], axis=1)).arcs[:, 0]
    first = pcc.arc_transforms(first_arcs)
    x, y, z = ((target_m - first[:, :3, 3])[:, None, :] @ first[:, :3, :3])[:, 0].T
    half = np.arctan2(np.hypot(x, y), z)  # the chord leaves at half the bend
    ell_m = np.hypot(np.hypot(x, y), z) / np.sinc(half / np.pi)
    second_arcs = pcc.arcs_from_polar(2 * half, np.arctan2(y, x), ell_m)
    return arm.lengths_from_arcs(np.stack([first_arcs, second_arcs], axis=1))


def grid_score(arm, target_m, present_m, cells=36, zooms=5):
    """Return the least score of a grid over the first module, refined at its best nodes."""
    low, high = arm.length_limits_m
    steps_m, nodes = (high - low)[:3] / (cells - 1), np.linspace(0.0, 1.0, cells)
    first_m = (
        low[:3] + np.stack(np.meshgrid(nodes, nodes, nodes), -1).reshape(-1, 3) * (high - low)[:3]
    )
    fine = np.stack(np.meshgrid(*[np.linspace(-1, 1, 9)] * 3), -1).reshape(-1, 3)
    for _ in range(zooms + 1):
        lengths_m = closed(arm, first_m, target_m)
        inside = np.all((lengths_m >= low - 1e-12) & (lengths_m <= high + 1e-12), axis=1)
        lengths_m = np.clip(lengths_m[inside], low, high)
        totals = weighted(arm, lengths_m, present_m)
        best = lengths_m[np.argsort(totals)[:30], :3]
        first_m = np.clip((best[:, None] + fine * steps_m).reshape(-1, 3), low[:3], high[:3])
        steps_m = steps_m / 4.0
    return totals.min()


@pytest.mark.parametrize('seed', [1, 2])
def test_no_grid_finds_a_better_solution(paper_arm, seed):
    random = np.random.default_rng(seed)
    goal_m, present_m = random.uniform(*paper_arm.length_limits_m, (2, paper_arm.n_actuators))
    target_m = paper_arm.at(goal_m).tip_m
    found = exhaustive_score(paper_arm, target_m, present_m)
    grid = grid_score(paper_arm, target_m, present_m)
    assert found <= grid * (1 + 1e-6)
    assert found == pytest.approx(grid, rel=3e-3)


def test_staying_where_it_is_is_the_least_change(paper_arm):
    """Weigh the change of angle only: the present pose has score 0, at a kink of all segments."""
    weights = paper_arm.robot.ik_weights.model_copy(update={'bend_growth': 0.0, 'stiffness': 0.0})
    arm = type(paper_arm)(paper_arm.robot.model_copy(update={'ik_weights': weights}))
    present_m = np.random.default_rng(3).uniform(*arm.length_limits_m)
    assert exhaustive_score(arm, arm.at(present_m).tip_m, present_m) == pytest.approx(0.0, abs=1e-4)


def test_unreachable_is_infinite_and_processes_answer_in_order(paper_arm):
    rest_m = paper_arm.rest_q
    straight_m = paper_arm.at(rest_m).tip_m
    scores = list(
        exhaustive_scores(
            paper_arm, np.array([[0.0, 0.0, 0.6], straight_m]), np.array([rest_m, rest_m]), 1
        )
    )
    assert scores[0] == np.inf and scores[1] < 0.6
