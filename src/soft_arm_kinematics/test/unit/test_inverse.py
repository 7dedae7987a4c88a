import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from soft_arm_description.robot import load_robot
from soft_arm_kinematics.arm import make_arm
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ik.inverse import MERGE_SPACING, InverseKinematics
from soft_arm_kinematics.ik.refine import refine
from soft_arm_kinematics.ik.scores import distinct, principle_scores
from soft_arm_kinematics.workspace.table import build_table


@pytest.fixture(scope='module')
def solver(paper_arm):
    return InverseKinematics(paper_arm, build_table(paper_arm, 100_000))


@pytest.fixture(scope='module')
def reachable(paper_arm):
    lengths_m = np.random.default_rng(7).uniform(*paper_arm.length_limits_m, (60, 6))
    # Module 1 at full vacuum, as in the paper's bend experiment.
    lengths_m[:10, :3] = paper_arm.length_limits_m[0, :3]
    return lengths_m, paper_arm.at(lengths_m).tip_pose


def totals(arm, q, present):
    """Weighted scores of configurations (k,)."""
    weights = arm.robot.ik_weights
    each = [weights.angle_change, weights.bend_growth, weights.stiffness]
    return principle_scores(arm, q, present) @ each


def test_solutions_reach_the_target_ordered_and_without_duplicates(paper_arm, solver, reachable):
    low, high = paper_arm.length_limits_m
    for target_m in reachable[1][:30, :3, 3]:
        result = solver.solve(target_m)
        solutions, lengths_m = result.solutions, result.solutions.q
        assert result.reachable and result.distance_m == 0.0 and len(solutions) > 5
        assert np.all((lengths_m >= low) & (lengths_m <= high))
        pressures_pa = np.array([s.pressures_pa for s in solutions])
        for reached_m in (lengths_m, paper_arm.lengths(pressures_pa)):
            assert np.linalg.norm(paper_arm.at(reached_m).tip_m - target_m, axis=1).max() <= 1.1e-6
        assert np.all(np.diff([s.score for s in solutions]) >= 0.0)
        shares = (lengths_m - low) / (high - low)
        gaps = np.abs(shares[:, None] - shares[None]).max(axis=-1)
        assert gaps[np.triu_indices(len(shares), 1)].min() >= MERGE_SPACING
    assert len(solver.solve(target_m, max_solutions=2).solutions) == 2


def test_position_and_axis(paper_arm, solver, reachable):
    for pose in reachable[1][:20]:
        result = solver.solve(pose[:3, 3], axis=3.0 * pose[:3, 2])
        assert result.solutions
        for s in result.solutions:
            found = paper_arm.at(s.lengths_m).tip_pose
            assert found[:3, 3] == pytest.approx(pose[:3, 3], abs=1e-6)
            assert found[:3, 2] == pytest.approx(pose[:3, 2], abs=2e-5)


def test_score_is_the_weighted_sum(paper_arm, solver, reachable):
    weights = paper_arm.robot.ik_weights
    best = solver.solve(reachable[1][20, :3, 3]).solutions[0]
    assert best.score == pytest.approx(
        weights.angle_change * best.score_angle_change
        + weights.bend_growth * best.score_bend_growth
        + weights.stiffness * best.score_stiffness
    )
    assert best.pressure_margin_pa == pytest.approx(np.min(96e3 - np.abs(best.pressures_pa)))
    assert best.explanation.endswith('.') and 'module_2' in best.explanation


def test_present_pose_is_the_first_choice_of_angle_change(solver, reachable):
    lengths_m, poses = reachable
    result = solver.solve(poses[20, :3, 3], present_lengths_m=lengths_m[20])
    assert min(s.score_angle_change for s in result.solutions) == pytest.approx(0.0, abs=1e-9)


def arcs_to_lengths(arm, *polar_deg):
    from soft_arm_kinematics.segments import pcc

    theta, phi = np.deg2rad(np.array(polar_deg, dtype=float)).T
    return arm.lengths_from_arcs(pcc.arcs_from_polar(theta, phi, 0.12))


@pytest.mark.parametrize(
    'better, worse, principle',
    [
        (((0, 0), (40, 0)), ((40, 0), (0, 0)), 0),  # the joint near the tip moves first
        (((10, 0), (10, 0)), ((30, 0), (30, 0)), 1),  # bends shrink
        (((30, 50), (30, 50)), ((30, 50), (30, 80)), 2),  # bending planes agree
    ],
)
def test_principles(paper_arm, better, worse, principle):
    rest = arcs_to_lengths(paper_arm, (0, 0), (0, 0))
    scores = principle_scores(
        paper_arm,
        np.stack([arcs_to_lengths(paper_arm, *better), arcs_to_lengths(paper_arm, *worse)]),
        rest,
    )
    assert scores[0, principle] < scores[1, principle] - 1e-3


