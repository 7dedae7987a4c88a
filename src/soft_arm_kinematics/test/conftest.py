"""Arms of several shapes, made from the shipped robot file."""

from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_arm_description.robot import Robot, load_robot, shipped_robots
from soft_arm_description.urdf import joint_names, robot_urdf
from soft_arm_kinematics.arm import Arm, make_arm
from soft_arm_kinematics.segments.sections import joint_values


def _variant(segments: int, closing_twist: bool, rigid_length_m: float, bellows: int) -> Arm:
    content = load_robot('two_module_arm').model_dump(mode='json')
    first = content['segments'][0]
    content['segments'] = []
    for i in range(segments):
        names = [f's{i}_b{j}' for j in range(bellows)]
        angles = first['actuators']['angles_deg'] if bellows == 3 else [10.0, 100.0, 190.0, 280.0]
        actuators = first['actuators'] | {'names': names, 'angles_deg': angles}
        content['segments'].append(
            first
            | {
                'name': f's{i}',
                'closing_twist': closing_twist,
                'rigid_length_m': rigid_length_m,
                'actuators': actuators,
            }
        )
    content['channels'] = {
        name: k
        for k, name in enumerate(n for s in content['segments'] for n in s['actuators']['names'])
    }
    return make_arm(Robot.model_validate(content))


SHAPES = {
    'paper': (2, True, 0.0, 3),
    'one': (1, True, 0.0, 3),
    'open_twist': (2, False, 0.012, 3),
    'long': (3, True, 0.02, 4),
}


@pytest.fixture(scope='session')
def paper_arm() -> Arm:
    return make_arm(load_robot('two_module_arm'))


@pytest.fixture(scope='session', params=list(SHAPES))
def arm(request) -> Arm:
    return _variant(*SHAPES[request.param])


def _mixed(closing_twist: bool) -> Arm:
    """A bellows module, a tendon segment, a modal, a single bend and hinges, in one convention."""
    content = load_robot('two_module_arm').model_dump(mode='json', exclude_unset=True)
    others = [
        load_robot(name).segments[0].model_dump(mode='json')
        for name in ('squid_camera', 'modal_bellows', 'four_piece_finger')
    ]
    content['segments'] = [
        s | {'closing_twist': closing_twist, 'rigid_length_m': 0.01}
        for s in (content['segments'][0], *others)
    ]
    hinges = load_robot('soft_finger').segments[0].model_dump(mode='json', exclude_unset=True)
    hinges['hinges'][0]['offset_m'] = [0.0, 0.006, -0.001]
    content['segments'].insert(2, hinges | {'rigid_length_m': 0.01})
    return make_arm(Robot.model_validate(content | {'channels': {}}))


@pytest.fixture(scope='session', params=[*sorted(shipped_robots()), 'mixed', 'mixed_open'])
def any_arm(request) -> Arm:
    if request.param.startswith('mixed'):
        return _mixed(request.param == 'mixed')
    return make_arm(load_robot(request.param))


def _urdf_poses(shape) -> dict[str, np.ndarray]:
    robot = shape.arm.robot
    tree = ElementTree.fromstring(robot_urdf(robot))
    values = dict(zip(joint_names(robot), joint_values(shape), strict=True))
    poses = {tree.find('link').get('name'): np.eye(4)}
    for joint in tree.findall('joint'):  # written from base to tip
        step, move = np.eye(4), np.eye(4)
        step[:3, 3] = [float(x) for x in joint.find('origin').get('xyz').split()]
        if joint.get('type') != 'fixed':
            axis = np.array([float(x) for x in joint.find('axis').get('xyz').split()])
            value, limit = values[joint.get('name')], joint.find('limit')
            assert float(limit.get('lower')) - 1e-9 <= value <= float(limit.get('upper')) + 1e-9
            if joint.get('type') == 'prismatic':
                move[:3, 3] = axis * value
            else:
                move[:3, :3] = Rotation.from_rotvec(axis * value).as_matrix()
        parent, child = (joint.find(key).get('link') for key in ('parent', 'child'))
        poses[child] = poses[parent] @ step @ move
    return poses


@pytest.fixture(scope='session')
def urdf_poses():
    """Poses of all links of a configuration in the root, by multiplying the URDF's joints."""
    return _urdf_poses
