from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from soft_arm_description.robot import load_robot
from soft_arm_description.urdf import joint_names, robot_urdf
from soft_arm_kinematics.arm import make_arm
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments import pcc
from soft_arm_kinematics.segments.sections import arc_sections, chain_transforms, joint_values

bends = st.floats(-np.pi, np.pi)
planes = st.floats(-2 * np.pi, 2 * np.pi)
lengths = st.floats(0.05, 0.6)
counts = st.integers(3, 20)
SQUID = 'squid_grasper', 'squid_palpation', 'squid_camera', 'squid_light'


def arc_end(theta, phi, ell, closing_twist=True):
    # the convention without closing twist turns by phi itself, which an arc keeps for theta > 0
    # only
    pose = pcc.arc_transforms(pcc.arcs_from_polar(theta, phi, ell))
    if not closing_twist:
        pose[:3, :3] = pose[:3, :3] @ Rotation.from_euler('z', phi).as_matrix()
    return pose


@given(bends, planes, lengths, counts, st.booleans(), st.sampled_from(['chord', 'tangent']))
def test_chord_and_tangent_forms_end_where_the_arc_ends(theta, phi, ell, count, twist, form):
    end = chain_transforms(arc_sections(theta, phi, ell, count, twist, form))[-1]
    assert end[:3, 3] == pytest.approx(arc_end(theta, phi, ell)[:3, 3], abs=1e-12)
    assert end[:3, :3] == pytest.approx(arc_end(theta, phi, ell, twist)[:3, :3], abs=1e-12)


@given(bends, planes, lengths, counts)
def test_chord_form_has_its_joints_on_the_arc_and_lacks_half_a_section_of_turn(
    theta, phi, ell, count
):
    poses = chain_transforms(arc_sections(theta, phi, ell, count))
    on_arc = pcc.arc_transforms(
        pcc.arcs_from_polar(theta, phi, ell) * (np.arange(count + 1) / count)[:, None]
    )
    assert poses[:-1, :3, 3] == pytest.approx(on_arc[:, :3, 3], abs=1e-12)
    missing = Rotation.from_matrix(
        poses[-2, :3, :3].T @ on_arc[-1, :3, :3] @ Rotation.from_euler('z', phi).as_matrix()
    ).magnitude()
    assert missing == pytest.approx(abs(theta) / (2 * count), abs=1e-7)


@given(bends, planes, lengths, counts)
def test_tangent_form_touches_the_arc_half_way_along_each_section(theta, phi, ell, count):
    poses = chain_transforms(arc_sections(theta, phi, ell, count, form='tangent'))
    middles = 0.5 * (poses[1:-3, :3, 3] + poses[2:-2, :3, 3])
    at = (np.arange(1, count - 1)) / (count - 1)
    assert middles == pytest.approx(
        pcc.arc_transforms(pcc.arcs_from_polar(theta, phi, ell) * at[:, None])[:, :3, 3], abs=1e-12
    )


@given(bends, planes, lengths, counts)
def test_error_of_the_papers_form(theta, phi, ell, count):
    end = chain_transforms(arc_sections(theta, phi, ell, count, form='paper'))[-1]
    arc = arc_end(theta, phi, ell)
    stated = ell * np.sinc(theta / (2 * np.pi)) * (1.0 / np.sinc(theta / (2 * count * np.pi)) - 1.0)
    assert np.linalg.norm(end[:3, 3] - arc[:3, 3]) == pytest.approx(stated, abs=1e-12)
    assert end[:3, :3] == pytest.approx(arc[:3, :3], abs=1e-12)


def test_the_papers_example():
    values = arc_sections(np.radians(90.0), np.radians(30.0), 0.6, 10, form='paper')
    assert np.degrees(values[[0, 1, 3, 4, 6, 7, 9, 10]]) == pytest.approx(
        [30, 4.5, 0, 9, 0, 9, 0, 9]
    )
    assert values[2:30:3] == pytest.approx(np.full(10, 0.060))
    off = (
        chain_transforms(values)[-1][:3, 3]
        - arc_end(np.radians(90.0), np.radians(30.0), 0.6)[:3, 3]
    )
    assert np.linalg.norm(off) == pytest.approx(0.556e-3, abs=1e-6)


@pytest.mark.parametrize(
    'call',
    [
        lambda: arc_sections(3.0, 0.0, 0.3, 1, form='tangent'),
        lambda: arc_sections(7.0, 0.0, 0.3, 3),
        lambda: arc_sections(1.0, 6.5, 0.3, 3),
    ],
)
def test_joint_limits(call):
    with pytest.raises(KinematicsError):
        call()


def test_modal_segments_have_chords_only():
    arm = make_arm(load_robot('modal_bellows'))
    with pytest.raises(KinematicsError, match='chord form only'):
        joint_values(arm.at(arm.rest_q), 'tangent')


@pytest.mark.parametrize('name', [*SQUID, 'modal_bellows', 'four_piece_finger'])
def test_urdf_chain_of_every_kind_follows_the_robot(name):
    arm = make_arm(load_robot(name))
    urdf, rng = robot_urdf(arm.robot), np.random.default_rng(1)
    for q in [
        arm.rest_q,
        *rng.uniform(*arm.q_limits, (3, arm.n_actuators)),
    ]:
        poses = link_poses(
            urdf,
            dict(zip(joint_names(arm.robot), joint_values(arm.at(q)), strict=True)),
        )
        for segment, pose in zip(arm.robot.segment_names, arm.at(q).segment_poses, strict=True):
            assert poses[f'{arm.robot.base.frame_prefix}{segment}_end'] == pytest.approx(
                pose, abs=1e-12
            )
        for frame in arm.robot.tip_frames:
            assert poses[frame] == pytest.approx(pose, abs=1e-12)


def link_poses(urdf, values):
    """Poses of all links in the root, by multiplying the URDF's own joints."""
    tree = ElementTree.fromstring(urdf)
    poses = {tree.find('link').get('name'): np.eye(4)}
    for joint in tree.findall('joint'):  # written from base to tip
        step = np.eye(4)
        step[:3, 3] = [float(x) for x in joint.find('origin').get('xyz').split()]
        move = np.eye(4)
        if joint.get('type') != 'fixed':
            axis = np.array([float(x) for x in joint.find('axis').get('xyz').split()])
            value = values[joint.get('name')]
            limit = joint.find('limit')
            assert float(limit.get('lower')) - 1e-9 <= value <= float(limit.get('upper')) + 1e-9
            if joint.get('type') == 'prismatic':
                move[:3, 3] = axis * value
            else:
                move[:3, :3] = Rotation.from_rotvec(axis * value).as_matrix()
        poses[joint.find('child').get('link')] = (
            poses[joint.find('parent').get('link')] @ step @ move
        )
    return poses


def test_urdf_chain_follows_the_arcs(arm):
    urdf = robot_urdf(arm.robot)
    lengths_m = np.random.default_rng(4).uniform(*arm.length_limits_m, (10, arm.n_actuators))
    lengths_m[0] = 0.1
    for row in lengths_m:
        poses = link_poses(
            urdf,
            dict(zip(joint_names(arm.robot), joint_values(arm.at(row)), strict=True)),
        )
        expected = arm.at(row).segment_poses
        for name, pose in zip(arm.robot.segment_names, expected, strict=True):
            assert poses[f'soft_arm_{name}_end'] == pytest.approx(pose, abs=1e-12)
        assert poses['soft_arm_ring'] == pytest.approx(expected[-1], abs=1e-12)