def test_vacuum_is_stiffer(paper_arm):
    rest = np.full(6, 0.103)
    scores = principle_scores(paper_arm, np.stack([np.full(6, 0.08), np.full(6, 0.12)]), rest)
    assert scores[0, 2] < scores[1, 2]


@pytest.mark.parametrize(
    'target_m', [(0.0, 0.0, 0.5), (0.3, 0.1, 0.25), (-0.02, -0.02, 0.5), (0.12, 0.04, -0.24)]
)
def test_outside_the_workspace(paper_arm, solver, target_m):
    result = solver.solve(target_m)
    assert not result.reachable and not result.solutions
    assert result.distance_m == pytest.approx(
        np.linalg.norm(result.nearest_m - target_m), abs=1e-12
    )
    # It can be reached.
    assert solver.solve(result.nearest_m + 1e-9 * (result.nearest_m - target_m)).distance_m < 1e-6
    low, high = paper_arm.length_limits_m

    def distance(lengths_m):
        return np.linalg.norm(paper_arm.at(np.clip(lengths_m, low, high)).tip_m - target_m)

    starts = np.random.default_rng(11).uniform(low, high, (12, 6))
    other_m = min(
        minimize(
            distance,
            start,
            bounds=list(zip(low, high, strict=True)),
            method='SLSQP',
            options={'ftol': 1e-12},
        ).fun
        for start in starts
    )
    assert result.distance_m <= other_m + 1e-6
    assert f'{result.distance_m * 1e3:.3f} mm outside' in result.message


def test_the_straight_arm_bounds_the_workspace(solver):
    assert solver.solve([0.0, 0.0, 0.5]).distance_m == pytest.approx(0.5 - 0.39, abs=1e-7)
    assert solver.solve([0.0, 0.0, 0.389]).reachable


@pytest.mark.parametrize('outside_m', [1e-7, 4e-7, 6e-7, 9e-7, 1.5e-6, 5e-6])
def test_on_the_edge_a_target_has_a_solution_or_is_outside(solver, outside_m):
    for edge_m, out in (
        (np.array([0.0, 0.0, 0.39]), np.array([0.0, 0.0, 1.0])),
        (solver.solve([0.3, 0.1, 0.25]).nearest_m, np.array([0.3, 0.1, 0.25])),
    ):
        out = out if edge_m[0] == 0.0 else out - edge_m
        result = solver.solve(edge_m + outside_m * out / np.linalg.norm(out))
        assert result.reachable is bool(len(result.solutions)) is (outside_m < 1e-6)
        assert 'axis' not in result.message
        assert all(s.residual_m <= 1e-6 for s in result.solutions)


LIMBS = 'squid_grasper', 'squid_palpation', 'squid_camera', 'squid_light'


@pytest.fixture(scope='module', params=[*LIMBS, 'two_module_arm', 'four_piece_finger'])
def any_solver(request):
    arm = make_arm(load_robot(request.param))
    return InverseKinematics(arm, build_table(arm, 20_000))


@settings(max_examples=12)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_nearest_point_is_reached_as_the_next_target(any_solver, seed, hold):
    """As the message prints it, in the frame that the message names."""
    random, arm = np.random.default_rng(seed), any_solver.arm
    names = arm.robot.segment_names
    held = names[:1] if hold and len(names) > 1 and arm.n_actuators > 3 else ()
    tips_m = any_solver.table.tips_m
    middle_m = tips_m.mean(axis=0)
    target_m = middle_m + random.uniform(-1.6, 1.6, 3) * np.ptp(tips_m, axis=0).max() / 2.0
    result = any_solver.solve(target_m, held_segments=held)
    if result.reachable:
        return
    assert not result.solutions and arm.robot.base.frame in result.message
    printed = re.findall(r'\(([^()]*)\) mm in', result.message)[-1]
    for next_m in (result.nearest_m, 1e-3 * np.array([float(v) for v in printed.split(',')])):
        assert any_solver.solve(next_m, held_segments=held).solutions


def test_axis_that_cannot_be_had(solver):
    result = solver.solve([0.0, 0.0, 0.385], axis=[1.0, 0.0, 0.0])
    assert result.reachable and not result.solutions and 'axis' in result.message


