import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from soft_arm_description import shipped_robots
from soft_arm_kinematics import load_arm
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments import pcc
from soft_arm_kinematics.segments.modal import ModalModel
from soft_arm_kinematics.segments.section_fit import values_through
from soft_arm_kinematics.segments.sections import arc_sections, chain_transforms

bends = st.floats(-np.pi, np.pi)
planes = st.floats(-2 * np.pi, 2 * np.pi)
lengths = st.floats(0.05, 0.6)
counts = st.integers(3, 20)


def arc_end(theta, phi, ell, closing_twist=True):
    # the convention without closing twist turns by phi itself, which an arc keeps for theta > 0
    # only
    pose = pcc.arc_transforms(pcc.arcs_from_polar(theta, phi, ell))
    if not closing_twist:
        pose[:3, :3] = pose[:3, :3] @ Rotation.from_euler('z', phi).as_matrix()
    return pose


@given(bends, planes, lengths, counts, st.booleans())
def test_sections_end_where_the_arc_ends(theta, phi, ell, count, twist):
    end = chain_transforms(arc_sections(theta, phi, ell, count, twist))[-1]
    assert end[:3, 3] == pytest.approx(arc_end(theta, phi, ell)[:3, 3], abs=1e-12)
    assert end[:3, :3] == pytest.approx(arc_end(theta, phi, ell, twist)[:3, :3], abs=1e-12)


@given(bends, planes, lengths, counts)
def test_joints_lie_on_the_arc_and_lack_half_a_section_of_turn(theta, phi, ell, count):
    poses = chain_transforms(arc_sections(theta, phi, ell, count))
    on_arc = pcc.arc_transforms(
        pcc.arcs_from_polar(theta, phi, ell) * (np.arange(count + 1) / count)[:, None]
    )
    assert poses[:-1, :3, 3] == pytest.approx(on_arc[:, :3, 3], abs=1e-12)
    missing = Rotation.from_matrix(
        poses[-2, :3, :3].T @ on_arc[-1, :3, :3] @ Rotation.from_euler('z', phi).as_matrix()
    ).magnitude()
    assert missing == pytest.approx(abs(theta) / (2 * count), abs=1e-7)


@pytest.mark.parametrize(
    'call',
    [
        lambda: arc_sections(7.0, 0.0, 0.3, 3),
        lambda: arc_sections(1.0, 6.5, 0.3, 3),
    ],
)
def test_joint_limits(call):
    with pytest.raises(KinematicsError):
        call()


def test_the_urdf_bends_as_the_kinematics(any_arm, urdf_poses):
    robot = any_arm.robot
    random_q = np.random.default_rng(1).uniform(*any_arm.q_limits, (3, any_arm.n_actuators))
    for q in (any_arm.rest_q, *random_q):
        shape = any_arm.at(q)
        poses = urdf_poses(shape)
        for segment, pose in zip(robot.segment_names, shape.segment_poses, strict=True):
            end = poses[f'{robot.base.frame_prefix}{segment}_end']
            assert end == pytest.approx(pose, abs=1e-8)
        rings = [f'{robot.base.frame_prefix}ring'] if robot.ring else []
        for frame in (*robot.tip_frames, *rings):
            assert poses[frame] == pytest.approx(pose, abs=1e-8)


COUNT = 10


@given(st.floats(-2.5, 2.5), st.floats(-3.1, 3.1), st.floats(0.1, 0.6))
def test_sections_through_an_arc_have_its_ends_and_its_tip(theta, phi, ell):
    poses = chain_transforms(arc_sections(theta, phi, ell, COUNT))
    values, T_end = values_through(np.eye(4), poses[1:-1, :3, 3], poses[-1])
    assert chain_transforms(values)[:, :3, 3] == pytest.approx(poses[:, :3, 3], abs=1e-9)
    assert chain_transforms(values)[-1] == pytest.approx(poses[-1], abs=1e-9)
    assert T_end == pytest.approx(poses[-1], abs=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_sections_end_at_any_points_from_any_start(seed):
    rng, start, end = np.random.default_rng(seed), np.eye(4), np.eye(4)
    start[:3, :3], start[:3, 3] = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
    steps = np.column_stack([rng.normal(0.0, 0.03, (COUNT, 2)), rng.uniform(0.05, 0.1, COUNT)])
    points = start[:3, 3] + np.cumsum(steps, axis=0) @ start[:3, :3].T
    end[:3, :3], end[:3, 3] = start[:3, :3], points[-1]
    values, T_end = values_through(start, points, end)
    ends = start @ chain_transforms(values)
    assert ends[1:-1, :3, 3] == pytest.approx(points, abs=1e-9)
    assert ends[-1] == pytest.approx(T_end, abs=1e-9)
    turns = values[:-2].reshape(-1, 3)[:, 0]
    assert (np.abs(turns) <= np.pi / 2).all()


@pytest.mark.parametrize('name', sorted(shipped_robots()))
def test_they_end_at_the_tip_and_lie_on_the_centre_line(name):
    arm = load_arm(name)
    share = np.random.default_rng(5).uniform(0.2, 0.8, (3, arm.n_actuators))
    low, high = arm.q_limits
    shape = arm.at(low + share * (high - low))
    poses = shape.section_poses
    rigid = sum(s.rigid_length_m > 0.0 for s in arm.robot.segments)
    assert poses.shape == (3, 1 + sum(s.sections for s in arm.robot.segments) + rigid, 4, 4)
    np.testing.assert_allclose(poses[:, 0], np.tile(np.eye(4), (3, 1, 1)))
    np.testing.assert_allclose(poses[:, -1], shape.tip_pose, atol=1e-12)
    if all(s.kind != 'modal' for s in arm.robot.segments):
        # `backbone` takes the same number of points in every segment
        sections = [s.sections for s in arm.robot.segments]
        if len(set(sections)) == 1 and not rigid:
            line_m = shape.backbone(sections[0])
            np.testing.assert_allclose(poses[..., :3, 3], line_m, atol=1e-9)


def test_z_is_the_tangent_and_the_last_section_has_the_twist_of_the_segment():
    arm = load_arm('four_piece_finger')
    shape = arm.at(np.array([80e3]))
    poses = shape.section_poses
    ends = np.cumsum([s.sections for s in arm.robot.segments])
    np.testing.assert_allclose(poses[ends], shape.segment_poses, atol=1e-12)
    chords = np.diff(poses[:, :3, 3], axis=0)
    along = np.einsum('ni,ni->n', chords, poses[:-1, :3, 2] + poses[1:, :3, 2])
    np.testing.assert_allclose(along, 2 * np.linalg.norm(chords, axis=1), rtol=1e-3)


def test_a_modal_segment_is_its_own_curve_and_not_an_arc():
    arm = load_arm('modal_bellows')
    (segment,) = arm.robot.segments
    pressure_pa = 0.9 * arm.q_limits[1, 0]
    poses = arm.at(np.array([pressure_pa])).section_poses
    places_m = segment.length_m * np.arange(segment.sections + 1) / segment.sections
    positions_m, angles = ModalModel.of_segment(segment).shape(pressure_pa, places_m)
    in_plane = poses[: segment.sections + 1, :3, 3] @ [
        np.cos(segment.phi_rad),
        np.sin(segment.phi_rad),
        0.0,
    ]
    np.testing.assert_allclose(in_plane, positions_m[:, 0], atol=1e-7)
    np.testing.assert_allclose(poses[: segment.sections + 1, 2, 3], positions_m[:, 1], atol=1e-7)
    np.testing.assert_allclose(poses[: segment.sections + 1, 2, 2], np.cos(angles), atol=1e-7)
