"""Robots by their URDF: poses of links, what they look like, and bends of soft robots."""

import numpy as np
import pytest

from abb_rws_bridge import irb120
from abb_rws_emulator.controller.irb120 import tool_pose
from soft_arm_description import load_robot, robot_urdf, shipped_robots
from soft_arm_kinematics import make_arm
from soft_arm_kinematics.segments.sections import joint_values
from soft_arm_twin.errors import TwinError
from soft_arm_twin.parts.joint_shape import JointShape
from soft_arm_twin.parts.urdf_model import UrdfModel, urdf_parts

SHARE = 0.6  # of the way from rest to a random place within the limits


def some_shape(robot, seed=3):
    """A bent shape of a robot."""
    arm = make_arm(robot)
    goal = np.random.default_rng(seed).uniform(*arm.q_limits)
    return arm.at(arm.rest_q + SHARE * (goal - arm.rest_q))


@pytest.mark.parametrize('name', sorted(shipped_robots()))
def test_joints_give_the_section_ends_and_the_tip_of_the_kinematics(name):
    robot = load_robot(name)
    shape, drawn = some_shape(robot), JointShape(robot)
    joints = joint_values(shape)
    found, wanted = drawn.section_poses(joints), shape.section_poses
    np.testing.assert_allclose(found[:, :3, 3], wanted[:, :3, 3], atol=1e-12)
    np.testing.assert_allclose(drawn.tip_pose(joints), shape.tip_pose, atol=1e-12)
    cosines = (found[:, :3, 2] * wanted[:, :3, 2]).sum(axis=1)
    assert cosines.min() > np.cos(np.radians(8.0))  # half a section's bend at most


def test_an_industrial_robot_stands_as_its_own_kinematics_say():
    model, joints = UrdfModel(irb120.urdf('abb_')), np.array([0.3, -0.4, 0.5, 1.0, -0.7, 2.0])
    poses = model.poses(joints)
    np.testing.assert_allclose(poses[model.index('abb_tool0')], tool_pose(joints), atol=1e-8)
    np.testing.assert_allclose(model.limits, irb120.LIMITS_RAD, atol=1e-5)
    assert model.values_of({'abb_joint_1': 0.0}) is None


def test_visuals_become_parts_of_their_links():
    robot = load_robot('two_module_arm')
    model = UrdfModel(robot_urdf(robot))
    parts = urdf_parts(model, 7)
    for part in parts:
        assert part.frame_a[0] == 7 + model.index(part.name.rsplit(' ', 1)[0])
    base = next(p for p in parts if p.name.startswith(robot.base.frame))
    np.testing.assert_allclose(np.ptp(base.local_a_m, axis=0), robot.base.flange_m)


@pytest.mark.parametrize(
    'text',
    [
        'no XML',
        '<robot><link></robot>',
        '<robot name="r"/>',
        '<robot name="r"><link name="a"/><link name="b"/></robot>',
        '<!DOCTYPE r [<!ENTITY e "x">]><robot name="r"><link name="a"/></robot>',
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute">'
        '<parent link="a"/><child link="b"/><axis xyz="nan 0 1"/></joint></robot>',
    ],
)
def test_a_description_that_is_none_is_refused(text):
    with pytest.raises(TwinError, match='robot description'):
        UrdfModel(text)
