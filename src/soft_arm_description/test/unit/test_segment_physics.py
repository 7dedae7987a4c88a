import math

import numpy as np
import pytest
import yaml

from soft_arm_description.robot import Robot, RobotFileError, load_robot, shipped_robots
from soft_arm_description.segments import MissingPhysicsError

FRUSTUM = {  # the squid paper's limb
    'body_radius_m': 0.03,
    'tip_radius_m': 0.01,
    'material': {'youngs_modulus_pa': 69e3, 'poisson_ratio': 0.5, 'density_kg_m3': 1070.0},
}
HINGES = [
    {
        'name': 'grasp',
        'axis': [1, 0, 0],
        'stiffness_n_m_rad': 0.1,
        'torque_limits_n_m': [-0.1, 0.1],
    },
    {'name': 'side', 'axis': [0, 2, 0], 'stiffness_n_m_rad': 0.5, 'actuated': False},
]
ROD = {
    'name': 'rod',
    'kind': 'torque',
    'length_m': 0.1,
    'sections': 10,
    'section_shape': 'box',
    'section_size_m': [0.02, 0.01],
    'body_mass_kg': 0.03,
    'hinges': HINGES,
}


PHYSICS = ('body_mass_kg', 'tip_radius_m', 'material', 'friction')


def content(name='squid_camera'):
    """A shipped file, with the least physics that a file may have."""
    file = yaml.safe_load(shipped_robots()[name].read_text())
    file['segments'] = [
        {key: value for key, value in segment.items() if key not in PHYSICS} | {'body_mass_kg': 0.2}
        for segment in file['segments']
    ]
    return file


def robot_of(*segments):
    return Robot.model_validate(
        content() | {'segments': list(segments), 'channels': {}, 'tip_frames': []}
    )


def limb(**changes):
    segment = {
        key: value for key, value in content()['segments'][0].items() if key != 'body_mass_kg'
    }
    return robot_of(segment | changes).segments[0]


def refusal(tmp_path, segment):
    (tmp_path / 'robot.yaml').write_text(
        yaml.safe_dump(content() | {'segments': [segment], 'tip_frames': []})
    )
    with pytest.raises(RobotFileError) as refused:
        load_robot(tmp_path / 'robot.yaml')
    assert '\n' not in str(refused.value)
    return str(refused.value)


def test_a_frustum_has_the_mass_and_the_stiffness_of_beam_theory():
    segment = limb(**FRUSTUM)
    share = (np.arange(20_000) + 0.5) / 20_000
    assert segment.radius_m(share)[[0, -1]] == pytest.approx([0.03, 0.01], abs=1e-6)
    area_m2 = math.pi * segment.radius_m(share) ** 2
    assert segment.mass_kg == pytest.approx(1070.0 * 0.6 * area_m2.mean(), rel=1e-6)
    inertia_m4 = area_m2**2 / (4 * math.pi)
    bending = segment.bending_stiffness_n_m2(share)
    assert bending == pytest.approx(69e3 * np.stack([inertia_m4] * 2, axis=-1))
    shear_modulus_pa = 69e3 / (2 * 1.5)
    assert segment.torsional_stiffness_n_m2(share) == pytest.approx(
        shear_modulus_pa * 2 * inertia_m4
    )
    assert segment.axial_stiffness_n(share) == pytest.approx(69e3 * area_m2)


def test_a_measured_stiffness_wins_and_tapers():
    stiffness = {'bending_n_m2': [0.2, 0.4], 'axial_n': 50.0}
    segment = limb(**FRUSTUM, stiffness=stiffness)
    assert segment.bending_stiffness_n_m2(0.0) == pytest.approx([0.2, 0.4])
    assert segment.bending_stiffness_n_m2(1.0) == pytest.approx([0.2 / 81, 0.4 / 81])
    assert segment.axial_stiffness_n([0.0, 1.0]) == pytest.approx([50.0, 50.0 / 9])
    assert segment.torsional_stiffness_n_m2(0.0) == limb(**FRUSTUM).torsional_stiffness_n_m2(0.0)


