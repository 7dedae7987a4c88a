import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_ros2_command(monkeypatch):
    """The runner is tested also where `ros2 launch` exists, to which `softarm launch` would hand over."""
    folders = os.environ['PATH'].split(os.pathsep)
    monkeypatch.setenv('PATH', os.pathsep.join(folder for folder in folders if not (Path(folder) / 'ros2').exists()))
