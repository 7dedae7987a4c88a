"""The files for rviz2 and Foxglove show what the nodes publish, as they publish it."""

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml

from abb_rws_bridge import irb120
from soft_arm_description.assembly import load_assembly
from soft_arm_description.assembly_frames import (
    WORLD_FRAME,
    body_frame,
    robots_with_frames,
    segment_tip_frame,
)
from soft_arm_description.robot import load_robot

ROOT = Path(__file__).parents[3]
DESCRIPTION = ROOT / 'src/soft_arm_description'
RVIZ = sorted(DESCRIPTION.glob('rviz/*.rviz'))
FOXGLOVE = sorted(DESCRIPTION.glob('foxglove/*.json'))
PAGE = (ROOT / 'docs/reference/interfaces.md').read_text()
LATCHED = 'target', 'robot_description', 'object'

each_file = pytest.mark.parametrize('path', RVIZ + FOXGLOVE, ids=lambda path: path.name)
each_rviz_file = pytest.mark.parametrize('path', RVIZ, ids=lambda path: path.name)


def displays(path):
    return yaml.safe_load(path.read_text())['Visualization Manager']['Displays']


def rviz_topics(path):
    """All topics, each with its policies where the display has them."""
    found = []
    for display in displays(path):
        for key, value in display.items():
            if key.endswith('Topic'):
                own = value if isinstance(value, dict) else {'Value': value}
                found.append((own['Value'], own))
    return found


def panels(path):
    return json.loads(path.read_text())['configById']


def foxglove_topics(path):
    found = []
    for panel in panels(path).values():
        found += panel.get('topics', {})
        found += [layer['topic'] for layer in panel.get('layers', {}).values() if 'topic' in layer]
        found += [panel[key] for key in ('topicToRender',) if key in panel]
        if 'imageMode' in panel:
            found.append(panel['imageMode']['imageTopic'])
        found += [line['value'].split('.')[0] for line in panel.get('paths', ())]
    return found


def topics(path):
    if path in RVIZ:
        return [topic for topic, _ in rviz_topics(path)]
    return foxglove_topics(path)


def frames(path):
    found = []
    if path in RVIZ:
        found.append(
            yaml.safe_load(path.read_text())['Visualization Manager']['Global Options'][
                'Fixed Frame'
            ]
        )
        for display in displays(path):
            found += [display['Reference Frame']] if display['Class'].endswith('/Axes') else []
        return found
    for panel in panels(path).values():
        found += [panel[key] for key in ('followTf',) if key in panel]
        found += [name.removeprefix('frame:') for name in panel.get('transforms', {})]
    return found


def published_frames():
    """The frames of the shipped arm, finger, ABB robot and squid."""
    found = {WORLD_FRAME, *re.findall(r'<link name="(\w+)"', irb120.urdf())}
    squid = load_assembly('squid')
    robots = [load_robot('two_module_arm'), load_robot('four_piece_finger')]
    robots += robots_with_frames(squid).values()
    for robot in robots:
        found |= {robot.base.frame, *robot.tip_frames}
        found |= {segment_tip_frame(robot, segment) for segment in robot.segment_names}
        found |= {f'{robot.base.frame_prefix}tip_by_{how}' for how in ('model', 'vision')}
    return found | {body_frame(squid, body.name) for body in squid.bodies}


def test_each_robot_has_a_file_of_both_kinds():
    assert [p.stem for p in RVIZ] == [p.stem for p in FOXGLOVE]
    assert len(RVIZ) == 3


@each_file
def test_every_topic_is_documented(path):
    assert len(topics(path)) > 2
    for topic in topics(path):
        name = re.sub('^/(soft_arm|gripper|abb|squid|virtual_cell)/', '', topic)
        assert f'`{name}`' in PAGE, f'{topic} is not in docs/reference/interfaces.md'


@each_file
def test_every_frame_is_published(path):
    assert len(frames(path)) > 2
    assert not set(frames(path)) - published_frames()


@each_rviz_file
def test_displays_ask_for_the_qos_of_the_publishers(path):
    for topic, policies in rviz_topics(path):
        if 'Durability Policy' in policies:
            latched = topic.rsplit('/', 1)[-1] in LATCHED
            wanted = 'Transient Local' if latched else 'Volatile'
            assert policies['Durability Policy'] == wanted, topic
        if 'image' in topic and 'Reliability Policy' in policies:
            assert policies['Reliability Policy'] == 'Best Effort', topic


@each_rviz_file
def test_only_frames_that_are_named_are_shown(path):
    """The TF display shows all frames that its configuration does not name."""
    assert not [d for d in displays(path) if d['Class'].endswith('/TF')]
    assert {WORLD_FRAME} & set(frames(path)[1:]) == set()
    axes = [d for d in displays(path) if d['Class'].endswith('/Axes')]
    assert axes and all(d['Name'] == d['Reference Frame'] for d in axes)


@pytest.mark.parametrize('launch_file', ['arm.launch.xml', 'cell.launch.xml', 'squid.launch.xml'])
def test_the_launch_files_show_installed_files(launch_file):
    [name] = re.findall(
        r'-d \$\(find-pkg-share soft_arm_description\)/(rviz/\w+\.rviz)',
        (ROOT / 'launch' / launch_file).read_text(),
    )
    assert (DESCRIPTION / name).is_file()
    setup = (DESCRIPTION / 'setup.py').read_text()
    assert name in setup
    assert name.replace('rviz/', 'foxglove/').replace('.rviz', '.json') in setup


@pytest.mark.parametrize(
    ('launch_file', 'rviz'), [('arm.launch.xml', 'soft_arm'), ('squid.launch.xml', 'squid')]
)
def test_rviz_of_another_namespace_shows_that_namespace(launch_file, rviz):
    tree = ElementTree.parse(ROOT / 'launch' / launch_file)
    [node] = [n for n in tree.iter('node') if n.get('pkg') == 'rviz2']
    remaps = {remap.get('from'): remap.get('to') for remap in node.iter('remap')}
    shown = set(topics(DESCRIPTION / f'rviz/{rviz}.rviz'))
    assert shown <= set(remaps)
    for old, new in remaps.items():
        if old.startswith('/camera/'):
            assert new == old.replace('/camera/camera/', '/camera/$(var camera_name)/')
        else:
            assert new == old.split('/', 2)[2]  # relative: in the namespace of the node