def test_poissons_ratio_gives_the_torsion_of_a_measured_bending_stiffness():
    stiffness = {'bending_n_m2': [0.2, 0.4]}
    segment = limb(body_mass_kg=0.2, stiffness=stiffness, material={'poisson_ratio': 0.5})
    assert segment.torsional_stiffness_n_m2(0.0) == pytest.approx(0.2)


def test_numbers_of_numpy_are_numbers():
    segment = limb(body_mass_kg=np.float32(0.5), sections=np.int64(7))
    assert segment.sections == 7 and type(segment.sections) is int
    assert segment.body_mass_kg == 0.5 and type(segment.body_mass_kg) is float
    with pytest.raises(ValueError, match='whole number'):
        limb(body_mass_kg=0.5, sections=np.float64(7.0))
    with pytest.raises(ValueError, match='number'):
        limb(body_mass_kg=np.True_)


@pytest.mark.parametrize(
    ('changes', 'method', 'words'),
    [
        ({}, 'bending_stiffness_n_m2', ['stiffness.bending_n_m2', 'material.youngs_modulus_pa']),
        (
            {'material': {'youngs_modulus_pa': 1e5}},
            'torsional_stiffness_n_m2',
            ['stiffness.torsional_n_m2', 'material.poisson_ratio'],
        ),
        ({}, 'axial_stiffness_n', ['stiffness.axial_n', 'material.youngs_modulus_pa']),
    ],
)
def test_a_missing_stiffness_is_named(changes, method, words):
    segment = limb(body_mass_kg=0.2, **changes)
    with pytest.raises(MissingPhysicsError) as missing:
        getattr(segment, method)(0.5)
    assert all(word in str(missing.value) for word in ['camera_1', *words])


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'body_mass_kg': None}, ['body_mass_kg', 'material.density_kg_m3']),
        ({'material': {'poisson_ratio': 0.6}}, ['poisson_ratio', '0..0.5', '0.6']),
        ({'material': {'youngs_modulus_pa': 69}}, ['youngs_modulus_pa', '100', 'Pa', '69']),
        ({'stiffness': {'bending': 1.0}}, ['stiffness.bending', 'unknown']),
        ({'stiffness': {'axial_n': -1.0}}, ['axial_n', 'N', '-1']),
        ({'tip_radius_m': 0.0}, ['tip_radius_m', '0.0001..1 m']),
        ({'damping_time_s': 'long'}, ['damping_time_s', '0..10 s', 'long']),
        ({'collision': 'mesh'}, ['collision', 'capsule', 'mesh']),
        ({'friction': {'across': 1.0}}, ['friction.sliding', 'missing']),
    ],
)
def test_bad_physics_is_named_in_one_line(tmp_path, changes, words):
    segment = {k: v for k, v in (content()['segments'][0] | changes).items() if v is not None}
    message = refusal(tmp_path, segment)
    assert all(word in message for word in words), message


def test_a_torque_segment_alternates_its_hinges():
    (segment,) = robot_of(ROD).segments
    assert [hinge.name for hinge in segment.section_hinges] == ['grasp', 'side'] * 5
    assert [(c.name, c.unit, c.low, c.high) for c in segment.coordinates] == [
        ('rod_grasp', 'N m', -0.1, 0.1)
    ]
    assert segment.hinges[1].unit_axis.tolist() == [0.0, 1.0, 0.0]
    assert segment.hinges[0].bend_range_rad == (-1.0, 1.0)
    assert segment.hinges[1].bend_range_rad == (0.0, 0.0)
    assert Robot.model_validate_json(robot_of(ROD).model_dump_json()) == robot_of(ROD)


def test_hinges_of_one_name_share_a_torque_and_one_without_stiffness_is_rigid():
    graded = [HINGES[0] | {'stiffness_n_m_rad': k} for k in (0.1, 0.2, 0.4)]
    rigid = {'name': 'rigid', 'axis': [1, 0, 0], 'actuated': False}
    (segment,) = robot_of(ROD | {'hinges': [*graded, rigid]}).segments
    assert [c.name for c in segment.coordinates] == ['rod_grasp']
    assert segment.hinges[3].bend_range_rad == (0.0, 0.0)


