from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_arm_description.urdf import joint_names, robot_urdf
from soft_arm_kinematics.sections import joint_values


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
        poses[joint.find('child').get('link')] = poses[joint.find('parent').get('link')] @ step @ move
    return poses


def test_urdf_chain_follows_the_arcs(arm):
    urdf = robot_urdf(arm.robot)
    lengths_m = np.random.default_rng(4).uniform(*arm.length_limits_m, (10, arm.n_actuators))
    lengths_m[0] = 0.1
    for row in lengths_m:
        poses = link_poses(urdf, dict(zip(joint_names(arm.robot), joint_values(arm, row), strict=True)))
        expected = arm.fk_segments(row)
        for name, pose in zip(arm.robot.segment_names, expected, strict=True):
            assert poses[f'soft_arm_{name}_end'] == pytest.approx(pose, abs=1e-12)
        assert poses['soft_arm_ring'] == pytest.approx(expected[-1], abs=1e-12)
