"""Findings of `softarm doctor` in reports on small graphs."""

import sys
from datetime import datetime

import pytest

from softarm_cli.doctor.report import Diagnostic, Report, Topic
from softarm_cli.doctor.systems import SYSTEMS
from softarm_cli.graph.running_nodes import RunningNode
from softarm_cli.launching.description import Process
from softarm_cli.launching.logs import Launch, LaunchedProcess, last_launch
from softarm_cli.launching.processes import run

ARM = [f'/left/{name}' for name in SYSTEMS[0].nodes] + ['/camera/camera']
OK, WARN, ERROR = 0, 1, 2  # of DiagnosticStatus
COMMAND = 'softarm launch launch/sim.launch.xml namespace:=left'


def now_s():
    return datetime.now().timestamp()


def report(
    names=ARM,
    unresponsive=(),
    topics=(),
    diagnostics=None,
    processes=(),
    last=None,
    running=True,
    state='active',
):
    nodes = [RunningNode(name, 100 + i) for i, name in enumerate(names)]
    statuses = {f'/{name}': Diagnostic(*status) for name, status in (diagnostics or {}).items()}
    launches = [Launch(COMMAND, tuple(processes))] if running else []
    states = {name: state for name in names if name.endswith('_driver')}
    return Report(nodes, states, list(unresponsive), list(topics), statuses, launches, last)


def lines(found):
    return [str(finding) for finding in found.findings()]


def test_a_whole_arm_has_nothing_wrong():
    assert lines(report()) == []
    assert lines(report(['/left/forward_kinematics'])) == []  # one node is not an arm


def test_a_killed_node_is_named_with_its_signal_and_not_blamed_on_the_load():
    names = [name for name in ARM if 'tip_controller' not in name]
    died = LaunchedProcess('tip_controller-5', 7, '/left/tip_controller', -9, now_s() - 3.0)
    [line] = lines(report(names, processes=[died]))
    assert (
        line.startswith('/left/tip_controller was killed by SIGKILL 3 s ago')
        and COMMAND in line
        and 'load' not in line
    )


def test_a_missing_node_is_named():
    [line] = lines(report([name for name in ARM if 'tip_tracker' not in name]))
    assert 'node /left/tip_tracker is missing' in line and COMMAND in line
    [line] = lines(report(ARM[:-1], running=False))
    assert (
        '/camera/* (started by virtual_rig or realsense2_camera) is missing' in line
        and 'softarm launch' in line
    )


def test_a_doubled_node_is_named_with_its_processes():
    [line] = lines(report([*ARM, '/left/tip_controller']))
    assert (
        'node /left/tip_controller runs 2 times (pid 104, pid 106)' in line
        and 'kill -INT 106' in line
    )


def test_an_unresponsive_node_is_named_with_its_process():
    [line] = lines(report(unresponsive=['/left/tip_controller']))
    assert '/left/tip_controller (pid 104) runs, but does not answer' in line


def test_diagnostics_are_one_line_each_with_a_remedy():
    found = lines(
        report(
            diagnostics={
                'left/pneumatic_driver': (
                    ERROR,
                    'link lost: no answer\nwithin 0.2 s',
                    'tcp a:1',
                    'check power and cable',
                ),
                'left/tip_controller': (WARN, 'ring lost: check that nothing covers it'),
                'left/tip_tracker': (OK, 'ring in view', ''),
            }
        )
    )
    driver, controller = found
    assert 'link lost: no answer within 0.2 s' in driver
    assert driver.endswith('Check power and cable')
    assert 'check that nothing covers it' in controller


def test_an_inactive_driver_is_reported_with_the_command_that_activates_it():
    [line] = lines(report(state='inactive'))
    assert 'softarm node activate /left/pneumatic_driver' in line
    fault = {'left/pneumatic_driver': (ERROR, 'latched pressure_0_stuck', '', 'check the valve')}
    [line] = lines(report(state='inactive', diagnostics=fault))
    assert 'Check the valve' in line


def test_a_driver_vented_between_goals_is_not_a_fault():
    idle = {'left/pneumatic_driver': (WARN, 'vented: no commands', '', '', True)}
    assert lines(report(diagnostics=idle)) == []


def test_two_drivers_of_one_device_are_named():
    drives = (OK, 'active', 'tcp 127.0.0.1:5020')
    [line] = lines(
        report(
            [*ARM, '/right/pneumatic_driver'],
            diagnostics={'left/pneumatic_driver': drives, 'right/pneumatic_driver': drives},
        )
    )
    assert (
        '/left/pneumatic_driver and /right/pneumatic_driver both drive '
        'the device at tcp 127.0.0.1:5020' in line
    )


def test_a_silent_topic_is_named_unless_its_node_reports_the_reason():
    topics = [
        Topic('/left/tip_pose', None, 30.0, ('/left/tip_tracker',)),
        Topic('/left/pressures', 49.0, 50.0, ('/left/pneumatic_driver',)),
    ]
    [line] = lines(report(topics=topics))
    assert '/left/tip_pose is silent, although /left/tip_tracker runs' in line
    [line] = lines(
        report(topics=topics, diagnostics={'left/tip_tracker': (ERROR, 'ring lost: too dark', '')})
    )
    assert 'ring lost: too dark' in line


def test_a_slow_topic_is_named_and_a_fast_one_is_no_fault():
    """Motion capture gives 100 poses a second, a camera of another rate more images."""
    topics = [
        Topic('/left/tip_pose', 100.0, 30.0, ('/left/tip_tracker',)),
        Topic('/left/pressures', 39.0, 50.0, ('/left/pneumatic_driver',)),
    ]
    [line] = lines(report(topics=topics))
    assert '/left/pressures at 39.0 Hz instead of 50' in line and 'tip_pose' not in line


def test_nodes_omitted_by_a_launch_are_not_missing():
    declared = [
        LaunchedProcess(f'{name}-1', 1, f'/left/{name}')
        for name in ('pneumatic_driver', 'forward_kinematics')
    ]
    names = ['/left/pneumatic_driver', '/left/forward_kinematics', '/camera/camera']
    assert lines(report(names, processes=declared)) == []


def test_a_launch_log_reports_the_ends_of_processes(tmp_path, monkeypatch):
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path))
    name = ('--ros-args', '-r', '__node:=driver', '-r', '__ns:=/left')
    script = 'import sys; print("no board at 1.2.3.4", file=sys.stderr, flush=True); sys.exit(1)'
    driver = Process('driver-1', (sys.executable, '-c', script, *name), {}, shutdown_on_exit=True)
    assert run([driver, Process('good-2', ('true',), {})]) == 1
    found = last_launch()
    driver = next(process for process in found.processes if process.label == 'driver-1')
    assert (driver.name, driver.exit_code, driver.has_died) == ('/left/driver', 1, True)
    assert 'ended with exit code 1' in driver.end and 'no board at 1.2.3.4' in driver.end
    [line] = lines(report([], running=False, last=found))
    assert (
        line.startswith('nothing runs: the last launch ended 0 s ago because driver-1')
        and 'no board at 1.2.3.4' in line
    )


@pytest.mark.parametrize('code, words', [(-11, 'killed by SIGSEGV'), (1, 'exit code 1')])
def test_the_end_of_a_process_is_described(code, words):
    assert words in LaunchedProcess('a-1', 1, exit_code=code, ended_s=now_s()).end
