"""Compare the reference pages and the safety page with the sources and the tests."""

import re
import sys
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from soft_arm_control.grasping.no_load_reference import NoLoadValues
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_description.assembly import AssemblyFile
from soft_arm_description.calibration import COMMANDS as COMMANDS_OF_CALIBRATIONS
from soft_arm_description.calibration import Header
from soft_arm_description.rigid_bodies import RigidBody
from soft_arm_description.robot import IkWeights, Robot
from soft_arm_description.segments import Disc
from soft_arm_description.world import World
from soft_arm_kinematics.calibration.pressure_bend import PressureBend
from soft_arm_kinematics.calibration.pressure_length import PressureLength
from soft_arm_vision.calibration.extrinsics import ExtrinsicValues

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / 'docs'))
from generated_pages import parameters_of_nodes, texts_of_interfaces  # noqa: E402

PAGE = (ROOT / 'docs' / 'reference' / 'interfaces.md').read_text()
SAFETY = (ROOT / 'docs' / 'explanation' / 'safety.md').read_text()
NODE_SOURCES = [
    p
    for p in ROOT.glob('src/*/*/ros/*.py')
    if re.search(r'create_|Action(Server)?\(', p.read_text())
]
PARAMETER_SOURCES = [
    p for p in ROOT.glob('src/*/*/ros/*.py') if re.search(r'\bparameter\(', p.read_text())
]


def found(pattern, sources):
    return sorted(
        {match for source in sources for match in re.findall(pattern, source.read_text())}
    )


TOPICS = found(r"create_(?:publisher|subscription|service)\(\s*\w+, '([^']+)'", NODE_SOURCES)
ACTIONS = found(r"Action(?:Server)?\(\s*(?:\w+, )?\w+,\s+'([^']+)'", NODE_SOURCES)
DECLARED = found(r'(?m)^    (\w+): [\w\[\]]+ = (?:parameters\.)?parameter\(', PARAMETER_SOURCES)


NAMED_TESTS = sorted(set(re.findall(r'(test_\w+\.py)::(test_\w+?)(\.\.)?`', SAFETY)))
FAULTS = [f'T{i}' for i in range(1, 21)] + [f'P{i}' for i in range(1, 21)]


@pytest.mark.parametrize('names, known', [(TOPICS, 'pressures'), (ACTIONS, 'move_tip')])
def test_every_topic_service_and_action_is_on_the_page(names, known):
    assert known in names
    missing = [n for n in names if not re.search(rf'[`/]{re.escape(n.removeprefix("~/"))}`', PAGE)]
    assert not missing


def test_every_node_and_its_parameters_are_generated():
    nodes = parameters_of_nodes()
    assert not [node for node in nodes if f'`{node.split("/")[1]}`' not in PAGE]
    assert {name for rows in nodes.values() for name, _, _ in rows} == set(DECLARED)
    rows = {name: (default, text) for name, default, text in nodes['abb_rws_bridge/abb_rws_bridge']}
    assert rows['host'][0] == 'required' and rows['tls'][0] == '`false`'
    assert 'at most 65535' in rows['port'][1]


def test_every_message_service_and_action_is_generated():
    texts = texts_of_interfaces()
    files = [p for p in (ROOT / 'src/soft_arm_msgs').glob('*/*') if p.name[0].isupper()]
    assert len(texts) == len(files) > 20 and 'error_code' in texts['action/MoveTip']


@pytest.mark.parametrize(('file', 'name', 'begins'), NAMED_TESTS)
def test_every_test_that_the_safety_page_names_exists(file, name, begins):
    sources = [
        p.read_text()
        for folder in ('src/*', 'benchmarks', 'launch')
        for p in ROOT.glob(f'{folder}/test/**/{file}')
    ]
    assert sources, f'{file} does not exist'
    assert any(re.search(rf'def {name}{"" if begins else "[(]"}', source) for source in sources), (
        f'{file} has no test {name}{begins}'
    )


@pytest.mark.parametrize('fault', FAULTS)
def test_every_fault_has_one_row_with_a_test(fault):
    rows = re.findall(rf'(?m)^\| {fault} \|.*$', SAFETY)
    assert len(rows) == 1 and re.search(r'test_\w+\.py::test_', rows[0]), (
        f'{fault} has no test in docs/explanation/safety.md'
    )


def test_no_other_tests_are_named_than_were_checked():
    assert len(NAMED_TESTS) > 60
    assert SAFETY.count('.py::') == len(re.findall(r'`test_\w+\.py::test_\w+(?:\.\.)?`', SAFETY))


def tables(page, heading=''):
    """Words in code in the first column of the tables of a page, or of one section of it."""
    text = (ROOT / 'docs' / 'reference' / page).read_text()
    if heading:
        text = text.split(f'\n## {heading}\n')[1].split('\n## ')[0]
    first = re.findall(r'(?m)^\| (`[^|]*?) \|', text)
    return {word for cell in first for word in re.findall(r'`(\w+)`', cell)}


def keys(model):
    """Keys of a pydantic model and of the models inside it."""
    found = set(model.model_fields)
    for field in model.model_fields.values():
        for inner in _models(field.annotation):
            found |= keys(inner)
    return found


def _models(annotation):
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for argument in get_args(annotation) for m in _models(argument)]


def test_every_key_of_a_robot_file_is_on_its_page_and_no_other():
    inline = {'disc', 'ik_weights'}  # their keys are named where they are
    nested = keys(Disc) | keys(IkWeights)
    assert tables('robot_file.md') | nested == keys(Robot) | inline


@pytest.mark.parametrize(
    ('page', 'model', 'elsewhere'),
    [
        ('assembly_file.md', AssemblyFile, set()),
        ('world_file.md', World, set(RigidBody.model_fields)),  # on the page of assemblies
    ],
)
def test_every_key_of_a_file_for_simulations_is_on_its_page_and_no_other(page, model, elsewhere):
    assert tables(page) | elsewhere == keys(model)


@pytest.mark.parametrize(
    'values', [PressureLength, PressureBend, ExtrinsicValues, Dynamics, NoLoadValues]
)
def test_every_key_of_a_calibration_file_is_on_its_page_and_no_other(values):
    assert tables('calibration_files.md', f'`{values.kind}.yaml`') == set(values.model_fields)


def test_every_key_of_all_calibration_files_is_on_the_page_and_no_other():
    assert tables('calibration_files.md', 'Every file') == keys(Header) | {'values'}


def test_every_kind_of_calibration_is_on_the_page():
    page = (ROOT / 'docs' / 'reference' / 'calibration_files.md').read_text()
    assert set(re.findall(r'## `(\w+)\.yaml`', page)) == set(COMMANDS_OF_CALIBRATIONS)
