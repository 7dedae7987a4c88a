import math

import numpy as np
import pytest
import yaml

from soft_arm_description import (
    AssemblyFileError,
    World,
    WorldFileError,
    load_assembly,
    load_robot,
    load_world,
    shipped_assemblies,
    shipped_robots,
    shipped_worlds,
)
from soft_arm_description.assembly import AssemblyFile

BOX = {'name': 'crate', 'shape': 'box', 'size_m': [0.1, 0.1, 0.1], 'mass_kg': 1.0}
HAND = {
    'schema_version': 1,
    'name': 'hand',
    'description': 'Two limbs on a palm.',
    'bodies': [BOX | {'name': 'palm', 'fixed': True}],
    'robots': [
        {'name': 'left', 'robot': 'squid_camera', 'mount': 'palm', 'position_m': [0.05, 0.0, 0.05]},
        {'name': 'upper', 'robot': 'squid_light', 'mount': 'left', 'rpy_deg': [0.0, 0.0, 90.0]},
        {'name': 'alone', 'robot': 'squid_light'},
    ],
}
ROOM = {
    'schema_version': 1,
    'name': 'room',
    'description': 'One crate.',
    'medium': {'name': 'water', 'density_kg_m3': 1000.0, 'viscosity_pa_s': 1e-3},
    'ground': {'height_m': -0.1, 'friction': 0.5},
    'objects': [BOX],
    'loads': [{'robot': 'arm', 'section': 3, 'force_n': [1.0, 0.0, 0.0]}, {'robot': 'arm'}],
    'lights': [{'name': 'lamp', 'direction': [0.0, 0.0, -1.0], 'spot_deg': 30.0}],
    'cameras': [{'name': 'eye', 'attach': 'arm'}],
}


def written(tmp_path, content):
    (tmp_path / 'file.yaml').write_text(yaml.safe_dump(content))
    return tmp_path / 'file.yaml'


def refusal(load, error, path):
    with pytest.raises(error) as refused:
        load(path)
    assert '\n' not in str(refused.value) and len(str(refused.value)) <= 300
    return str(refused.value)


def changed(content, part, **changes):
    """The content with keys of one of its parts changed, or without those that are None."""
    first = {k: v for k, v in (content[part][0] | changes).items() if v is not None}
    return content | {part: [first, *content[part][1:]]}


@pytest.mark.parametrize('name', sorted(shipped_assemblies()))
def test_shipped_assembly(name):
    assembly = load_assembly(name)
    assert assembly.name == name and assembly.robots
    content = AssemblyFile.model_validate(yaml.safe_load(shipped_assemblies()[name].read_text()))
    assert AssemblyFile.model_validate_json(content.model_dump_json()) == content


@pytest.mark.parametrize('name', sorted(shipped_worlds()))
def test_shipped_world(name):
    world = load_world(name)
    assert world.name == name
    assert World.model_validate_json(world.model_dump_json()) == world


def test_the_squid_is_slightly_buoyant_in_sea_water():
    assembly, medium = load_assembly('squid'), load_world('sea').medium
    limbs_kg = [sum(s.mass_kg for s in r.robot.segments) for r in assembly.robots]
    assert limbs_kg == pytest.approx([0.874] * 4, rel=1e-2)  # frustums 600 mm, 60 to 20 mm
    volume_m3 = assembly.bodies[0].volume_m3 + sum(limbs_kg) / 1070.0
    lift_kg = medium.density_kg_m3 * volume_m3 - assembly.bodies[0].mass_kg - sum(limbs_kg)
    assert 0.0 < lift_kg < 1.0


@pytest.mark.parametrize('name', sorted(set(shipped_robots()) - {'two_module_arm'}))
def test_every_shipped_robot_has_what_a_simulation_needs(name):
    for segment in load_robot(name).segments:
        assert segment.mass_kg > 0.0
        if segment.kind != 'torque':
            assert np.all(segment.bending_stiffness_n_m2([0.0, 1.0]) > 0.0)
            assert math.isfinite(segment.axial_stiffness_n(0.5))


def test_robots_stand_on_bodies_on_tips_and_in_the_world(tmp_path):
    assembly = load_assembly(written(tmp_path, HAND))
    assert [(r.name, r.mount, r.robot.name) for r in assembly.robots] == [
        ('left', 'palm', 'squid_camera'),
        ('upper', 'left', 'squid_light'),
        ('alone', None, 'squid_light'),
    ]
    assert assembly.robots[1].rpy_deg == (0.0, 0.0, 90.0)


