"""Worlds and robots of several tests."""

from soft_arm_description.robot import Robot, load_robot
from soft_arm_description.world import World


def world(**content):
    return World.model_validate({'schema_version': 1, 'name': 'test', 'description': '', **content})


def hinged(**content):
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
    base = {**load_robot('modal_bellows').model_dump(mode='json')['base'], 'rpy_deg': [0, 0, 0]}
    head = {'schema_version': 1, 'name': 'hinged', 'description': '', 'source': ''}
    return Robot.model_validate({**head, 'base': base, 'segments': [segment]})
