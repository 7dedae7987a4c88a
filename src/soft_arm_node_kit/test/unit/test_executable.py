"""Executables of nodes while they import."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from soft_arm_node_kit.executable import Executable
sys.exit(Executable('slow_node')())
"""
MODULE = """
import os, signal
os.kill(os.getpid(), signal.{})
raise RuntimeError('the import has continued')
"""


def _run(folder):
    return subprocess.run(
        [sys.executable, '-c', PROGRAM], cwd=folder, capture_output=True, text=True
    )


@pytest.mark.parametrize('number', ['SIGINT', 'SIGTERM'])
def test_a_signal_during_the_imports_ends_the_process_silently(tmp_path, number):
    (tmp_path / 'slow_node.py').write_text(MODULE.format(number))
    ended = _run(tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, '', '')


def test_the_exit_code_is_that_of_the_node(tmp_path):
    (tmp_path / 'slow_node.py').write_text('def main():\n    return 3\n')
    assert _run(tmp_path).returncode == 3
