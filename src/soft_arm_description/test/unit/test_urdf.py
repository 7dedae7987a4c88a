from xml.etree import ElementTree

import pytest

from soft_arm_description.assembly import load_assembly, shipped_assemblies
from soft_arm_description.assembly_frames import WORLD_FRAME, body_frame, robots_with_frames
from soft_arm_description.cli import main
from soft_arm_description.robot import load_robot, shipped_robots
from soft_arm_description.urdf import assembly_urdf, joint_names, robot_urdf


@pytest.mark.parametrize('name', sorted(shipped_robots()))
def test_links_and_joints_form_one_tree(name):
    robot = load_robot(name)
    tree = ElementTree.fromstring(robot_urdf(robot))
    links = [link.get('name') for link in tree.findall('link')]
    joints = [
        (j.find('parent').get('link'), j.find('child').get('link')) for j in tree.findall('joint')
    ]
    children = [child for _, child in joints]
    assert len(set(links)) == len(links) and len(set(children)) == len(children)
    assert set(links) - set(children) == {robot.base.frame}
    assert {parent for parent, _ in joints} <= set(links) and set(children) <= set(links)
    moving = [j.get('name') for j in tree.findall('joint') if j.get('type') != 'fixed']
    assert moving == joint_names(robot)
    assert all(
        j.find('limit') is not None for j in tree.findall('joint') if j.get('type') != 'fixed'
    )


@pytest.mark.parametrize('name', sorted(shipped_assemblies()))
def test_an_assembly_is_one_tree_in_the_world(name):
    assembly = load_assembly(name)
    robots = robots_with_frames(assembly)
    tree = ElementTree.fromstring(assembly_urdf(assembly))
    links = [link.get('name') for link in tree.findall('link')]
    parents = {
        j.find('child').get('link'): j.find('parent').get('link') for j in tree.findall('joint')
    }
    assert len(set(links)) == len(links) == len(parents) + 1
    assert set(links) - set(parents) == {WORLD_FRAME}
    assert set(parents.values()) <= set(links)
    joints = [(j.get('name'), j.get('type')) for j in tree.findall('joint')]
    moving = [joint for joint, kind in joints if kind in ('revolute', 'prismatic')]
    assert moving == [joint for robot in robots.values() for joint in joint_names(robot)]
    # whatever the simulation publishes itself
    placed = {body_frame(assembly, body.name) for body in assembly.bodies}
    placed |= {robot.base.frame for robot in robots.values()}
    assert {joint for joint, kind in joints if kind == 'floating'} == {
        f'{frame}_mount' for frame in placed
    }
    assert not {frame for robot in robots.values() for frame in robot.tip_frames} & set(links)


def test_ring_has_the_size_of_the_robot_file():
    robot = load_robot('two_module_arm')
    tree = ElementTree.fromstring(robot_urdf(robot))
    (ring,) = [link for link in tree.findall('link') if link.get('name') == 'soft_arm_ring']
    cylinder = ring.find('visual/geometry/cylinder')
    assert (
        float(cylinder.get('radius')) == robot.ring.radius_m
        and float(cylinder.get('length')) == robot.ring.height_m
    )


def test_command(capsys):
    assert main(['two_module_arm']) == 0
    assert ElementTree.fromstring(capsys.readouterr().out.encode()).get('name') == 'two_module_arm'
    assert main(['squid']) == 0
    assert ElementTree.fromstring(capsys.readouterr().out.encode()).get('name') == 'squid'
    assert main(['missing']) == 2
    assert capsys.readouterr().err.count('\n') == 1


def test_every_name_begins_with_the_prefix_of_the_base_frame():
    robot = load_robot('two_module_arm')
    base = robot.base.model_copy(update={'frame': 'left_arm_base_link'})
    tree = ElementTree.fromstring(robot_urdf(robot.model_copy(update={'base': base})))
    names = [element.get('name') for element in [*tree.findall('link'), *tree.findall('joint')]]
    assert len(names) > 60 and all(name.startswith('left_arm_') for name in names)
    assert robot.base.model_copy(update={'frame': 'finger'}).frame_prefix == 'finger_'
