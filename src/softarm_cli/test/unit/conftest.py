"""Package `demo` for the tests of launch files."""

import os

import pytest


@pytest.fixture
def demo_package(tmp_path, monkeypatch):
    """Put the package `demo` into the ament index; return a maker of its executables."""
    prefix = tmp_path / 'prefix'
    index = prefix / 'share/ament_index/resource_index/packages'
    for folder in (index, prefix / 'lib/demo', prefix / 'share/demo'):
        folder.mkdir(parents=True)
    (index / 'demo').touch()
    monkeypatch.setenv(
        'AMENT_PREFIX_PATH', f'{prefix}{os.pathsep}{os.environ["AMENT_PREFIX_PATH"]}'
    )

    def make(name, source='#!/bin/sh\n'):
        path = prefix / 'lib/demo' / name
        path.write_text(source)
        path.chmod(0o755)
        return path

    return make