def test_half_links_may_be_heavier_than_half_of_a_whole_link():
    (even,) = robot_of(ROD).segments
    (odd,) = robot_of(ROD | {'body_mass_kg': 0.11, 'end_link_mass_kg': 0.01}).segments
    assert even.link_masses_kg[0] * 2 == pytest.approx(even.link_masses_kg[1])
    assert odd.link_masses_kg == pytest.approx([0.01] * 11)
    assert sum(even.link_masses_kg) == pytest.approx(even.body_mass_kg)


@pytest.mark.parametrize(
    ('rod', 'hinge', 'words'),
    [
        ({}, {'axis': [0, 0, 0]}, ['hinges.0', 'axis', 'direction']),
        ({}, {'torque_limits_n_m': None}, ['torque_limits_n_m', 'missing']),
        ({}, {'torque_limits_n_m': [1, 1]}, ['torque_limits_n_m', 'smaller']),
        ({}, {'limits_rad': [1, -1]}, ['limits_rad', 'smaller']),
        ({}, {'name': 'side'}, ['side', 'two torque_limits_n_m']),
        ({}, {'stiffness_n_m_rad': 0.0}, ['stiffness_n_m_rad', 'N m/rad']),
        ({}, {'stiffness_n_m_rad': None}, ['stiffness_n_m_rad', 'missing', 'rigid']),
        ({'end_link_mass_kg': 1.0}, {}, ['end_link_mass_kg', 'body_mass_kg']),
        ({}, {'stiffness_n_m_rad': 1e-4}, ['bend', '3600 deg']),
        ({}, {'actuated': False, 'torque_limits_n_m': None}, ['actuated']),
        ({'sections': 1}, {}, ['2 hinges', '1 sections']),
        ({'section_size_m': [0.02]}, {}, ['section_size_m', 'box']),
        ({'closing_twist': True}, {}, ['closing_twist', 'unknown']),
    ],
)
def test_a_bad_torque_segment_is_named_in_one_line(tmp_path, rod, hinge, words):
    first = {k: v for k, v in (HINGES[0] | hinge).items() if v is not None}
    message = refusal(tmp_path, ROD | rod | {'hinges': [first, HINGES[1]]})
    assert all(word in message for word in words), message


def test_a_tip_is_checked(tmp_path):
    tip = {'mass_kg': 0.01, 'shape': 'capsule', 'size_m': [0.01, 0.02]}
    (tmp_path / 'robot.yaml').write_text(yaml.safe_dump(content() | {'tip': tip}))
    with pytest.raises(RobotFileError, match='tip: size_m.*0.02 m'):
        load_robot(tmp_path / 'robot.yaml')


def test_no_fingerprint_depends_on_a_key_that_is_left_out():
    """Calibrations carry these; a robot file that says nothing new keeps them."""
    arm, finger = load_robot('two_module_arm'), load_robot('four_piece_finger')
    assert arm.fingerprint == '0c620539c56a2560'
    assert arm.kinematic_fingerprint == '09d53c38117c103e'
    assert finger.kinematic_fingerprint == '99ebf3259386c1db'


@pytest.mark.parametrize('name', ['squid_camera', 'modal_bellows', 'four_piece_finger'])
def test_poses_do_not_depend_on_physics(name):
    robot = load_robot(name)
    physics = FRUSTUM | {
        'body_mass_kg': 1.0,
        'stiffness': {'bending_n_m2': 1.0},
        'damping_time_s': 0.1,
        'collision': 'none',
        'friction': {'sliding': 1.0},
    }
    changed = content(name)
    changed['segments'] = [segment | physics for segment in changed['segments']]
    other = Robot.model_validate(changed)
    assert other.fingerprint != robot.fingerprint
    assert other.kinematic_fingerprint == robot.kinematic_fingerprint
