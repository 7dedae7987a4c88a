import numpy as np
import pytest

from soft_arm_kinematics.backends.fast_fk import fk_batch
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments import chain


def random_lengths(arm, count, seed=0):
    low, high = arm.length_limits_m
    lengths_m = np.random.default_rng(seed).uniform(low, high, (count, arm.n_actuators))
    lengths_m[0] = 0.1  # straight
    return lengths_m


def test_arm_is_the_product_of_its_modules(paper_arm):
    from soft_arm_kinematics.segments import pcc

    lengths_m = random_lengths(paper_arm, 5)
    first, second = (pcc.arc_transforms(paper_arm.at(lengths_m).arcs[:, i]) for i in (0, 1))
    assert paper_arm.at(lengths_m).tip_pose == pytest.approx(first @ second, abs=1e-15)


def has_twists(arm):
    return all(segment.closing_twist for segment in arm.robot.segments)


def test_straight_arm_is_as_long_as_its_bellows(arm):
    lengths_m = np.full(arm.n_actuators, 0.12)
    straight_m = sum(0.12 + segment.rigid_length_m for segment in arm.robot.segments)
    assert arm.at(lengths_m).tip_m == pytest.approx([0.0, 0.0, straight_m], abs=1e-14)


def test_lengths_and_arcs_are_inverse(arm):
    lengths_m = random_lengths(arm, 20)
    arcs = arm.at(lengths_m).arcs
    assert arm.at(arm.lengths_from_arcs(arcs)).arcs == pytest.approx(arcs, abs=1e-12)


def test_poses_are_rigid(arm):
    rotations = arm.at(random_lengths(arm, 50)).tip_pose[:, :3, :3]
    assert rotations @ rotations.swapaxes(1, 2) == pytest.approx(
        np.broadcast_to(np.eye(3), (50, 3, 3)), abs=1e-13
    )
    assert np.linalg.det(rotations) == pytest.approx(np.ones(50), abs=1e-13)


def test_leading_shapes_broadcast(paper_arm):
    lengths_m = random_lengths(paper_arm, 6).reshape(2, 3, 6)
    poses, jacobians = paper_arm.at(lengths_m).tip_pose, paper_arm.at(lengths_m).twist_jacobian
    assert poses.shape == (2, 3, 4, 4) and jacobians.shape == (2, 3, 6, 6)
    assert poses[1, 2] == pytest.approx(paper_arm.at(lengths_m[1, 2]).tip_pose, abs=1e-15)
    assert jacobians[1, 2] == pytest.approx(paper_arm.at(lengths_m[1, 2]).twist_jacobian, abs=1e-12)


def test_jacobians_by_central_differences(arm):
    lengths_m = random_lengths(arm, 20)
    if not has_twists(arm):
        lengths_m = lengths_m[1:]  # the open convention has no orientation derivative at zero bend
    step = 1e-6
    jacobian, axes = arm.at(lengths_m).twist_jacobian, arm.at(lengths_m).tip_pose[:, :3, 2]
    for k in range(arm.n_actuators):
        shift = step * np.eye(arm.n_actuators)[k]
        rate = (arm.at(lengths_m + shift).tip_pose - arm.at(lengths_m - shift).tip_pose) / (
            2 * step
        )
        assert jacobian[..., :3, k] == pytest.approx(rate[..., :3, 3], abs=1e-6)
        turned = np.cross(jacobian[..., 3:, k], axes)
        assert turned == pytest.approx(rate[..., :3, 2], abs=1e-6 * 50)


def test_configuration_computes_each_quantity_once(paper_arm, monkeypatch):
    calls = []
    for name in ('segment_poses', 'arcs'):
        compute = getattr(chain, name)
        monkeypatch.setattr(chain, name, lambda *a, f=compute, n=name: calls.append(n) or f(*a))
    shape = paper_arm.at(paper_arm.lengths(np.zeros(6)))
    assert calls == []
    assert shape.tip_m == pytest.approx(shape.backbone()[-1])
    assert (shape.theta_rad < 1e-12).all() and shape.ell_m.sum() == pytest.approx(shape.tip_m[2])
    assert sorted(calls) == ['arcs', 'segment_poses']
    with pytest.raises(ValueError, match='read-only'):
        shape.q[0] = 0.1


def test_configuration_of_a_batch_is_that_of_each(any_arm):
    low, high = any_arm.q_limits
    batch = np.random.default_rng(5).uniform(low, high, (2, 3, any_arm.n_actuators))
    shapes = any_arm.at(batch)
    one = any_arm.at(batch[1, 2])
    jacobians = 'tip_jacobian', 'twist_jacobian'
    for name in ('tip_pose', 'theta_rad', 'phi_rad', 'ell_m', 'arcs', *jacobians):
        assert getattr(shapes, name)[1, 2] == pytest.approx(getattr(one, name), abs=1e-12)
    assert shapes.backbone(4)[1, 2] == pytest.approx(one.backbone(4), abs=1e-14)


def test_one_pose_is_that_of_a_batch(any_arm):
    low, high = any_arm.q_limits
    batch = np.vstack(
        [
            np.random.default_rng(6).uniform(low, high, (20, any_arm.n_actuators)),
            any_arm.rest_q,
            np.full(any_arm.n_actuators, 1e200),  # overflows to nan
        ]
    )
    with np.errstate(all='ignore'):
        tips_m, jacobians = any_arm.at(batch).tip_m, any_arm.at(batch).twist_jacobian
    for q, tip_m, jacobian in zip(batch, tips_m, jacobians, strict=True):
        exact = {'rel': 1e-12, 'abs': 1e-14, 'nan_ok': True}
        assert any_arm.at(q).tip_m == pytest.approx(tip_m, **exact)
        assert any_arm.at(q).twist_jacobian == pytest.approx(jacobian, **exact)


def test_compiled_poses_equal_the_plain_ones(arm):
    lengths_m = random_lengths(arm, 200)
    # Nearly straight.
    lengths_m[1:20] = 0.1 + 1e-6 * np.random.default_rng(2).standard_normal((19, arm.n_actuators))
    if not has_twists(arm):
        # At zero bend the open convention's phi is decided by the last bit.
        lengths_m = lengths_m[1:]
    assert fk_batch(arm, lengths_m) == pytest.approx(
        arm.at(lengths_m).tip_pose, abs=1e-13 if has_twists(arm) else 1e-7
    )


def test_backbone_ends_at_the_segments(paper_arm):
    lengths_m = random_lengths(paper_arm, 3)[2]
    line = paper_arm.at(lengths_m).backbone(7)
    assert line.shape == (15, 3)
    assert line[[0, 7, 14]] == pytest.approx(
        np.vstack([np.zeros(3), paper_arm.at(lengths_m).segment_poses[:, :3, 3]]), abs=1e-14
    )
    assert (
        np.linalg.norm(np.diff(line, axis=0), axis=1).sum() <= paper_arm.at(lengths_m).ell_m.sum()
    )


@pytest.mark.parametrize(
    'lengths_m, words',
    [(np.full(5, 0.1), ['5 values', '6', 'm1_b1']), (np.full(6, np.nan), ['nan', 'finite'])],
)
def test_bad_lengths_are_refused(paper_arm, lengths_m, words):
    with pytest.raises(KinematicsError) as caught:
        paper_arm.at(lengths_m)
    assert all(word in str(caught.value) for word in words)
