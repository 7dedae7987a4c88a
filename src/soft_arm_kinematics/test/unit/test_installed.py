"""The two packages as a library user has them: installed by pip, without ROS and sources."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[3]
PACKAGES = 'soft_arm_io', 'soft_arm_description', 'soft_arm_kinematics'

USE = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])

class NoRos:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in {'rclpy', 'soft_arm_msgs', 'soft_arm_node_kit'}:
            raise ImportError(f'{name} was imported')

sys.meta_path.insert(0, NoRos())
import soft_arm_kinematics as sak
assert not {'numpy', 'numba', 'scipy'} & set(sys.modules), 'the import is not lazy'
assert dir(sak) == sorted(sak.__all__) and len(dir(sak)) < 20

import soft_arm_description as sad
for package in (sad, sak):
    assert package.__file__.startswith(sys.argv[1])
    for name in package.__all__:
        getattr(package, name)
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):
        if '.ros' not in module.name and not module.name.endswith('torch_batch'):
            importlib.import_module(module.name)

for name in sad.shipped_robots():
    arm = sak.load_arm(name)
    shape = arm.at(arm.rest_q)
    assert abs(shape.backbone()[-1] - shape.tip_m).max() < 1e-9
    sad.robot_urdf(arm.robot)
assert 'torch' not in sys.modules
print('works')
"""


@pytest.fixture(scope='module')
def installed(tmp_path_factory) -> Path:
    """Folder into which pip installed the packages from copies of their sources."""
    folder = tmp_path_factory.mktemp('installed')
    for name in PACKAGES:
        ignored = shutil.ignore_patterns('test', '*.egg-info', 'build', '__pycache__')
        shutil.copytree(SOURCES / name, folder / 'src' / name, ignore=ignored)
    install = ['install', '--quiet', '--no-deps', '--no-index', '--no-build-isolation']
    where = ['--target', str(folder / 'site'), *(str(folder / 'src' / name) for name in PACKAGES)]
    subprocess.run([sys.executable, '-m', 'pip', *install, *where], check=True, timeout=300)
    shutil.rmtree(folder / 'src')
    return folder / 'site'


def test_works_without_ros_and_without_the_sources(installed, tmp_path):
    done = subprocess.run(
        [sys.executable, '-I', '-c', USE, str(installed)],
        cwd=tmp_path,
        env={'PATH': os.environ['PATH'], 'HOME': str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == 'works\n', done.stderr
