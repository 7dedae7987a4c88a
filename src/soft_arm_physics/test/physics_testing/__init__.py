"""Worlds and robots of several tests."""

from soft_arm_description.robot import Robot, load_robot
from soft_arm_description.world import World


def world(**content):
    return World.model_validate({'schema_version': 1, 'name': 'test', 'description': '', **content})


FREE_SPACE = world(gravity_m_s2=[0, 0, 0])


def robot_of(segments, rpy_deg=(0, 0, 0), tip=None):
    """A robot of these segments in the world."""
    base = load_robot('modal_bellows').model_dump(mode='json')['base'] | {'rpy_deg': list(rpy_deg)}
    head = {'schema_version': 1, 'name': 'hinged', 'description': '', 'source': ''}
    return Robot.model_validate({**head, 'base': base, 'segments': segments, 'tip': tip})


def hinged(tip=None, **content):
    """A rod of ten hinges, by turns about x and y."""
    hinge = {'stiffness_n_m_rad': 0.5, 'torque_limits_n_m': [-0.1, 0.1]}
    segment = {
        'name': 'rod',
        'kind': 'torque',
        'length_m': 0.2,
        'sections': 10,
        'section_shape': 'capsule',
        'section_size_m': [0.008],
        'body_mass_kg': 0.05,
        'hinges': [
            {'name': 'bend_x', 'axis': [1, 0, 0], **hinge},
            {'name': 'bend_y', 'axis': [0, 1, 0], **hinge},
        ],
        **content,
    }
    return robot_of([segment], tip=tip)
