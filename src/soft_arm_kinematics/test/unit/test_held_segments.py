"""Inverse kinematics with held segments: the same principles, fewer coordinates."""

import numpy as np
import pytest

from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ik.inverse import InverseKinematics
from soft_arm_kinematics.ik.scores import principle_scores


@pytest.fixture(scope='module')
def solver(paper_arm):
    return InverseKinematics(paper_arm)


@pytest.mark.parametrize(
    ('held', 'columns'), [('module_1', slice(0, 3)), ('module_2', slice(3, 6))]
)
def test_held_segments_keep_their_lengths_and_the_best_score_comes_first(solver, held, columns):
    arm, rng = solver.arm, np.random.default_rng(4)
    low, high = arm.actuation_limits
    for _ in range(10):
        wanted, present = low + rng.random((2, 6)) * (high - low)
        present[columns] = wanted[columns]
        solutions = solver.solve(arm.fk(wanted)[:3, 3], None, present, None, [held]).solutions
        found = solutions.actuation
        assert found[:, columns] == pytest.approx(np.tile(present[columns], (len(found), 1)))
        weights = arm.robot.ik_weights
        weights = [weights.angle_change, weights.bend_growth, weights.stiffness]
        known = principle_scores(arm, wanted[None], present) @ weights
        assert solutions[0].score <= known[0] + 1e-3  # never worse than the solution it was made of
        assert (np.diff(solutions.scores[:, 0]) >= 0).all() and solutions[0].residual_m < 1e-6


def test_a_target_out_of_reach_names_the_held_segments(solver):
    result = solver.solve([0.0, 0.0, 0.5], None, None, None, ['module_1'])
    assert not result.solutions and 'module_1 held' in result.message and result.distance_m > 0.1


@pytest.mark.parametrize(
    ('held', 'words'), [(['nobody'], 'not known'), (['module_1', 'module_2'], 'at least one')]
)
def test_held_segments_that_make_no_sense_are_refused(solver, held, words):
    with pytest.raises(KinematicsError, match=words):
        solver.solve([0.0, 0.0, 0.2], None, None, None, held)
