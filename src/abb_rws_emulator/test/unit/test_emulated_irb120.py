"""The emulated IRB 120 against published poses.

And its inverse kinematics against its forward kinematics.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abb_rws_emulator.controller import irb120

# joint angles [deg], position of tool0 [mm], quaternion w x y z
POSES = [
    ((0, 0, 0, 0, 0, 0), (374, 0, 630), (0.707107, 0, 0.707107, 0)),
    ((0, 0, 0, 0, 30, 0), (364.3538, 0, 594.0), (0.5, 0, 0.866025, 0)),
    (
        (10, -20, 30, 40, 50, 60),
        (245.4252, 79.2751, 510.5658),
        (0.021432, 0.514601, 0.761545, 0.393417),
    ),
]
# product specification, working range: axes 2 and 3 [deg], x and z of the wrist centre [mm]
WORKING_RANGE = [
    ((0, 0), (302, 630)),
    ((0, -77), (0, 870)),
    ((0, 70), (169, 300)),
    ((90, -77), (580, 290)),
]


@pytest.mark.parametrize(('degrees', 'position_mm', 'q_wxyz'), POSES)
def test_published_poses(degrees, position_mm, q_wxyz):
    pose = irb120.tool_pose(np.deg2rad(degrees))
    np.testing.assert_allclose(1000 * pose[:3, 3], position_mm, atol=1e-3)
    np.testing.assert_allclose(irb120.quaternion(pose[:3, :3]), q_wxyz, atol=2e-6)
    np.testing.assert_allclose(
        irb120.frame(np.array(position_mm) / 1000, np.array(q_wxyz)), pose, atol=5e-6
    )


@pytest.mark.parametrize(('degrees', 'wrist_mm'), WORKING_RANGE)
def test_the_published_working_range(degrees, wrist_mm):
    pose = irb120.tool_pose(np.deg2rad([0, *degrees, 0, 0, 0]))
    wrist_m = pose[:3, 3] - 0.072 * pose[:3, 2]
    np.testing.assert_allclose(1000 * wrist_m[[0, 2]], wrist_mm, atol=1.0)


@given(st.lists(st.floats(0.01, 0.99), min_size=6, max_size=6))
def test_inverse_kinematics_finds_the_joint_angles_that_a_pose_came_from(shares):
    low, high = irb120.RANGE_RAD.T
    joints = low + np.array(shares) * (high - low)
    pose = irb120.tool_pose(joints)
    for found in irb120.all_joint_angles(pose):
        np.testing.assert_allclose(irb120.tool_pose(found), pose, atol=1e-9)
    if abs(math.sin(joints[4])) > 1e-3:  # else any split between axes 4 and 6 is right
        np.testing.assert_allclose(irb120.nearest_joint_angles(pose, joints), joints, atol=1e-6)


def test_a_straight_wrist_is_solved_and_a_pose_out_of_reach_is_refused():
    pose = irb120.tool_pose(np.deg2rad([10, 20, -30, 40, 0, 50]))
    found = irb120.nearest_joint_angles(pose, np.zeros(6))
    np.testing.assert_allclose(irb120.tool_pose(found), pose, atol=1e-9)
    assert found[3] + found[5] == pytest.approx(np.deg2rad(90))
    pose[0, 3] = 2.0
    with pytest.raises(irb120.OutOfReach, match='2.0'):
        irb120.nearest_joint_angles(pose, np.zeros(6))


@pytest.mark.parametrize('bad', [[0, 0, math.nan, 0, 0, 0], [0, 0, 71, 0, 0, 0], [0] * 5])
def test_joint_angles_out_of_range_are_refused(bad):
    with pytest.raises(irb120.OutOfReach, match='range'):
        irb120.in_range(np.deg2rad(bad))
