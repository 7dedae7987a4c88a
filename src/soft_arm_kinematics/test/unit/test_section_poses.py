"""Poses along the centre line at the ends of the sections; about 2 s."""

import numpy as np
import pytest

from soft_arm_description import shipped_robots
from soft_arm_kinematics import load_arm
from soft_arm_kinematics.segments.modal import ModalModel


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
