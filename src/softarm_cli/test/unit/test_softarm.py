import runpy
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest


def softarm(*arguments):
    result = subprocess.run(
        [sys.executable, '-m', 'softarm_cli.softarm', *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return result.returncode, result.stdout, result.stderr


def test_help_lists_the_commands_with_what_they_do():
    code, out, _ = softarm('--help')
    assert code == 0
    for name in ('launch', 'run', 'bag', 'doctor', 'calibrate', 'experiment', 'bench'):
        line = next(line for line in out.splitlines() if line.split()[:1] == [name])
        assert len(line.split()) > 2 and 'broken' not in line


def test_the_version_is_that_of_the_installed_package():
    assert softarm('--version') == (0, f'softarm {version("softarm_cli")}\n', '')


@pytest.mark.parametrize(
    'arguments, message',
    [
        (['lanch'], "softarm: unknown command 'lanch'; did you mean 'launch'?"),
        (['qqq'], "softarm: unknown command 'qqq'; known: bag, "),
        (['calibrate', 'qqqq'], "softarm calibrate: unknown command 'qqqq'; known: "),
        (['run', 'no_such_package', 'x'], "package 'no_such_package' is not found"),
        (['launch', 'no.launch.xml'], 'no.launch.xml: No such file'),
        (['bag', 'info', 'no_bag'], 'no_bag'),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message):
    code, out, error = softarm(*arguments)
    assert (code, out) == (2, '')
    assert message in error and error.count('\n') == 1


def test_a_closed_output_is_not_an_error():
    command = [
        sys.executable,
        '-m',
        'softarm_cli.softarm',
        'run',
        'soft_arm_description',
        'robot_urdf',
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == ''
        assert process.wait(60) == 1


def test_worker_processes_of_a_command_do_not_run_it_again():
    """`multiprocessing` reads the script of its parent under this name in every worker."""
    runpy.run_path(str(Path(__file__).parents[2] / 'bin' / 'softarm'), run_name='__mp_main__')
