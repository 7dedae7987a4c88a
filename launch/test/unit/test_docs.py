"""Hold the pages of interfaces and of safety against the sources and the tests."""

import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / 'docs' / 'reference' / 'interfaces.md').read_text()
SAFETY = (ROOT / 'docs' / 'explanation' / 'safety.md').read_text()
NODE_SOURCES = [
    p
    for p in ROOT.glob('src/*/*/ros/*.py')
    if 'create_' in p.read_text() or 'ActionServer' in p.read_text()
]
PARAMETER_SOURCES = [
    p for p in ROOT.glob('src/*/*/ros/*.py') if re.search(r'\bparameter\(', p.read_text())
]


def found(pattern, sources):
    return sorted(
        {match for source in sources for match in re.findall(pattern, source.read_text())}
    )


INTERFACES = sorted(
    p.stem
    for p in (ROOT / 'src' / 'soft_arm_msgs').glob('*/*')
    if p.suffix in ('.msg', '.srv', '.action')
)
TOPICS = found(r"create_(?:publisher|subscription|service)\(\s*\w+, '([^']+)'", NODE_SOURCES)
ACTIONS = found(r"ActionServer\(\s*\w+, \w+, '([^']+)'", NODE_SOURCES)
PARAMETERS = found(r'(?m)^    (\w+): [\w\[\]]+ = (?:parameters\.)?parameter\(', PARAMETER_SOURCES)
EXECUTABLES = sorted(
    f'{e.value.split(".")[0]}/{e.name}'
    for e in entry_points(group='console_scripts')
    if '.ros.' in e.value
)
COMMANDS = sorted(
    f'softarm {group.split(".")[1]} {e.name}'.replace('commands ', '')
    for group in (
        'softarm.commands',
        'softarm.calibrate',
        'softarm.experiment',
        'softarm.bench',
        'softarm.sim',
        'softarm.train',
    )
    for e in entry_points(group=group)
)


NAMED_TESTS = sorted(set(re.findall(r'(test_\w+\.py)::(test_\w+?)(\.\.)?`', SAFETY)))
FAULTS = [f'T{i}' for i in range(1, 21)] + [f'P{i}' for i in range(1, 21)]


def test_something_was_found():
    assert 'MoveTip' in INTERFACES and 'pressures' in TOPICS and 'move_tip' in ACTIONS
    assert (
        'command_timeout_s' in PARAMETERS
        and 'soft_arm_sim/virtual_rig' in EXECUTABLES
        and 'softarm experiment bend' in COMMANDS
    )


@pytest.mark.parametrize(
    'name', INTERFACES + TOPICS + ACTIONS + PARAMETERS + EXECUTABLES + COMMANDS
)
def test_is_on_the_page(name):
    assert re.search(rf'[`/]{re.escape(name.removeprefix("~/"))}[`, ]', PAGE), (
        f'{name} is missing in docs/reference/interfaces.md'
    )


@pytest.mark.parametrize(('file', 'name', 'begins'), NAMED_TESTS)
def test_every_test_that_the_safety_page_names_exists(file, name, begins):
    sources = [
        p.read_text()
        for folder in ('src/*', 'launch')
        for p in ROOT.glob(f'{folder}/test/**/{file}')
    ]
    assert sources, f'there is no {file}'
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
    assert len(NAMED_TESTS) > 60 and SAFETY.count('.py::') == len(
        re.findall(r'`test_\w+\.py::test_\w+(?:\.\.)?`', SAFETY)
    )
