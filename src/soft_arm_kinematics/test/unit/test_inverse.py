import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from soft_arm_description.robot import load_robot
from soft_arm_kinematics.arm import make_arm
from soft_arm_kinematics.backends import kd_tree
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ik.inverse import MERGE_SPACING, InverseKinematics
from soft_arm_kinematics.ik.refine import refine
from soft_arm_kinematics.ik.scores import principle_scores
from soft_arm_kinematics.workspace.table import build_table, load_table


@pytest.fixture(scope='module')
def solver(paper_arm):
    return InverseKinematics(paper_arm, build_table(paper_arm, 100_000))


@pytest.fixture(scope='module')
def reachable(paper_arm):
    lengths_m = np.random.default_rng(7).uniform(*paper_arm.length_limits_m, (60, 6))
    # Module 1 at full vacuum, as in the paper's bend experiment.
    lengths_m[:10, :3] = paper_arm.length_limits_m[0, :3]
    return lengths_m, paper_arm.fk(lengths_m)


def test_forward_of_inverse_is_the_target(paper_arm, solver, reachable):
    low, high = paper_arm.length_limits_m
    for target in reachable[1][:, :3, 3]:
        result = solver.solve(target)
        assert result.reachable and result.solutions and result.distance_m == 0.0
        for s in result.solutions:
            assert np.linalg.norm(paper_arm.tip(s.lengths_m) - target) <= 1e-6
            assert (
                np.linalg.norm(paper_arm.tip(paper_arm.lengths(s.pressures_pa)) - target) <= 1.1e-6
            )
            assert np.all((s.lengths_m >= low) & (s.lengths_m <= high))


def test_position_and_axis(paper_arm, solver, reachable):
    for pose in reachable[1][:20]:
        result = solver.solve(pose[:3, 3], axis=3.0 * pose[:3, 2])
        assert result.solutions
        for s in result.solutions:
            found = paper_arm.fk(s.lengths_m)
            assert found[:3, 3] == pytest.approx(pose[:3, 3], abs=1e-6)
            assert found[:3, 2] == pytest.approx(pose[:3, 2], abs=2e-5)


def test_solutions_are_ordered_and_apart(solver, reachable):
    for target in reachable[1][:10, :3, 3]:
        solutions = solver.solve(target).solutions
        scores = [s.score for s in solutions]
        assert scores == sorted(scores)
        lengths_m = np.array([s.lengths_m for s in solutions])
        gaps_m = np.abs(lengths_m[:, None] - lengths_m[None]).max(axis=-1)
        # 0.8 % of 125 mm
        assert gaps_m[~np.eye(len(gaps_m), dtype=bool)].min(initial=np.inf) >= 0.99e-3
        assert len(solver.solve(target, max_solutions=2).solutions) == min(2, len(solutions))


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
        return np.linalg.norm(paper_arm.tip(np.clip(lengths_m, low, high)) - target_m)

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


def test_straight_ends_are_known(solver):
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
    ],
)
def test_bad_requests_are_refused(solver, arguments):
    with pytest.raises(KinematicsError) as caught:
        solver.solve(**arguments)
    assert '\n' not in str(caught.value)


def test_the_length_of_an_axis_does_not_matter(solver):
    found = [
        solver.solve([0.0, 0.0, 0.25], axis=[0.0, 0.0, length]).solutions[0].lengths_m
        for length in (1e-3, 1.0, 1e300)
    ]
    assert found[1] == pytest.approx(found[0]) and found[2] == pytest.approx(found[0])


@pytest.mark.parametrize('radius_m', [0.0, -1.0, np.nan, np.inf])
def test_a_search_that_cannot_end_is_refused(solver, radius_m):
    with pytest.raises(KinematicsError, match='radius > 0'):
        solver.table.near(np.zeros(3), radius_m, 20)
    with pytest.raises(KinematicsError, match='finite'):
        solver.table.near(np.array([0.0, np.nan, 0.0]), 0.01, 20)
    assert len(solver.table.near(np.array([0.0, 0.0, 1e200]), 1e-300, 20)) >= 20


def test_no_type_depends_on_the_shape(paper_arm, arm, solver):
    """Compiled code serves every arm; only the steps are compiled per number of coordinates."""
    from soft_arm_kinematics.backends.compiled_solver import solve

    solver.solve([0.0, 0.0, 0.25])
    signatures = len(solve.signatures)
    other = InverseKinematics(arm, build_table(arm, 2000))
    assert other.solve(arm.fk(arm.actuation_limits.mean(axis=0))[:3, 3]).solutions
    assert len(solve.signatures) == signatures


