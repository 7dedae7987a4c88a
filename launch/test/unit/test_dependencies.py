"""Every package names what it imports, imports only packages below it, and is part of no cycle.

Code outside of `ros/` can be installed by pip alone, so its imports stand in setup.py too.
"""

import ast
import functools
import importlib.metadata
import re
import runpy
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[3]
LIBRARIES = {  # import name: name on PyPI, rosdep key (None: comes from requirements/ only)
    'aiohttp': ('aiohttp', 'python3-aiohttp'),
    'cv2': ('opencv-python-headless', 'python3-opencv'),
    'dask': ('dask', None),
    'distributed': ('distributed', None),
    'elastica': ('pyelastica', None),
    'gymnasium': ('gymnasium', None),
    'hypothesis': ('hypothesis', 'python3-hypothesis'),
    'llvmlite': ('llvmlite', None),
    'matplotlib': ('matplotlib', 'python3-matplotlib'),
    'mcap': ('mcap', None),
    'mujoco': ('mujoco', None),
    'numba': ('numba', 'python3-numba'),
    'numpy': ('numpy', 'python3-numpy'),
    'onnxruntime': ('onnxruntime', None),
    'open3d': ('open3d-cpu', None),
    'pyarrow': ('pyarrow', None),
    'pycocotools': ('pycocotools', None),
    'pydantic': ('pydantic', 'python3-pydantic'),
    'pymodbus': ('pymodbus', None),
    'pytest': ('pytest', 'python3-pytest'),
    'rosbags': ('rosbags', None),
    'scipy': ('scipy', 'python3-scipy'),
    'soft_robotic_arm': ('soft-robotic-arm', None),
    'threadpoolctl': ('threadpoolctl', None),
    'torch': ('torch', None),
    'tqdm': ('tqdm', 'python3-tqdm'),
    'typing_extensions': ('typing-extensions', 'python3-typing-extensions'),
    'yaml': ('pyyaml', 'python3-yaml'),
    'yarl': ('yarl', None),
    'zstandard': ('zstandard', None),
}
OTHER_ROS_KEYS = {'tf2_ros': 'tf2_ros_py'}  # tf2_ros is the C++ package
ROS = {'ament_index_python', 'cv_bridge', 'rclpy', 'rosidl_adapter', 'tf2_ros'}
ROS |= {'action_msgs', 'builtin_interfaces', 'diagnostic_msgs', 'geometry_msgs', 'lifecycle_msgs'}
ROS |= {'rcl_interfaces', 'sensor_msgs', 'soft_arm_msgs', 'std_msgs', 'std_srvs', 'tf2_msgs'}
ROS |= {'rosgraph_msgs', 'trajectory_msgs', 'visualization_msgs'}

ROS_TESTS = {'component', 'control_testing', 'system'}
HELPERS = {'steady_clock', 'system_testing'}  # of the tests of every package, in launch/test

RIG_BASE = {'soft_arm_io', 'soft_arm_description', 'soft_arm_node_kit'}
RIG_CORE = RIG_BASE | {'soft_arm_kinematics'}
MAY_IMPORT = {
    'soft_arm_io': set(),
    'soft_arm_description': {'soft_arm_io'},
    'soft_arm_somo': {'soft_arm_io', 'soft_arm_description'},
    'soft_arm_node_kit': {'soft_arm_io'},
    'soft_arm_identification': {
        'soft_arm_control',
        'soft_arm_io',
        'soft_arm_description',
        'soft_arm_kinematics',
        'softarm_cli',
    },
    'soft_arm_kinematics': RIG_BASE,
    'soft_arm_vision': RIG_CORE,
    'soft_arm_control': RIG_CORE,
    'pneumatic_driver': RIG_BASE,
    'abb_rws_bridge': RIG_BASE,
    'soft_arm_calibration': RIG_CORE | {'soft_arm_vision', 'soft_arm_control', 'softarm_cli'},
    'soft_arm_twin': RIG_CORE | {'softarm_cli', 'soft_arm_physics'},  # physics: view/ only
    'softarm_cli': RIG_CORE | {'pneumatic_driver'},
    'abb_rws_emulator': {'soft_arm_io'},
    'soft_arm_physics': {'soft_arm_io', 'soft_arm_description', 'soft_arm_kinematics'},
    'soft_arm_training': RIG_CORE
    | {
        'soft_arm_vision',
        'soft_arm_calibration',
        'softarm_cli',
        'soft_arm_sim',
    },
    'soft_arm_sim': RIG_CORE | {'soft_arm_physics', 'abb_rws_emulator', 'abb_rws_bridge'},
}
"""Packages by package: what runs on a rig knows no simulator.

Experiments, studies and benchmarks may use everything.
"""

