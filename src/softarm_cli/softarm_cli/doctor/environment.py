"""Checks of the installation, with remedies."""

import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError as NotInstalledError
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

from ament_index_python.packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
)

from softarm_cli.launching.packages import is_ours
from softarm_cli.shared_memory import stale_files

_LIBRARIES = (
    'numpy',
    'scipy',
    'numba',
    'pydantic',
    'pymodbus',
    'mujoco',
    'opencv-python-headless',
    'rosbags',
)
_RENDER = (
    'import mujoco; context = mujoco.GLContext(64, 64); context.make_current(); context.free()'
)


@dataclass(frozen=True)
class Check:
    """Result of a check; `remedy` is None if nothing is wrong."""

    name: str
    found: str
    remedy: str | None = None


def check_environment() -> list[Check]:
    """Check Python, libraries, ROS, graphics, DDS, the built packages and shared memory."""
    return [_python(), *map(_library, _LIBRARIES), _ros(), _graphics(), _dds(), _built(), _memory()]


def _python() -> Check:
    found = f'{sys.version.split()[0]} at {sys.executable}'
    good = (3, 11) <= sys.version_info[:2] <= (3, 13)
    return Check(
        'Python',
        found,
        None if good else 'use Python 3.11, 3.12 or 3.13: make setup PYTHON=/path/to/python3.12',
    )


def _library(name: str) -> Check:
    try:
        return Check(name, version(name))
    except NotInstalledError:
        return Check(name, 'not installed', 'run: make setup')


def _ros() -> Check:
    distribution = os.environ.get('ROS_DISTRO', '')
    if distribution != 'jazzy':
        return Check(
            'ROS',
            distribution or 'not set',
            'run: . ./env.sh (on a ROS machine after sourcing /opt/ros/jazzy/setup.bash)',
        )
    try:
        return Check('ROS', f'jazzy from PyPI wheels, rclpy {version("ros-jazzy-rclpy")}')
    except NotInstalledError:
        return Check('ROS', f'jazzy from {get_package_prefix("rclpy")}')


def _graphics() -> Check:
    """Render without a display, in another process, which a broken driver may crash."""
    backend = os.environ.get('MUJOCO_GL', 'not set')
    try:
        result = subprocess.run(
            [sys.executable, '-c', _RENDER], capture_output=True, text=True, timeout=60, check=False
        )
    except subprocess.TimeoutExpired:
        return Check(
            'OpenGL',
            f'MUJOCO_GL={backend}: no result within 60 s',
            'check the graphics driver, or try MUJOCO_GL=osmesa',
        )
    if result.returncode == 0:
        return Check('OpenGL', f'renders without a display, MUJOCO_GL={backend}')
    reason = (result.stderr.strip().splitlines() or [f'exit code {result.returncode}'])[-1]
    return Check(
        'OpenGL',
        f'MUJOCO_GL={backend}: {reason}',
        'run: . ./env.sh; sudo apt-get install -y libegl1 libegl-mesa0 libgl1 libopengl0 '
        'libgl1-mesa-dri',
    )


def _dds() -> Check:
    domain = os.environ.get('ROS_DOMAIN_ID', '0')
    reach = os.environ.get('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')
    profile = os.environ.get('FASTRTPS_DEFAULT_PROFILES_FILE', '')
    found = f'domain {domain}, reaches {reach}, profile {profile or "default"}'
    if profile and not Path(profile).is_file():
        return Check(
            'DDS',
            found,
            f'{profile} does not exist: unset FASTRTPS_DEFAULT_PROFILES_FILE, source env.sh again',
        )
    return Check('DDS', found)


def _built() -> Check:
    """Check the packages of this workspace that the launch files need."""
    try:
        manifest = Path(get_package_share_directory('soft_arm_bringup')) / 'package.xml'
        needed = [e.text or '' for e in ElementTree.parse(manifest).iter('exec_depend')]
        for name in filter(is_ours, needed):
            get_package_prefix(name)
    except PackageNotFoundError as error:
        return Check('packages', f'missing: {error}', 'run: make build, then . ./env.sh')
    return Check('packages', 'all built and sourced')


def _memory() -> Check:
    megabytes = sum(path.stat().st_size for path in stale_files()) / 1e6
    remedy = 'run: softarm doctor --remove-stale-memory' if megabytes > 100 else None
    return Check('shared memory', f'{megabytes:.0f} MB left by dead nodes', remedy)