def test_refinement_works_for_every_arm(arm):
    rng = np.random.default_rng(1)
    low, high = arm.length_limits_m
    wanted_m = rng.uniform(low, high, (20, arm.n_actuators))
    for goal_m in wanted_m:
        target_m = arm.tip(goal_m)
        starts_m = goal_m + 0.01 * rng.standard_normal((10, arm.n_actuators))
        lengths_m, residuals_m, _ = refine(arm, starts_m, target_m)
        assert np.all(lengths_m >= low) and np.all(lengths_m <= high)
        assert residuals_m == pytest.approx(
            np.linalg.norm(arm.tip(lengths_m) - target_m, axis=1), abs=1e-12
        )
        assert residuals_m.min() < 1e-9


def test_solutions_nearer_than_the_spacing_are_one(solver):
    result = solver.solve([0.04, 0.02, 0.25])
    low, high = solver.arm.actuation_limits
    shares = (result.solutions.actuation - low) / (high - low)
    gaps = np.abs(shares[:, None] - shares[None]).max(axis=-1)
    assert len(shares) > 5 and gaps[np.triu_indices(len(shares), 1)].min() >= MERGE_SPACING


@settings(max_examples=60)
@given(st.lists(st.floats(0.0, 1.0), min_size=6, max_size=6).map(np.array))
def test_forward_of_inverse_is_the_identity(paper_arm, solver, share):
    low, high = paper_arm.length_limits_m
    target_m = paper_arm.tip(low + share * (high - low))
    solutions = solver.solve(target_m).solutions
    assert len(solutions)
    assert np.linalg.norm(paper_arm.tip(solutions.actuation) - target_m, axis=1).max() <= 1e-6
    assert np.all((solutions.actuation >= low) & (solutions.actuation <= high))


def test_compiled_scores_are_the_plain_ones(paper_arm, solver, reachable):
    present_m = reachable[0][30]
    solutions = solver.solve(reachable[1][20, :3, 3], present_lengths_m=present_m).solutions
    assert solutions.scores[:, 1:] == pytest.approx(
        principle_scores(paper_arm, solutions.actuation, present_m), abs=2e-5
    )


def test_best_is_improved_along_the_null_space(paper_arm, solver, reachable):
    """No refined start is better than the best, and no small move along the null space is."""
    lengths_m, poses = reachable
    rng = np.random.default_rng(0)
    for target_m in poses[20:26, :3, 3]:
        best = solver.solve(target_m).solutions
        moves = best.actuation[0] + rng.standard_normal((40, 6)) * 1e-3
        moved, residuals_m, _ = refine(paper_arm, moves, target_m)
        weights = paper_arm.robot.ik_weights
        totals = principle_scores(
            paper_arm, moved[residuals_m < 1e-6], paper_arm.rest_actuation
        ) @ [
            weights.angle_change,
            weights.bend_growth,
            weights.stiffness,
        ]
        assert totals.min() > best.scores[0, 0] * 0.98


def test_tree_finds_what_a_traversal_finds():
    points = np.random.default_rng(4).standard_normal((5000, 3)).astype(np.float32)
    points[100:200] = points[100]  # equal points
    order, axes, values = kd_tree.build(points)
    assert sorted(order) == list(range(5000))
    points, found = points[order], np.empty(5000, dtype=np.int64)
    for target in (np.zeros(3), np.array([0.5, -1.0, 0.3]), points[100].astype(float)):
        count, radius = kd_tree.near(points, axes, values, target, 0.2, 3, found)
        assert (
            set(found[:count])
            == set(np.flatnonzero(np.linalg.norm(points - target, axis=1) <= radius))
            and count >= 3
        )


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


def spoil_bytes(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def spoil_tips(path):
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **arrays | {'tips_m': arrays['tips_m'] + np.float32(1e-5)})


def spoil_all(path):
    path.write_bytes(b'not a table')


def spoil_size(path):
    path.write_bytes(b'')


@pytest.mark.parametrize('spoil', [spoil_bytes, spoil_tips, spoil_all, spoil_size])
def test_corrupt_cache_is_rebuilt(paper_arm, tmp_path, spoil):
    table = load_table(paper_arm, 2000, tmp_path)
    (path,) = tmp_path.iterdir()
    good = path.read_bytes()
    spoil(path)
    again = load_table(paper_arm, 2000, tmp_path)
    assert np.array_equal(again.tips_m, table.tips_m) and np.array_equal(
        again.actuation, table.actuation
    )
    assert path.read_bytes()[:100] == good[:100] and len(path.read_bytes()) == len(good)


def test_cache_is_read_and_belongs_to_one_arm(paper_arm, arm, tmp_path):
    load_table(paper_arm, 500, tmp_path)
    (path,) = tmp_path.iterdir()
    before = path.stat().st_mtime_ns
    load_table(paper_arm, 500, tmp_path)
    assert path.stat().st_mtime_ns == before
    load_table(arm, 500, tmp_path)
    assert len(list(tmp_path.iterdir())) == (1 if arm.fingerprint == paper_arm.fingerprint else 2)
