"""A robot file, and everything that kinematics does with it, works or is refused in one line."""

import copy
import math

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from soft_arm_description.robot import RobotFileError, load_robot, shipped_robots
from soft_arm_description.urdf import joint_names, robot_urdf
from soft_arm_kinematics.arm import load_arm, make_arm
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ik.inverse import InverseKinematics
from soft_arm_kinematics.segments.sections import joint_values
from soft_arm_kinematics.workspace.table import build_table

SHIPPED = {name: yaml.safe_load(path.read_text()) for name, path in shipped_robots().items()}


def leaves(content, path=()):
    """Paths of all values, also of those that hold others."""
    if path:
        yield path
    items = (
        content.items()
        if isinstance(content, dict)
        else enumerate(content)
        if isinstance(content, list)
        else ()
    )
    for key, value in items:
        yield from leaves(value, (*path, key))


PLACES = [(name, path) for name, content in SHIPPED.items() for path in leaves(content)]
GARBAGE = st.sampled_from(
    [
        None,
        True,
        '',
        'x',
        '1',
        [],
        {},
        -1.0,
        0,
        0.0,
        1e-300,
        1e300,
        math.inf,
        -math.inf,
        math.nan,
        10**18,
        [1.0],
        1.5,
    ]
)


@settings(max_examples=150)
@given(data=st.data())
def test_a_changed_file_is_refused_or_works(tmp_path_factory, data):
    name, path = data.draw(st.sampled_from(PLACES))
    content = copy.deepcopy(SHIPPED[name])
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    value = inner[path[-1]]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    factors = st.sampled_from([-1.0, 1e-6, 1e-3, 0.1, 0.5, 0.99, 1.01, 2.0, 10.0, 1e3]).map(
        lambda f: value * f
    )
    change = data.draw(st.one_of(factors, GARBAGE) if is_number else GARBAGE | st.just('remove'))
    if change == 'remove':
        del inner[path[-1]]
    else:
        inner[path[-1]] = change
    file = tmp_path_factory.mktemp('robot') / 'robot.yaml'
    file.write_text(yaml.safe_dump(content))
    try:
        robot = load_robot(file)
        use(robot)
    except (RobotFileError, KinematicsError) as error:
        assert '\n' not in str(error) and len(str(error)) <= 300, str(error)


def use(robot):
    """Everything that the library does with a robot; only KinematicsError may come of it."""
    arm = make_arm(robot)
    low, high = arm.q_limits
    q = np.stack(
        [
            low,
            high,
            arm.rest_q,
            *np.random.default_rng(0).uniform(low, high, (5, arm.n_actuators)),
        ]
    )
    assert np.isfinite(arm.at(q).tip_pose).all() and np.isfinite(arm.at(q).twist_jacobian).all()
    assert robot_urdf(robot).count('<joint') >= len(joint_names(robot))
    table = build_table(arm, 500)
    result = InverseKinematics(arm, table).solve(arm.at(q[-1]).tip_m)
    if result.reachable:
        assert np.isfinite([solution.score for solution in result.solutions]).all()
    joint_values(arm.at(arm.rest_q))


@pytest.mark.parametrize('name', sorted(SHIPPED))
def test_shipped_robots_work(name):
    use(load_robot(name))
    use(load_arm(name).robot)


def rings(content):
    return content['segments'][0]['actuators']


@pytest.mark.parametrize(
    'robot, change, words',
    [
        (
            'two_module_arm',
            lambda c: rings(c).update(angles_deg=[90.0, 90.0, 90.0]),
            ['angles_deg', '0 deg apart'],
        ),
        (
            'two_module_arm',
            lambda c: rings(c).update(angles_deg=[0.0, 120.0, 360.0]),
            ['angles_deg', '0 deg apart'],
        ),
        (
            'two_module_arm',
            lambda c: rings(c).update(centre_radius_m=True),
            ['centre_radius_m', 'number', 'm', 'True'],
        ),
        (
            'two_module_arm',
            lambda c: rings(c).update(centre_radius_m='0.03'),
            ['centre_radius_m', 'number', "'0.03'"],
        ),
        (
            'two_module_arm',
            lambda c: rings(c).update(centre_radius_m=1e300),
            ['centre_radius_m', '1 m', '1e+300'],
        ),
        ('two_module_arm', lambda c: rings(c).update(radius_m=0.1), ['radius_m 0.1 m', 'overlap']),
        (
            'two_module_arm',
            lambda c: rings(c).update(length_limits_m=[-0.07, 0.195]),
            ['length_limits_m.0', '10 m', '-0.07'],
        ),
        (
            'two_module_arm',
            lambda c: rings(c).update(pressure_limits_pa=[-2e5, 9e4]),
            ['pressure_limits_pa.0', '-101325', 'Pa'],
        ),
        ('two_module_arm', lambda c: c['segments'][0].update(sections=10.5), ['sections', 'whole']),
        ('two_module_arm', lambda c: c['segments'][0].update(sections=True), ['sections', 'whole']),
        (
            'two_module_arm',
            lambda c: c['segments'][0].update(closing_twist='yes'),
            ['closing_twist'],
        ),
        ('two_module_arm', lambda c: c['channels'].update(m1_b1=1e9), ['channels.m1_b1']),
        (
            'two_module_arm',
            lambda c: c['ring'].update(thickness_m=0.05),
            ['thickness_m', 'radius_m'],
        ),
        ('two_module_arm', lambda c: c.update(description='x' * 900_000), ['description', '5000']),
        ('two_module_arm', lambda c: c.update(name='x' * 900_000), ['name']),
        (
            'squid_camera',
            lambda c: c['segments'][0].update(theta_limits_deg=[-1e5, 1e5]),
            ['theta_limits_deg', '3600 deg'],
        ),
        (
            'squid_camera',
            lambda c: c.update(tip_frames=['squid_camera_base_link']),
            ['squid_camera_base_link', 'twice'],
        ),
        (
            'four_piece_finger',
            lambda c: c['segments'][0].update(pressure_unit_pa=1.0),
            ['segments.0', 'bend', '3600 deg'],
        ),
        (
            'modal_bellows',
            lambda c: c['segments'][0].update(coefficients_rad=[[0.0, 1e5]]),
            ['segments.0', 'bend', '3600 deg'],
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_unit(tmp_path, robot, change, words):
    content = copy.deepcopy(SHIPPED[robot])
    change(content)
    path = tmp_path / 'robot.yaml'
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(RobotFileError) as caught:
        load_robot(path)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert '\n' not in message and len(message) <= 300


@pytest.mark.parametrize(
    'given, word',
    [
        ('', 'not a file'),
        ('.', 'not a file'),
        ('a\0b', 'not a file'),
        ('x' * 5000, 'two_module_arm'),
    ],
    ids=str.split('empty folder null long'),
)
def test_what_is_no_file_is_named(given, word):
    with pytest.raises(RobotFileError, match=word) as caught:
        load_robot(given)
    assert len(str(caught.value)) <= 300


def test_an_empty_file_says_so(tmp_path):
    (tmp_path / 'robot.yaml').write_text('# nothing\n')
    with pytest.raises(RobotFileError, match='empty'):
        load_robot(tmp_path / 'robot.yaml')
