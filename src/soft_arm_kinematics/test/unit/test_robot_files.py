"""What cannot be a robot is refused in one line."""

import copy

import pytest
import yaml

from soft_arm_description.robot import RobotFileError, load_robot, shipped_robots

SHIPPED = {name: yaml.safe_load(path.read_text()) for name, path in shipped_robots().items()}


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
