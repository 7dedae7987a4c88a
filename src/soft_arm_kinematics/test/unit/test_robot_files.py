"""Invalid robot files are refused with a one-line error."""

import functools
import operator

import pytest
import yaml

from soft_arm_description.robot import RobotFileError, load_robot, shipped_robots

ARM, BELLOWS, FIRST = 'two_module_arm', 'segments.0.actuators', 'segments.0'


@pytest.mark.parametrize(
    'robot, key, value, words',
    [
        (ARM, f'{BELLOWS}.angles_deg', [90.0, 90.0, 90.0], ['angles_deg', '0 deg apart']),
        (ARM, f'{BELLOWS}.angles_deg', [0.0, 120.0, 360.0], ['angles_deg', '0 deg apart']),
        (ARM, f'{BELLOWS}.centre_radius_m', True, ['centre_radius_m', 'number', 'm', 'True']),
        (ARM, f'{BELLOWS}.centre_radius_m', '0.03', ['centre_radius_m', 'number', "'0.03'"]),
        (ARM, f'{BELLOWS}.centre_radius_m', 1e300, ['centre_radius_m', '1 m', '1e+300']),
        (ARM, f'{BELLOWS}.radius_m', 0.1, ['radius_m 0.1 m', 'overlap']),
        (ARM, f'{BELLOWS}.length_limits_m', [-0.07, 0.2], ['length_limits_m.0', '10 m', '-0.07']),
        (ARM, f'{BELLOWS}.pressure_limits_pa', [-2e5, 9e4], ['limits_pa.0', '-101325', 'Pa']),
        (ARM, f'{FIRST}.sections', 10.5, ['sections', 'whole']),
        (ARM, f'{FIRST}.sections', True, ['sections', 'whole']),
        (ARM, f'{FIRST}.closing_twist', 'yes', ['closing_twist']),
        (ARM, 'channels.m1_b1', 1e9, ['channels.m1_b1']),
        (ARM, 'ring.thickness_m', 0.05, ['thickness_m', 'radius_m']),
        (ARM, 'description', 'x' * 900_000, ['description', '5000']),
        (ARM, 'name', 'x' * 900_000, ['name']),
        ('squid_camera', f'{FIRST}.theta_limits_deg', [-1e5, 1e5], ['limits_deg', '3600 deg']),
        ('squid_camera', 'tip_frames', ['squid_camera_base_link'], ['camera_base_link', 'twice']),
        ('four_piece_finger', f'{FIRST}.pressure_unit_pa', 1.0, ['segments.0', 'bend', '3600 deg']),
        ('modal_bellows', f'{FIRST}.coefficients_rad', [[0.0, 1e5]], ['segments.0', '3600 deg']),
    ],
)
def test_what_cannot_be_is_refused_with_its_unit(tmp_path, robot, key, value, words):
    content = yaml.safe_load(shipped_robots()[robot].read_text())
    *outer, last = (int(word) if word.isdigit() else word for word in key.split('.'))
    functools.reduce(operator.getitem, outer, content)[last] = value
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
