import pickle

import numpy as np
import pytest
import yaml

from soft_arm_description.robot import Robot, RobotFileError, load_robot, shipped_robots


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


@pytest.mark.parametrize(
    'change, words',
    [
        (lambda c: c.pop('base'), ['base', 'missing']),
        (lambda c: c.update(colour='red'), ['colour', 'unknown']),
        (
            lambda c: c['segments'][0]['actuators'].update(centre_radius_m=-0.03),
            ['centre_radius_m', '-0.03'],
        ),
        (
            lambda c: c['segments'][0]['actuators'].update(centre_radius_m=float('nan')),
            ['centre_radius_m', 'nan'],
        ),
        (
            lambda c: c['segments'][0]['actuators'].update(length_limits_m=[0.2, 0.1]),
            ['length_limits_m', '0.2', 'smaller'],
        ),
        (
            lambda c: c['segments'][0]['actuators']['curve'].update(length_m=[0.07, 0.07, 0.195]),
            ['length_m', 'increasing'],
        ),
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
    assert (
        red.fingerprint != robot.fingerprint
        and red.kinematic_fingerprint == robot.kinematic_fingerprint
    )
    wide = changed(lambda c: c['segments'][0]['actuators'].update(centre_radius_m=0.031))
    assert wide.kinematic_fingerprint != robot.kinematic_fingerprint


def test_the_plant_is_another_one_where_it_moves_differently(changed):
    plant = load_robot('two_module_arm').plant_fingerprint
    for alike in (
        lambda c: c.update(name='mine', description='Mine.', source='mine'),
        lambda c: c['ring'].update(colour_rgb=[1.0, 0.0, 0.0]),
        lambda c: c['base'].update(position_m=[0.0, 0.0, 0.7]),
    ):
        assert changed(alike).plant_fingerprint == plant
    for other in (
        lambda c: c['segments'][0].update(body_mass_kg=0.48),
        lambda c: c['segments'][1].update(damping_time_s=0.3),
        lambda c: c['ring'].update(mass_kg=0.2),
        lambda c: c['base'].update(rpy_deg=[90.0, 0.0, 0.0]),
    ):
        assert changed(other).plant_fingerprint != plant


def test_every_kind_ships():
    robots = {name: load_robot(name) for name in shipped_robots()}
    assert {s.kind for r in robots.values() for s in r.segments} == {
        'bellows',
        'single_bend',
        'modal',
        'tendon',
        'torque',
    }
    assert {s.closing_twist for r in robots.values() for s in r.segments} == {True, False}
    finger = robots['four_piece_finger']
    assert [s.length_m for s in finger.segments] == [
        0.014,
        0.014,
        0.01232,
        0.01539,
    ] and finger.segments[0].nominal
    assert finger.chambers == ('finger',) and finger.pressure_limits_pa.ravel().tolist() == [
        -90e3,
        120e3,
    ]
    assert {
        name: [s.length_limits_m for s in robots[f'squid_{name}'].segments]
        for name in ('grasper', 'palpation', 'camera', 'light')
    } == {
        'grasper': [(0.29, 0.3)] * 2,
        'palpation': [(0.29, 0.3)] * 2,
        'camera': [(0.58, 0.6)],
        'light': [(0.58, 0.6)],
    }


def test_kinds_share_one_robot():
    """Limits and names are in the order of q, whatever kinds of segments a robot mixes."""
    content = load_robot('two_module_arm').model_dump(mode='json', exclude_unset=True)
    tendon = load_robot('squid_camera').segments[0].model_dump(mode='json')
    piece = load_robot('four_piece_finger').segments[0].model_dump(mode='json')
    content |= {'segments': [content['segments'][0], tendon, piece], 'channels': {}}
    robot = Robot.model_validate(content)
    assert [c.name for c in robot.coordinates] == [
        'm1_b1',
        'm1_b2',
        'm1_b3',
        'camera_1_theta',
        'camera_1_phi',
        'camera_1_ell',
        'finger',
    ]
    assert [c.unit for c in robot.coordinates] == ['m'] * 3 + ['rad', 'rad', 'm', 'Pa']
    assert robot.chambers == (
        'm1_b1',
        'm1_b2',
        'm1_b3',
        'finger',
    ) and robot.pressure_limits_pa.shape == (2, 4)
    other = content | {
        'segments': [
            *content['segments'],
            piece | {'name': 'piece_2', 'pressure_limits_pa': [0.0, 1e3]},
        ]
    }
    with pytest.raises(ValueError, match='two sets of limits'):
        Robot.model_validate(other)


def test_cut_lines_are_checked(tmp_path):
    content = yaml.safe_load(shipped_robots()['four_piece_finger'].read_text())
    assert (
        load_robot('four_piece_finger').cut_lines.width_m == content['cut_lines']['width_m']
        and load_robot('two_module_arm').cut_lines is None
    )
    content['cut_lines']['colour_rgb'] = [1.0, 0.3, 1.2]
    (tmp_path / 'robot.yaml').write_text(yaml.safe_dump(content))
    with pytest.raises(RobotFileError, match='cut_lines.colour_rgb.2.*1.2'):
        load_robot(tmp_path / 'robot.yaml')


def test_cached_values_follow_the_fields():
    robot, same = load_robot('two_module_arm'), load_robot('two_module_arm')
    assert len(robot.chambers) == 6 and robot.pressure_limits_pa.shape == (2, 6)
    assert robot == same and pickle.loads(pickle.dumps(robot)) == same
    assert robot.model_dump_json() == same.model_dump_json()
    shorter = robot.model_copy(update={'segments': robot.segments[:1]})
    assert len(shorter.chambers) == 3 and shorter.pressure_limits_pa.shape == (2, 3)
    assert shorter.fingerprint != robot.fingerprint
    robot.pressure_limits_pa[0] = 0.0
    assert robot.pressure_limits_pa[0].all()
