"""Stand-ins for packages that only ROS machines have."""

import os

import pytest


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a package with one executable into the ament index."""
    prefix = tmp_path / 'prefix'

    def installed(package, executable):
        marker = prefix / 'share/ament_index/resource_index/packages' / package
        file = prefix / 'lib' / package / executable
        for path in (marker, file):
            path.parent.mkdir(parents=True)
            path.touch(0o755)
        before = os.environ['AMENT_PREFIX_PATH']
        monkeypatch.setenv('AMENT_PREFIX_PATH', f'{prefix}{os.pathsep}{before}')

    return installed


@pytest.fixture
def scratch(tmp_path):
    """Folder for the parameter files of a launch."""
    folder = tmp_path / 'scratch'
    folder.mkdir()
    return folder
