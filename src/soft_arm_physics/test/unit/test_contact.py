"""Friction and contact times of two bodies in their contact."""

import pytest

from physics_testing import world
from soft_arm_description.assembly import Assembly, MountedRobot
from soft_arm_description.rigid_bodies import RigidBody
from soft_arm_description.robot import Robot, load_robot
from soft_arm_physics import Simulation

HARD, HARDER, SOFT = 0.004, 0.006, 0.02  # SOFT: MuJoCo's own


def lying(friction=None, time_s=None, across=None, name='rod', collision='capsule'):
    """A straight rod along x."""
    content = load_robot('modal_bellows').model_dump(mode='json')
    content['base'] |= {'flange_m': [0.001] * 3, 'frame': f'{name}_base_link'}
    given = {'sliding': friction, 'across': across}
    content['segments'][0] |= {
        'sections': 4,
        'contact_time_s': time_s,
        'collision': collision,
        'friction': None if friction is None else given,
    }
    return Robot.model_validate(content)


def mounted(robot, name, height_m, y_m=0.0):
    return MountedRobot(name, robot, None, (0.0, y_m, height_m), (0, 90, 0))


def contact_parameters(*robots, **around):
    """Contact times [s], and friction along and across the first tangent, of all contacts."""
    sim = Simulation(Assembly('a', '', (), robots), world(gravity_m_s2=[0, 0, 0], **around))
    assert sim.contacts()
    return {(float(c.solref[0]), *map(float, c.friction[:2])) for c in sim.data.contact}


TOUCHING_M = 0.0119  # radius 0.012


@pytest.mark.parametrize(
    ('rod', 'ground', 'expected'),
    [
        ({}, {}, (SOFT, 1.0, 1.0)),
        ({}, {'friction': 0.3}, (SOFT, 0.3, 0.3)),
        ({'friction': 0.3}, {}, (SOFT, 0.3, 0.3)),
        ({'time_s': HARD}, {}, (HARD, 1.0, 1.0)),
        ({'time_s': HARD}, {'friction': 0.3}, (HARD, 0.3, 0.3)),
        ({'time_s': HARD, 'friction': 0.3}, {}, (HARD, 0.3, 0.3)),
        ({'time_s': HARD, 'friction': 0.3}, {'friction': 0.5}, (HARD, 0.5, 0.5)),
        ({'time_s': HARD, 'friction': 0.1, 'across': 0.8}, {'friction': 0.5}, (HARD, 0.1, 0.8)),
    ],
)
def test_what_a_body_states_holds_on_the_ground(rod, ground, expected):
    (found,) = contact_parameters(mounted(lying(**rod), 'rod', TOUCHING_M), ground=ground)
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ('one', 'other', 'expected'),
    [
        ({'time_s': HARD}, {}, (HARD, 1.0)),
        ({'time_s': HARD}, {'friction': 0.3}, (HARD, 0.3)),
        ({'time_s': HARD}, {'time_s': HARDER, 'friction': 0.3}, ((HARD + HARDER) / 2, 0.3)),
        ({'time_s': HARD, 'friction': 0.3}, {'friction': 0.5}, (HARD, 0.5)),
    ],
)
def test_what_a_robot_states_holds_on_another_one(one, other, expected):
    robots = (
        mounted(lying(**one), 'one', 0.5),
        mounted(lying(**other, name='other'), 'other', 0.5, 2 * TOUCHING_M),
    )
    for pair in (robots, robots[::-1]):
        (found,) = contact_parameters(*pair)
        assert found[:2] == pytest.approx(expected, rel=1e-5)


STUB = {'shape': 'box', 'size_m': [0.004, 0.01, 0.01], 'friction': 0.3}


@pytest.mark.parametrize('moves', [False, True])
def test_a_contact_time_lets_nothing_touch_that_does_not_without(moves):
    """The rod's lowest shape is within the stub that its base is fixed to, or fixed beside."""
    stub = RigidBody(name='stub', position_m=(0, 0, 0.5), mass_kg=0.1, fixed=not moves, **STUB)
    for time_s in (None, HARD):
        robot = lying(time_s=time_s, collision='cylinder')
        on_it = MountedRobot('rod', robot, 'stub', (0, 0, 0), (0, 90, 0))
        bodies, robots = (stub,), (on_it if moves else mounted(robot, 'rod', 0.5),)
        sim = Simulation(Assembly('a', '', bodies, robots), world(gravity_m_s2=[0, 0, 0]))
        assert not sim.contacts()


def test_a_contact_time_keeps_neighbours_apart():
    content = lying(time_s=HARD).model_dump(mode='json')
    (hard,) = content['segments']
    hard['sections'] = 20
    rough = hard | {'name': 'rough', 'contact_time_s': None, 'friction': {'sliding': 0.3}}
    content['segments'].append(rough)
    assert not Simulation(Robot.model_validate(content)).contacts()


def test_a_contact_time_keeps_an_assembly_without_self_contact():
    robots = (
        mounted(lying(time_s=HARD), 'one', 0.5),
        mounted(lying(friction=0.3, name='other'), 'other', 0.5, 2 * TOUCHING_M),
    )
    apart = Assembly('a', '', (), robots, self_contact=False)
    assert not Simulation(apart, world(gravity_m_s2=[0, 0, 0], ground={})).contacts()
