"""IRB 120: check values of the data-sheet geometry, limits (T13), URDF."""

import math
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abb_rws_bridge import irb120, mapping
from abb_rws_bridge.errors import ConfigurationError
from abb_rws_emulator.controller import irb120 as emulated

# joint angles [deg], position of tool0 [mm], quaternion w x y z
CHECKS = [
    ((0, 0, 0, 0, 0, 0), (374, 0, 630), (0.707107, 0, 0.707107, 0)),
    ((0, 0, 0, 0, 30, 0), (364.3538, 0, 594.0), (0.5, 0, 0.866025, 0)),
    (
        (10, -20, 30, 40, 50, 60),
        (245.4252, 79.2751, 510.5658),
        (0.021432, 0.514601, 0.761545, 0.393417),
    ),
]


@pytest.mark.parametrize(('degrees', 'position_mm', 'q_wxyz'), CHECKS)
def test_forward_kinematics_check_values(degrees, position_mm, q_wxyz):
    pose = irb120.forward_kinematics(np.deg2rad(degrees))
    np.testing.assert_allclose(pose[:3, 3] * 1000, position_mm, atol=1e-3)
    np.testing.assert_allclose(np.roll(mapping.q_xyzw(pose[:3, :3]), 1), q_wxyz, atol=2e-6)


@given(st.tuples(*(st.floats(low, high) for low, high in irb120.LIMITS_RAD)))
def test_the_emulated_robot_has_the_same_kinematics(joints_rad):
    pose = irb120.forward_kinematics(joints_rad)
    np.testing.assert_allclose(pose, emulated.tool_pose(joints_rad), atol=1e-12)


def test_the_emulated_robot_has_the_same_limits_and_speeds():
    np.testing.assert_allclose(irb120.LIMITS_RAD, emulated.RANGE_RAD)
    np.testing.assert_allclose(irb120.MAXIMUM_SPEED_RAD_S, emulated.SPEED_RAD_S)


@pytest.mark.parametrize('joint', range(6))
def test_a_joint_outside_its_limit_is_refused(joint):
    for side, outwards in ((0, -1e-6), (1, 1e-6)):
        joints = np.zeros(6)
        joints[joint] = irb120.LIMITS_RAD[joint, side]
        np.testing.assert_array_equal(irb120.check_joints(joints), joints)
        joints[joint] += outwards
        with pytest.raises(ConfigurationError, match=f'joint_{joint + 1} .* deg is outside'):
            irb120.check_joints(joints)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
def test_non_finite_joint_angles_are_refused(bad):
    with pytest.raises(ConfigurationError, match='joint_3'):
        irb120.check_joints([0, 0, bad, 0, 0, 0])
    with pytest.raises(ConfigurationError, match='5 joint angles'):
        irb120.check_joints([0] * 5)


def test_the_urdf_has_the_same_kinematics():
    root = ElementTree.fromstring(irb120.urdf('abb_'))
    joints_rad, pose, moved = np.deg2rad(CHECKS[2][0]), np.eye(4), iter(np.deg2rad(CHECKS[2][0]))
    parent = 'abb_base_link'
    for joint in root.findall('joint'):
        assert joint.find('parent').get('link') == parent
        parent = joint.find('child').get('link')
        origin = np.eye(4)
        origin[:3, 3] = list(map(float, joint.find('origin').get('xyz').split()))
        origin[:3, :3] = irb120._rotation(
            np.array([0, 1, 0]), float(joint.find('origin').get('rpy').split()[1])
        )
        pose = pose @ origin
        if joint.get('type') == 'revolute':
            turn = np.eye(4)
            turn[:3, :3] = irb120._rotation(
                np.array(list(map(float, joint.find('axis').get('xyz').split()))), next(moved)
            )
            pose = pose @ turn
    assert parent == 'abb_tool0'
    np.testing.assert_allclose(pose, irb120.forward_kinematics(joints_rad), atol=1e-8)
    limits = [
        (float(j.find('limit').get('lower')), float(j.find('limit').get('upper')))
        for j in root.findall('joint')
        if j.get('type') == 'revolute'
    ]
    np.testing.assert_allclose(limits, irb120.LIMITS_RAD, atol=1e-6)


def test_every_visual_has_a_colour():
    visuals = list(ElementTree.fromstring(irb120.urdf('abb_')).iter('visual'))
    assert len(visuals) == 7
    assert {visual.find('material/color').get('rgba') for visual in visuals} == {'0.93 0.93 0.91 1'}