def test_paths_begin_at_the_folder_of_the_file(tmp_path):
    (tmp_path / 'mine.yaml').write_bytes(shipped_robots()['squid_light'].read_bytes())
    (tmp_path / 'palm.stl').touch()
    content = changed(HAND, 'bodies', shape='mesh', size_m=None, mesh='palm.stl')
    content = changed(content, 'robots', robot='mine.yaml')
    assembly = load_assembly(written(tmp_path, content))
    assert assembly.robots[0].robot.name == 'squid_light'
    assert assembly.bodies[0].mesh == str(tmp_path / 'palm.stl')
    crate = changed(ROOM, 'objects', shape='mesh', size_m=None, mesh='palm.stl')
    assert load_world(written(tmp_path, crate)).objects[0].mesh == str(tmp_path / 'palm.stl')


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        (changed(HAND, 'robots', mount='foot'), ['left', 'foot', 'palm']),
        (changed(HAND, 'robots', mount='upper'), ['upper', 'before it']),
        (changed(HAND, 'robots', name='palm'), ['palm', 'twice']),
        (changed(HAND, 'robots', robot='nobody.yaml'), ['robots.0.robot', 'nobody.yaml']),
        (HAND | {'robots': []}, ['robots']),
        (changed(HAND, 'bodies', shape='cone'), ['bodies.0.shape', 'cone']),
        (changed(HAND, 'bodies', shape='sphere'), ['size_m', 'a sphere takes [radius]']),
        (changed(HAND, 'bodies', size_m=None), ['size_m is missing']),
        (changed(HAND, 'bodies', mass_kg=None, fixed=False), ['mass_kg is missing']),
        (changed(HAND, 'bodies', mass_kg=0.0), ['mass_kg', '1e-06', 'kg']),
        (changed(HAND, 'bodies', mesh='a.stl'), ['mesh', 'box']),
        (changed(HAND, 'bodies', shape='mesh', size_m=None, mesh='a.stl'), ['a.stl', 'palm']),
        (changed(HAND, 'bodies', shape='mesh', size_m=None, mesh='a.gif'), ['.stl']),
    ],
)
def test_a_bad_assembly_is_named_in_one_line(tmp_path, content, words):
    message = refusal(load_assembly, AssemblyFileError, written(tmp_path, content))
    assert all(word in message for word in words), message


def test_a_robot_file_of_an_assembly_is_checked(tmp_path):
    robot = yaml.safe_load(shipped_robots()['squid_light'].read_text())
    robot['segments'][0]['body_radius_m'] = -1.0
    (tmp_path / 'mine.yaml').write_text(yaml.safe_dump(robot))
    path = written(tmp_path, changed(HAND, 'robots', robot='mine.yaml'))
    message = refusal(load_assembly, AssemblyFileError, path)
    assert 'mine.yaml' in message and 'body_radius_m' in message and '-1.0' in message


def test_what_a_world_leaves_out():
    world = load_world('empty')
    assert world.gravity_m_s2 == (0.0, 0.0, -9.81)
    assert (world.medium, world.ground, world.objects) == (None, None, ())


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        (ROOM | {'gravity_m_s2': [0.0, 0.0, -1e4]}, ['gravity_m_s2', '-1000..1000 m/s^2']),
        (ROOM | {'wind': 1.0}, ['wind', 'unknown']),
        (ROOM | {'medium': {'name': 'water'}}, ['medium.density_kg_m3', 'missing']),
        (ROOM | {'ground': {'friction': -1.0}}, ['ground.friction', '-1']),
        (ROOM | {'objects': [BOX, BOX]}, ['crate', 'twice']),
        (changed(ROOM, 'loads', section=-1), ['section', '-1']),
        (changed(ROOM, 'loads', section='middle'), ['section', 'middle']),
        (changed(ROOM, 'loads', force_n=[1.0, 2.0]), ['force_n']),
        (changed(ROOM, 'lights', direction=[0.0, 0.0, 0.0]), ['direction']),
        (changed(ROOM, 'lights', spot_deg=100.0), ['spot_deg', '1..90 deg']),
        (changed(ROOM, 'cameras', attach=None), ['look_at_m', 'attach', 'neither']),
        (changed(ROOM, 'cameras', look_at_m=[1.0, 0.0, 0.0]), ['look_at_m', 'attach', 'both']),
        (changed(ROOM, 'cameras', attach=None, look_at_m=[0.0, 0.0, 0.0]), ['camera stands']),
        (changed(ROOM, 'cameras', width_px=640.0), ['width_px', 'whole', '16..4096 px']),
    ],
)
def test_a_bad_world_is_named_in_one_line(tmp_path, content, words):
    message = refusal(load_world, WorldFileError, written(tmp_path, content))
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ('load', 'error', 'known'),
    [(load_assembly, AssemblyFileError, 'squid'), (load_world, WorldFileError, 'floor')],
)
def test_a_missing_file_names_what_exists(load, error, known):
    assert known in refusal(load, error, 'no_such_file.yaml')


def test_a_good_world_is_taken(tmp_path):
    world = load_world(written(tmp_path, ROOM))
    assert world.loads[0].section == 3 and world.loads[1].section == 'tip'
    assert world.cameras[0].fovy_deg == 45.0
