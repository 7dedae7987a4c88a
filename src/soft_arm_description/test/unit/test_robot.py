import numpy as np
import pytest
import yaml

from soft_arm_description.robot import RobotFileError, load_robot, shipped_robots


@pytest.fixture
def changed(tmp_path):
    """Load the shipped arm after one change of its file."""

    def load(change):
        content = yaml.safe_load(shipped_robots()['two_module_arm'].read_text())
        change(content)
        (tmp_path / 'robot.yaml').write_text(yaml.safe_dump(content))
        return load_robot(tmp_path / 'robot.yaml')

    return load


def test_shipped_arm_is_table_3():
    robot = load_robot('two_module_arm')
    assert robot.chambers == ('m1_b1', 'm1_b2', 'm1_b3', 'm2_b1', 'm2_b2', 'm2_b3')
    assert np.array_equal(robot.length_limits_m, [[0.070] * 6, [0.195] * 6])
    assert robot.rest_lengths_m == pytest.approx([0.103] * 6)


@pytest.mark.parametrize(
    'change, words',
    [
        (lambda c: c.pop('ring'), ['ring', 'missing']),
        (lambda c: c.update(colour='red'), ['colour', 'unknown']),
        (lambda c: c['segments'][0]['actuators'].update(centre_radius_m=-0.03), ['centre_radius_m', '-0.03']),
        (lambda c: c['segments'][0]['actuators'].update(centre_radius_m=float('nan')), ['centre_radius_m', 'nan']),
        (lambda c: c['segments'][0]['actuators'].update(length_limits_m=[0.2, 0.1]), ['length_limits_m', '0.2', 'smaller']),
        (lambda c: c['segments'][0]['actuators']['curve'].update(length_m=[0.07, 0.07, 0.195]), ['length_m', 'increasing']),
        (lambda c: c['segments'][1].update(name='module_1'), ['module_1', 'twice']),
        (lambda c: c['channels'].pop('m1_b1'), ['channels', 'm1_b1']),
        (lambda c: c['channels'].update(m1_b1=5), ['share']),
    ],
)
def test_bad_file_is_named_in_one_line(changed, change, words):
    with pytest.raises(RobotFileError) as caught:
        changed(change)
    message = str(caught.value)
    assert all(word in message for word in words) and '\n' not in message


def test_missing_file_names_what_exists():
    with pytest.raises(RobotFileError, match='two_module_arm'):
        load_robot('no_such_robot.yaml')


def test_fingerprints(changed):
    robot = load_robot('two_module_arm')
    red = changed(lambda c: c['ring'].update(colour_rgb=[1.0, 0.0, 0.0]))
    assert red.fingerprint != robot.fingerprint and red.kinematic_fingerprint == robot.kinematic_fingerprint
    wide = changed(lambda c: c['segments'][0]['actuators'].update(centre_radius_m=0.031))
    assert wide.kinematic_fingerprint != robot.kinematic_fingerprint
