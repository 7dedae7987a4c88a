"""Errors in launch arguments, reported in one line before anything starts, exit code 2."""

import subprocess
import sys
from pathlib import Path

import pytest

from softarm_cli import launch_command

LAUNCH = Path(__file__).parents[4] / 'launch'


@pytest.mark.parametrize(
    'file, argument, message',
    [
        ('sim', 'x=1', "'x=1' is not of the form NAME:=VALUE"),
        ('sim', 'namespace:=a b', "namespace 'a b'"),
        ('sim', 'robot:=/nosuch.yaml', "robot file '/nosuch.yaml': No such file"),
        ('sim', 'plant_seed:=x', "'x' is not a whole number"),
        ('sim', 'rig:=nosuch', "rig 'nosuch' is not known"),
        ('cell', 'rws_port:=-1', '-1 must be at least 0'),
        ('cell', 'map:=valve', "register map 'valve'"),
    ],
)
def test_a_bad_argument_starts_nothing(file, argument, message):
    command = [
        sys.executable,
        '-m',
        'softarm_cli.softarm',
        'launch',
        str(LAUNCH / f'{file}.launch.xml'),
        argument,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, '')
    assert message in done.stderr and done.stderr.count('\n') == 1 and len(done.stderr) <= 301


def test_an_undeclared_argument_is_named_and_ignored(tmp_path, capsys):
    path = tmp_path / 'test.launch.xml'
    path.write_text('<launch><arg name="x" default="1"/><executable cmd="echo $(var x)"/></launch>')
    assert launch_command.main(['--print', str(path), 'y:=2']) == 0
    out, err = capsys.readouterr()
    assert out == '[echo-1] echo 1\n'
    assert "'y' is not declared" in err and 'declared: x' in err and err.count('\n') == 1
