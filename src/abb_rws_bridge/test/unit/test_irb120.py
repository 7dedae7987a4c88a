"""IRB 120: check values of the data-sheet geometry, limits (T13), URDF."""

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abb_rws_bridge import irb120
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


def matrix(translation_m, q_xyzw):
    """Homogeneous matrix of a translation and a unit quaternion."""
    x, y, z, w = q_xyzw
    pose = np.eye(4)
    pose[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    pose[:3, 3] = translation_m
    return pose


def tool_pose(joints_rad):
    return functools.reduce(
        np.matmul, itertools.starmap(matrix, irb120.link_transforms(joints_rad))
    )


@pytest.mark.parametrize(('degrees', 'position_mm', 'q_wxyz'), CHECKS)
def test_forward_kinematics_check_values(degrees, position_mm, q_wxyz):
    pose = tool_pose(np.deg2rad(degrees))
    np.testing.assert_allclose(pose[:3, 3] * 1000, position_mm, atol=1e-3)
    np.testing.assert_allclose(emulated.quaternion(pose[:3, :3]), q_wxyz, atol=2e-6)


def test_the_emulated_robot_has_the_same_limits_and_speeds():
    np.testing.assert_allclose(irb120.LIMITS_RAD, emulated.RANGE_RAD)
    np.testing.assert_allclose(irb120.MAX_SPEED_RAD_S, emulated.SPEED_RAD_S)


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


@given(st.tuples(*(st.floats(low, high) for low, high in irb120.LIMITS_RAD)))
def test_transforms_have_the_kinematics_of_the_emulated_robot_and_the_scalar_last(joints_rad):
    assert all(q_xyzw[3] >= 0.0 for _, q_xyzw in irb120.link_transforms(joints_rad))
    np.testing.assert_allclose(tool_pose(joints_rad), emulated.tool_pose(joints_rad), atol=1e-12)
