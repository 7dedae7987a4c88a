"""Segments of hinges: their free shape is the product of rotations, in poses, URDF and backbone."""

import numpy as np
import pytest

from soft_arm_description.robot import Robot, load_robot
from soft_arm_kinematics.arm import make_arm
from soft_arm_kinematics.cli.kinematics import main
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.workspace.reachable import check_moves_in_space


def rod(**changes):
    content = load_robot('soft_finger').model_dump(mode='json', exclude_unset=True)
    content['segments'][0] |= changes
    return make_arm(Robot.model_validate(content))


def hinge(**changes):
    return {
        'name': 'bend',
        'axis': [0.0, 1.0, 0.0],
        'stiffness_n_m_rad': 0.1,
        'torque_limits_n_m': [-1.0, 1.0],
    } | changes


SKEW = [
    hinge(axis=[0.0, 2.0, 1.0], offset_m=[0.004, 0.0, 0.001], neutral_rad=0.1),
    hinge(
        name='spring',
        axis=[1.0, 0.0, 0.0],
        actuated=False,
        torque_limits_n_m=None,
        neutral_rad=-0.2,
    ),
    {'name': 'rigid', 'axis': [1.0, 0.0, 0.0], 'actuated': False},
]


def skew_rod():
    return rod(sections=7, hinges=SKEW, rigid_length_m=0.02, disc=None)


def test_the_urdf_of_skew_hinges_bends_as_the_kinematics(urdf_poses):
    arm = skew_rod()
    for q in np.random.default_rng(1).uniform(*(0.3 * arm.q_limits), (5, arm.n_actuators)):
        tip = urdf_poses(arm.at(q))[f'{arm.robot.base.frame_prefix}finger_end']
        assert tip == pytest.approx(arm.at(q).tip_pose, abs=1e-8)


def test_many_hinges_come_to_an_arc_with_the_second_power():
    """A torque M at hinges of stiffness E I / l bends by M L / (E I)."""
    errors_m = []
    for sections in (10, 20, 40):
        stiffness = 2e-3 / (0.1 / sections)
        arm = rod(sections=sections, hinges=[hinge(stiffness_n_m_rad=stiffness)])
        theta = 0.03 * 0.1 / 2e-3
        assert arm.at([0.03]).theta_rad == pytest.approx([theta])
        arc_m = 0.1 / theta * np.array([1.0 - np.cos(theta), 0.0, np.sin(theta)])
        errors_m.append(np.linalg.norm(arm.at([0.03]).tip_m - arc_m))
    assert np.log2(np.array(errors_m[:-1]) / errors_m[1:]) == pytest.approx([2.0, 2.0], abs=0.1)


def test_a_hinge_stops_at_its_limit():
    arm = rod(hinges=[hinge(limits_rad=[-0.1, 0.05])])
    assert arm.at([0.5]).tip_pose == pytest.approx(arm.at([0.005]).tip_pose, abs=1e-12)
    assert not arm.at([0.5]).twist_jacobian.any() and arm.at([0.004]).twist_jacobian.any()
    assert arm.at([-1.0]).theta_rad == pytest.approx([1.0])


@pytest.mark.parametrize('arm', [rod(), rod(sections=3, hinges=[hinge()])], ids=['finger', 'three'])
def test_the_backbone_runs_along_the_links_to_the_tip(arm, urdf_poses):
    q = 0.5 * arm.q_limits[1]
    points_m = arm.at(np.stack([q, -q])).backbone(30)[0]
    assert points_m[-1] == pytest.approx(arm.at(q).tip_m, abs=1e-12)
    joints_m = [pose[:3, 3] for name, pose in urdf_poses(arm.at(q)).items() if '_0' in name]
    vertices_m = np.array([np.zeros(3), *joints_m, arm.at(q).tip_m])
    along = np.linspace(0.0, 1.0, 31)
    shares = np.append(
        0.0, np.append(np.arange(len(joints_m)) + 0.5, len(joints_m)) / len(joints_m)
    )
    expected = np.stack([np.interp(along, shares, column) for column in vertices_m.T], axis=-1)
    assert points_m == pytest.approx(expected, abs=1e-8)


def test_a_snake_stays_in_its_plane():
    snake = make_arm(load_robot('snake_body'))
    assert abs(snake.at(snake.q_limits[1]).tip_m[1]) < 1e-12
    with pytest.raises(KinematicsError, match=r'snake_body \(torque\).*no volume'):
        check_moves_in_space(snake)
    check_moves_in_space(make_arm(load_robot('squid_camera')))


def test_pressures_do_not_set_a_rod_of_hinges():
    with pytest.raises(KinematicsError, match=r'kind torque.*finger_grasp \[N m\]'):
        rod().q_at([1e5])


def test_the_torques_that_bring_the_tip_to_a_target_are_printed(capsys):
    target_m = make_arm(load_robot('soft_finger')).at([0.03, 0.1]).tip_m
    assert main(['ik', '--robot', 'soft_finger', '--target-m', *map(repr, target_m.tolist())]) == 0
    head, first, *_ = capsys.readouterr().out.splitlines()
    assert head.endswith('coordinates: finger_grasp [mN m], finger_side [mN m]')
    assert first.split()[-2:] == ['30.00', '100.00']
