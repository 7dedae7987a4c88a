"""The rviz files show what the nodes publish."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / 'src/soft_arm_description/rviz').glob('*.rviz'))
PAGE = (ROOT / 'docs/reference/interfaces.md').read_text()


def displays(path):
    return yaml.safe_load(path.read_text())['Visualization Manager']['Displays']


def topics(path):
    found = []
    for display in displays(path):
        for key, value in display.items():
            if key.endswith('Topic'):
                found.append(value['Value'] if isinstance(value, dict) else value)
    return found


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_every_topic_is_documented(path):
    assert len(topics(path)) > 2
    for topic in topics(path):
        name = re.sub('^/(soft_arm|gripper|abb|squid)/', '', topic)
        assert f'`{name}`' in PAGE, f'{topic} is not in docs/reference/interfaces.md'


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_an_image_is_shown_and_no_beams_of_an_uncertain_orientation(path):
    assert [d for d in displays(path) if d['Class'].endswith('/Image')]
    for display in displays(path):
        if display['Class'].endswith('/PoseWithCovariance'):
            assert display['Covariance']['Orientation']['Value'] is False


@pytest.mark.parametrize('launch_file', ['arm.launch.xml', 'cell.launch.xml', 'squid.launch.xml'])
def test_the_launch_files_show_installed_files(launch_file):
    [name] = re.findall(
        r'-d \$\(find-pkg-share soft_arm_description\)/(rviz/\w+\.rviz)',
        (ROOT / 'launch' / launch_file).read_text(),
    )
    assert (ROOT / 'src/soft_arm_description' / name).is_file()
    assert name in (ROOT / 'src/soft_arm_description/setup.py').read_text()
