"""A node's name is held by one process of a ROS domain."""

import os
import subprocess
import sys

import pytest

from soft_arm_node_kit.node_names import AlreadyRunsError, hold, node_of

NAME = f'/names/driver_{os.getpid()}'  # other tests run in parallel


def test_a_held_name_is_refused_with_the_process_that_holds_it():
    with hold(NAME, '91'), pytest.raises(AlreadyRunsError) as refused:
        hold(NAME, '91')
    assert str(refused.value).startswith(
        f'{NAME} already runs in ROS domain 91 (pid {os.getpid()}): end that launch first'
    )


def test_other_names_and_domains_are_free():
    with hold(NAME, '91'), hold(NAME, '92'), hold(f'{NAME}_2', '91'):
        pass


def test_a_name_is_free_after_its_process_has_been_killed():
    program = f'from soft_arm_node_kit.node_names import hold; held = hold("{NAME}", "91"); '
    process = subprocess.Popen(
        [sys.executable, '-c', f'{program}print("held", flush=True); input()'],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout.readline() == 'held\n'
            with pytest.raises(AlreadyRunsError, match=f'pid {process.pid}'):
                hold(NAME, '91')
        finally:
            process.kill()
    hold(NAME, '91').close()


@pytest.mark.parametrize(
    ('words', 'name'),
    [
        (['driver', '--ros-args', '-r', '__node:=a', '-r', '__ns:=/b/c'], '/b/c/a'),
        (['driver', '--ros-args', '-r', '__node:=a'], '/a'),
        (['driver', '-p', 'x:=1'], None),
    ],
)
def test_name_of_a_command_line(words, name):
    assert node_of(words) == name