PACKAGES = {p.parent.name: p.parent for p in ROOT.glob('src/*/setup.py')}
PACKAGES |= {'soft_arm_bringup': ROOT / 'launch', 'soft_arm_benchmarks': ROOT / 'benchmarks'}


@functools.cache
def imports(file: Path) -> set[str]:
    """Top-level names that a file imports, without the standard library."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition('.')[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module.partition('.')[0])
    return names - sys.stdlib_module_names


def imports_of_code(package: str, *, with_ros: bool) -> set[str]:
    files = (PACKAGES[package] / package).rglob('*.py')
    return set().union(*(imports(f) for f in files if with_ros or 'ros' not in f.parts)) - {package}


def imports_of_tests(package: str, *, with_ros: bool) -> set[str]:
    """Return the imports of the tests without their helpers.

    Tests in component/ and system/ need ROS, and so do their helpers in control_testing/.
    """
    folder = PACKAGES[package] / 'test'
    files = [f for f in folder.rglob('*.py') if with_ros or not ROS_TESTS & set(f.parts)]
    helpers = {path.stem for pattern in ('*', '*/*') for path in folder.glob(pattern)}
    if package == 'soft_arm_bringup':
        helpers |= {path.stem for path in ROOT.glob('docs/*.py')}
    return set().union(*map(imports, files)) - {package} - helpers - HELPERS


def named_in_package_xml(package: str, *kinds: str) -> set[str]:
    root = ElementTree.parse(PACKAGES[package] / 'package.xml').getroot()
    return {element.text for kind in kinds for element in root.findall(kind)}


def named_in_setup(package: str, monkeypatch) -> tuple[set[str], set[str]]:
    """Names of PyPI packages in setup.py: for the code, extras included, and for the tests."""
    given = {}
    monkeypatch.setattr('setuptools.setup', lambda **arguments: given.update(arguments))
    monkeypatch.chdir(PACKAGES[package])
    runpy.run_path('setup.py')
    extras = given.get('extras_require', {})
    code = given['install_requires'] + [n for e in extras if e != 'test' for n in extras[e]]
    return pypi_names(map(project, code)), pypi_names(map(project, extras.get('test', [])))


def project(requirement: str) -> str:
    return re.match('[A-Za-z0-9_-]+', requirement)[0]


def pypi_names(names) -> set[str]:
    """Names on PyPI of imports or projects, in their normal form."""
    projects = (LIBRARIES[n][0] if n in LIBRARIES else n for n in names if n not in ROS)
    return {name.lower().replace('_', '-') for name in projects}


def rosdep_keys(names: set[str]) -> set[str]:
    keys = {LIBRARIES[n][1] if n in LIBRARIES else OTHER_ROS_KEYS.get(n, n) for n in names}
    return keys - {None}


def packages_in_launch_files(package: str) -> set[str]:
    """Packages whose nodes or files the launch files use."""
    pattern = r'pkg="(\w+)"|\$\(find-pkg-(?:prefix|share) (\w+)\)'
    texts = [path.read_text() for path in PACKAGES[package].glob('*.launch.xml')]
    return {name for text in texts for names in re.findall(pattern, text) for name in names if name}


@pytest.mark.parametrize('package', PACKAGES)
def test_every_import_is_known(package):
    unknown = imports_of_code(package, with_ros=True) | imports_of_tests(package, with_ros=True)
    unknown -= ROS | LIBRARIES.keys() | PACKAGES.keys()
    assert not unknown, f'no package of ours, nor in the tables above: {sorted(unknown)}'


@pytest.mark.parametrize('package', PACKAGES)
def test_package_xml_names_what_is_imported(package):
    code = named_in_package_xml(package, 'depend', 'exec_depend')
    tests = named_in_package_xml(package, 'test_depend')
    missing = rosdep_keys(imports_of_code(package, with_ros=True)) - code
    missing |= packages_in_launch_files(package) - code
    assert not missing, f'not named as exec_depend: {sorted(missing)}'
    missing = rosdep_keys(imports_of_tests(package, with_ros=True)) - code - tests
    assert not missing, f'not named as test_depend: {sorted(missing)}'


@pytest.mark.parametrize('package', PACKAGES)
def test_setup_py_names_what_is_imported_outside_of_ros(package, monkeypatch):
    code, tests = named_in_setup(package, monkeypatch)
    missing = pypi_names(imports_of_code(package, with_ros=False)) - code
    assert not missing, f'not in install_requires: {sorted(missing)}'
    missing = pypi_names(imports_of_tests(package, with_ros=False)) - code - tests
    assert not missing, f"not in extras_require['test']: {sorted(missing)}"


@pytest.mark.parametrize('package', PACKAGES)
def test_nothing_is_named_that_is_not_imported(package, monkeypatch):
    code, tests = named_in_setup(package, monkeypatch)
    imported = imports_of_code(package, with_ros=True) | imports_of_tests(package, with_ros=True)
    unused = (code | tests) - pypi_names(imported)
    assert not unused, f'in setup.py: {sorted(unused)}'
    python = {
        n for n in named_in_package_xml(package, 'exec_depend', 'test_depend') if 'python3-' in n
    }
    unused = python - rosdep_keys(imported)
    assert not unused, f'in package.xml: {sorted(unused)}'


@pytest.mark.parametrize('package', MAY_IMPORT)
def test_a_package_imports_only_packages_below_it(package):
    assert imports_of_code(package, with_ros=True) & PACKAGES.keys() <= MAY_IMPORT[package]


def test_only_the_view_of_a_model_knows_physics():
    code = PACKAGES['soft_arm_twin'] / 'soft_arm_twin'
    files = {f.relative_to(code) for f in code.rglob('*.py') if 'soft_arm_physics' in imports(f)}
    assert {f.parts[0] for f in files} <= {'view'}


def test_no_package_depends_on_itself_through_others():
    graph = {
        p: named_in_package_xml(p, 'depend', 'exec_depend', 'test_depend') & PACKAGES.keys()
        for p in PACKAGES
    }
    assert list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize('lock', ['wheels.txt', 'ros_machine.txt'])
def test_extras_that_a_package_needs_are_locked(lock):
    """Otherwise pip asks the index for them, and fails once the package has a newer release."""
    found = re.findall(
        r'(?m)^([\w.-]+)(?:\[([\w,-]+)\])?==', (ROOT / 'requirements' / lock).read_text()
    )
    locked = {name.lower(): set(extras.split(',')) for name, extras in found}
    needed = [
        re.match(r'([\w.-]+)\[([\w,-]+)\]', text)
        for package in importlib.metadata.distributions()
        if package.name.lower() in locked
        for text in package.requires or []
        if 'extra ==' not in text
    ]
    needed = [match.groups() for match in needed if match]
    assert len(needed) >= 2  # mujoco and pytest-cov have such
    for name, extras in needed:
        assert set(extras.split(',')) <= locked[name.lower()], f'{name}[{extras}]'


def test_every_package_has_the_version_of_the_newest_release():
    patterns = {
        'CHANGELOG.md': r'(?m)^## \[([\d.]+)\]',
        'CITATION.cff': r'(?m)^version: (.*)$',
        '*/package.xml': '<version>(.*)</version>',
        'src/*/package.xml': '<version>(.*)</version>',
        '*/setup.py': "version='(.*)'",
        'src/*/setup.py': "version='(.*)'",
    }
    files = [(file, pattern) for name, pattern in patterns.items() for file in ROOT.glob(name)]
    versions = {str(file): re.search(pattern, file.read_text())[1] for file, pattern in files}
    assert len(versions) > 40 and len(set(versions.values())) == 1, versions
