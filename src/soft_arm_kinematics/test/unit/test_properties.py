"""Test properties that hold for robots of every kind.

These are the shipped robots, and chains of all kinds in both closing-twist conventions.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from soft_arm_kinematics.arm import make_arm
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ik.inverse import InverseKinematics
from soft_arm_kinematics.ik.refine import refine, twist_jacobian_batch
from soft_arm_kinematics.segments import pcc
from soft_arm_kinematics.workspace.table import build_table

some = settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
seeds = st.integers(0, 10_000)


def drawn(arm, seed, count=1):
    q = np.random.default_rng(seed).uniform(*arm.q_limits, (count, arm.n_actuators))
    return q[0] if count == 1 else q


@pytest.fixture(scope='module')
def any_solver(any_arm):
    return InverseKinematics(any_arm, build_table(any_arm, 20_000))


@some
@given(seeds)
def test_forward_of_inverse_is_the_identity_inside_the_limits(any_solver, seed):
    arm = any_solver.arm
    low, high = arm.q_limits
    target_m = arm.at(drawn(arm, seed)).tip_m
    found = any_solver.solve(target_m).solutions
    # without the closing twist, the direction of bellows that are straight to 1e-12 rad is the
    # rounding of their lengths
    loose = any(s.kind == 'bellows' and not s.closing_twist for s in arm.robot.segments)
    assert len(found)
    assert np.linalg.norm(arm.at(found.q).tip_pose[:, :3, 3] - target_m, axis=1).max() <= (
        2e-4 if loose else 1e-6
    )
    assert np.all((found.q >= low) & (found.q <= high))


@some
@given(seeds, st.floats(1.0, 30.0))
def test_limits_are_never_exceeded_wherever_the_target_is(any_arm, seed, far):
    low, high = any_arm.q_limits
    random = np.random.default_rng(seed)
    starts = low + (high - low) * random.uniform(-1.0, 2.0, (6, any_arm.n_actuators))
    target_m = far * any_arm.at(drawn(any_arm, seed)).tip_m + 1e-3
    for found in (
        refine(any_arm, starts, target_m)[0],
        refine(any_arm, starts, target_m, np.array([0.0, 0.6, 0.8]))[0],
    ):
        assert np.all((found >= low) & (found <= high))


@some
@given(seeds)
def test_arcs_to_lengths_to_arcs(arm, seed):
    random = np.random.default_rng(seed)
    polar = random.uniform([0.0, -np.pi, 0.05], [3.0, np.pi, 0.3], (4, arm.n_segments, 3))
    arcs = pcc.arcs_from_polar(polar[..., 0], polar[..., 1], polar[..., 2])
    assert arm.at(arm.lengths_from_arcs(arcs)).arcs == pytest.approx(arcs, abs=1e-12)


@some
@given(seeds)
def test_poses_form_the_group_of_rigid_motions(any_arm, seed):
    """R R^T = I and det R = 1."""
    q = drawn(any_arm, seed)
    poses = any_arm.at(q).segment_poses
    rotations = poses[:, :3, :3]
    assert rotations @ rotations.swapaxes(1, 2) == pytest.approx(
        np.broadcast_to(np.eye(3), rotations.shape), abs=1e-13
    )
    assert np.linalg.det(rotations) == pytest.approx(np.ones(len(poses)), abs=1e-13)


def scaled_content(value, scale, key=''):
    if isinstance(value, dict):
        return {k: scaled_content(v, scale, k) for k, v in value.items()}
    if isinstance(value, list):
        return [scaled_content(v, scale, key) for v in value]
    is_length = key.endswith('_m') and not key.endswith('_n_m')
    return scale * value if is_length and isinstance(value, float) else value


@some
@given(seeds, st.floats(0.2, 5.0))
def test_a_robot_of_another_size_bends_the_same_and_reaches_that_much_farther(any_arm, seed, scale):
    content = any_arm.robot.model_dump(mode='json', exclude_unset=True)
    content['segments'] = scaled_content(content['segments'], scale)
    large = make_arm(type(any_arm.robot).model_validate(content))
    q = drawn(any_arm, seed)
    scaled = np.where([c.unit == 'm' for c in any_arm.robot.coordinates], scale, 1.0) * q
    assert large.at(scaled).tip_m == pytest.approx(scale * any_arm.at(q).tip_m, abs=1e-12)
    assert large.at(scaled).tip_pose[:3, :3] == pytest.approx(
        any_arm.at(q).tip_pose[:3, :3], abs=1e-12
    )


@pytest.mark.parametrize('name', ['at', 'twist_jacobian_batch', 'refine'])
@pytest.mark.parametrize('bad', ['nan', 'inf', 'short', 'long', 'scalar', 'words'])
def test_nan_and_wrong_shapes_are_refused(any_arm, name, bad):
    n = any_arm.n_actuators
    good = any_arm.rest_q
    value = {
        'nan': np.where(np.arange(n) == n - 1, np.nan, good),
        'inf': np.where(np.arange(n) == 0, np.inf, good),
        'short': good[:-1],
        'long': np.append(good, 0.0),
        'scalar': np.float64(0.1),
        'words': np.array(['a'] * n),
    }[bad]
    rows = value[None] if np.ndim(value) else value
    calls = {
        'at': lambda: any_arm.at(value),
        'twist_jacobian_batch': lambda: twist_jacobian_batch(any_arm, value),
        'refine': lambda: refine(any_arm, rows, np.array([0.0, 0.0, 0.1])),
    }
    with pytest.raises(KinematicsError) as caught:
        calls[name]()
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize(
    'arcs', [np.full((2, 3), np.nan), np.zeros((3, 3)), np.zeros((2, 2)), np.zeros(6)]
)
def test_bad_arcs_are_refused(paper_arm, arcs):
    with pytest.raises(KinematicsError, match='arcs'):
        paper_arm.lengths_from_arcs(arcs)


@pytest.mark.parametrize('function', [pcc.arc_transforms, pcc.polar_from_arcs])
def test_arcs_have_three_numbers(function):
    with pytest.raises(KinematicsError, match='shape'):
        function(np.zeros((5, 2)))
