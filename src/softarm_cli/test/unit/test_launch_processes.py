import os
import signal
import subprocess
import sys
import threading
import time

import pytest

DEADLINE_S = 300.0


class Running:
    """A launch file that runs in another process; its output is collected line by line."""

    def __init__(self, path, *arguments):
        self.lines = []
        self._changed = threading.Condition()
        command = [sys.executable, '-m', 'softarm_cli.softarm', 'launch', str(path), *arguments]
        environment = {**os.environ, 'ROS_LOG_DIR': str(path.parent)}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(line.rstrip())
                self._changed.notify_all()

    def wait_for(self, text, count=1):
        with self._changed:
            assert self._changed.wait_for(
                lambda: sum(text in line for line in self.lines) >= count, DEADLINE_S
            ), self.lines

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.code()

    def code(self):
        code = self.process.wait(DEADLINE_S)
        self._reader.join()
        return code

    def pid(self, name):
        return int(
            next(line for line in self.lines if f'[{name}]: process started' in line)
            .split('[')[-1]
            .rstrip(']')
        )

    def text(self):
        return '\n'.join(self.lines)


@pytest.fixture
def node(demo_package):
    """Make an executable of the package `demo` from Python source; return its name."""
    return lambda source: demo_package('node', f'#!{sys.executable}\n{source}\n').name


@pytest.fixture
def launch(tmp_path):
    started = []

    def start(body, *arguments):
        path = tmp_path / 'test.launch.xml'
        path.write_text(f'<launch>{body}</launch>')
        started.append(Running(path, *arguments))
        return started[-1]

    yield start
    for running in started:
        if running.process.poll() is None:
            running.process.kill()
        running.code()


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f'/proc/{pid}/stat') as stat:
        return stat.read().rsplit(')', 1)[1].split()[0] != 'Z'


def wait_until_dead(pid):
    end = time.monotonic() + DEADLINE_S
    gone = threading.Event()
    while is_alive(pid):
        assert time.monotonic() < end, f'process {pid} is still there'
        gone.wait(0.02)


def test_runs_to_the_end_with_prefixed_output(launch, tmp_path):
    running = launch(
        '<executable name="greeter" cmd="sh -c \'echo hello; echo oops >&amp;2\'" output="screen"/>'
        '<executable name="quiet" cmd="echo hello"/>'
    )
    assert running.code() == 0
    assert {'[greeter-1] hello', '[greeter-1] oops'} <= set(running.lines)
    assert '[INFO] [greeter-1]: process has finished cleanly' in running.text()
    assert '[quiet-2] hello' not in running.lines
    [log] = tmp_path.glob('*/launch.log')
    assert '[quiet-2] hello' in log.read_text()


def test_a_death_is_reported_and_leaves_the_others_running(launch):
    running = launch(
        '<executable name="dies" cmd="sh -c \'exit 3\'"/>'
        '<executable name="lives" cmd="sleep 1000"/>'
    )
    running.wait_for('[dies-1]: process has died')
    assert 'exit code 3' in running.text()
    assert running.process.poll() is None
    assert running.end() == 0


@pytest.mark.parametrize(
    'command, code, cause',
    [
        ('true', 0, ''),
        ('false', 1, ', which the others need, ended with exit code 1: no error message'),
        ("sh -c 'kill -9 $$'", 1, ', which the others need, was killed by SIGKILL'),
        ('/nowhere', 1, "cannot be started: [Errno 2] No such file or directory: '/nowhere'"),
    ],
)
def test_on_exit_shutdown_ends_the_others(launch, command, code, cause):
    running = launch(
        '<executable name="lives" cmd="sleep 1000"/>'
        f'<executable cmd="{command}" on_exit="shutdown"/>'
    )
    assert running.code() == code
    assert '[lives-1]: process was ended by SIGINT' in running.text()
    assert running.lines[-1].endswith(cause) and ('ended because' in running.text()) == (code == 1)


def test_restarts_are_counted(launch):
    running = launch(
        '<executable name="again" cmd="false" respawn="true" respawn_max_retries="2"/>'
        '<executable cmd="sleep 1000"/>'
    )
    running.wait_for('[again-1]: has ended 3 times and is not started again')
    assert running.end() == 0
    assert sum('[again-1]: process started' in line for line in running.lines) == 3


def test_a_wrong_configuration_ends_the_launch_and_is_not_tried_again(launch, node):
    name = node('import sys; print("segmenter x is unknown", file=sys.stderr); sys.exit(2)')
    running = launch(
        f'<node pkg="demo" exec="{name}" name="sees" namespace="arm" respawn="true"/>'
        f'<executable cmd="sleep 1000"/>'
    )
    assert running.code() == 2
    assert (
        sum('process started' in line for line in running.lines if 'sees' in line or name in line)
        == 1
    )
    assert running.lines[-1].endswith('ended because /arm/sees cannot run: segmenter x is unknown')


def test_a_node_that_still_imports_is_ended_without_a_traceback(launch, node):
    name = node("import time; print('importing', flush=True); time.sleep(1000)")
    running = launch(f'<node pkg="demo" exec="{name}" name="late" output="screen"/>')
    running.wait_for('importing')
    assert running.end() == 0
    assert 'Traceback' not in running.text() and 'process was ended by SIGTERM' in running.text()


def test_a_second_launch_of_the_same_nodes_is_refused(launch, node, monkeypatch):
    name = node("import time; print('up', flush=True); time.sleep(1000)")
    body = f'<node pkg="demo" exec="{name}" name="driver" namespace="arm" output="screen"/>'
    monkeypatch.setenv('ROS_DOMAIN_ID', '91')
    first = launch(body)
    first.wait_for('] up')
    second = launch(body)
    assert second.code() == 2
    assert second.lines == [second.lines[0]]
    assert (
        f'/arm/driver already runs in ROS domain 91 (pid {first.pid(f"{name}-1")})'
        in second.lines[0]
    )
    for name, domain in (('other', '91'), ('driver', '92')):
        monkeypatch.setenv('ROS_DOMAIN_ID', domain)
        other = launch(body.replace('driver', name))
        other.wait_for('] up')
        assert other.end() == 0


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_whole_group_as_sigint(launch, number):
    script = "trap 'echo interrupted; exit 0' INT; sleep 1000 &amp; echo child $!; wait; wait"
    running = launch(
        f'<executable name="parent" cmd="bash -c &quot;{script}&quot;" output="screen"/>'
    )
    running.wait_for('child')
    child = int(next(line for line in running.lines if '[parent-1] child' in line).split()[-1])
    assert running.end(number) == 0
    assert '[parent-1] interrupted' in running.lines
    wait_until_dead(child)


def test_who_ignores_signals_is_killed_in_the_end(launch):
    running = launch(
        '<executable name="stubborn" output="screen" '
        'cmd="bash -c &quot;trap \'\' INT TERM; echo ready; while :; do sleep 1000; done&quot;"/>'
    )
    running.wait_for('ready')
    assert running.end() == 0
    assert "after receiving 'SIGINT', escalating to 'SIGTERM'" in running.text()
    assert "after receiving 'SIGTERM', escalating to 'SIGKILL'" in running.text()


def test_a_launcher_that_is_killed_leaves_nothing(launch):
    running = launch(
        '<executable name="orphan" output="screen" '
        'cmd="bash -c \'echo mine $$; exec sleep 1000\'"/>'
    )
    running.wait_for('[orphan-1] mine')
    pid = int(next(line for line in running.lines if '[orphan-1] mine' in line).split()[-1])
    running.process.kill()
    wait_until_dead(pid)
