from xml.etree import ElementTree

import pytest

from soft_arm_description.cli import main
from soft_arm_description.robot import load_robot, shipped_robots
from soft_arm_description.urdf import joint_names, robot_urdf


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
    assert main(['missing']) == 2
    assert capsys.readouterr().err.count('\n') == 1


def test_every_name_begins_with_the_prefix_of_the_base_frame():
    robot = load_robot('two_module_arm')
    base = robot.base.model_copy(update={'frame': 'left_arm_base_link'})
    tree = ElementTree.fromstring(robot_urdf(robot.model_copy(update={'base': base})))
    names = [element.get('name') for element in [*tree.findall('link'), *tree.findall('joint')]]
    assert len(names) > 60 and all(name.startswith('left_arm_') for name in names)
    assert robot.base.model_copy(update={'frame': 'finger'}).frame_prefix == 'finger_'