@pytest.mark.parametrize(
    'arguments',
    [
        {'target_m': [0, 0, np.nan]},
        {'target_m': [0, 0]},
        {'target_m': [0, 0, 0.2], 'axis': [0, 0, 0]},
        {'target_m': [0, 0, 0.2], 'present_lengths_m': [0.1] * 5},
        {'target_m': [0, 0, 0.2], 'present_lengths_m': [0.1] * 5 + [np.inf]},
        {'target_m': [0, 0, 0.2], 'axis': [0, np.nan, 1]},
        {'target_m': [0, 0, 0.2], 'max_solutions': -1},
        {'target_m': [0, 0, 0.2], 'max_solutions': 0},
        {'target_m': [0, 0, 200.0]},  # millimetres
        {'target_m': [0, 1e300, 0.2]},
        {'target_m': [0, 0, 0.2], 'held_segments': ['nobody']},
        {'target_m': [0, 0, 0.2], 'held_segments': ['module_1', 'module_2']},
    ],
)
def test_invalid_requests_are_rejected(solver, arguments):
    with pytest.raises(KinematicsError) as caught:
        solver.solve(**arguments)
    assert '\n' not in str(caught.value)


def test_the_length_of_an_axis_does_not_matter(solver):
    found = [
        solver.solve([0.0, 0.0, 0.25], axis=[0.0, 0.0, length]).solutions[0].lengths_m
        for length in (1e-3, 1.0, 1e300)
    ]
    assert found[1] == pytest.approx(found[0]) and found[2] == pytest.approx(found[0])


@pytest.mark.parametrize(
    ('held', 'columns'), [('module_1', slice(0, 3)), ('module_2', slice(3, 6))]
)
def test_held_segments_keep_their_lengths_and_the_best_score_comes_first(solver, held, columns):
    arm, rng = solver.arm, np.random.default_rng(4)
    low, high = arm.q_limits
    for _ in range(10):
        wanted, present = low + rng.random((2, 6)) * (high - low)
        present[columns] = wanted[columns]
        solutions = solver.solve(arm.at(wanted).tip_m, None, present, None, [held]).solutions
        found = solutions.q
        assert np.all(found[:, columns] == present[columns])
        known = totals(arm, wanted[None], present)
        assert solutions[0].score <= known[0] + 1e-3  # of the pose that the target was made from
        assert (np.diff(solutions.scores[:, 0]) >= 0).all() and solutions[0].residual_m < 1e-6


@pytest.mark.parametrize('arm', ['long'], indirect=True)
def test_held_segments_leave_a_null_space_in_which_solutions_are_improved(arm):
    low, high = arm.q_limits
    present, wanted = low + np.random.default_rng(3).random((2, arm.n_actuators)) * (high - low)
    held, columns = arm.robot.segment_names[0], arm.columns[0]
    wanted[columns] = present[columns]
    solver = InverseKinematics(arm, build_table(arm, 5_000))
    found = solver.solve(arm.at(wanted).tip_m, None, present, None, [held]).solutions
    assert len(found) > 5 and np.all(found.q[:, columns] == present[columns])
    assert found[0].score < totals(arm, wanted[None], present)[0] - 0.01


def test_a_target_out_of_reach_names_the_held_segments(solver):
    result = solver.solve([0.0, 0.0, 0.5], None, None, None, ['module_1'])
    assert not result.solutions and 'module_1 held' in result.message and result.distance_m > 0.1


def test_compiled_scores_are_the_plain_ones(paper_arm, solver, reachable):
    present_m = reachable[0][30]
    solutions = solver.solve(reachable[1][20, :3, 3], present_lengths_m=present_m).solutions
    assert solutions.scores[:, 1:] == pytest.approx(
        principle_scores(paper_arm, solutions.q, present_m), abs=2e-5
    )


def test_best_is_improved_along_the_null_space(paper_arm, solver, reachable):
    """No refined start is better than the best, and no small move along the null space is."""
    lengths_m, poses = reachable
    rng = np.random.default_rng(0)
    for target_m in poses[20:26, :3, 3]:
        best = solver.solve(target_m).solutions
        moves = best.q[0] + rng.standard_normal((40, 6)) * 1e-3
        moved, residuals_m, _ = refine(paper_arm, moves, target_m)
        found = totals(paper_arm, moved[residuals_m < 1e-6], paper_arm.rest_q)
        assert found.min() > best.scores[0, 0] * 0.98


def test_distinct_solutions_differ_from_each_other(paper_arm):
    rows = np.array([[0.1] * 6, [0.105] * 6, [0.12] * 6, [0.1] * 5 + [0.15], [0.19] * 6])
    assert distinct(paper_arm, rows, 3) == [0, 2, 3]


@pytest.mark.parametrize(
    'starts, target_m',
    [
        (np.zeros(6), np.zeros(3)),
        (np.zeros((2, 5)), np.zeros(3)),
        (np.full((1, 6), 0.1), [0, 0, np.nan]),
    ],
)
def test_bad_starts_and_targets_are_refused(paper_arm, starts, target_m):
    with pytest.raises(KinematicsError):
        refine(paper_arm, starts, target_m)
