"""Public third-party clients against the emulated controller (T18), by `make clients`."""

import contextlib
import json
import queue
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.watchdogs

sys.path.append(str(Path(sys.prefix) / 'clients'))  # where `make clients` and CI put them

rws = pytest.importorskip(
    'abb_robot_client.rws',
    reason='abb_robot_client is not installed here; `make clients` runs this test with it',
)

SIGNAL, VARIABLE = 'test_digital_io1', 'Module1/test_var_num'


class Cell:
    """Emulated controller in a separate process, its control port, and a client."""

    def __init__(self):
        options = ['--port', '0', '--control-port', '0', '--motors-on', '--json']
        command = [sys.executable, '-m', 'abb_rws_emulator.cli', *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        ports = json.loads(self._process.stdout.readline())
        self._control = f'http://127.0.0.1:{ports["control_port"]}'
        self.client = rws.RWS(f'http://127.0.0.1:{ports["port"]}')

    def act(self, name: str, **values) -> None:
        request = urllib.request.Request(
            f'{self._control}/actions/{name}', json.dumps(values).encode(), method='POST'
        )
        urllib.request.urlopen(request, timeout=60.0).close()

    def state(self) -> dict:
        with urllib.request.urlopen(f'{self._control}/state', timeout=60.0) as answer:
            return json.load(answer)

    def end(self) -> None:
        self.client.close()
        self._process.kill()
        self._process.communicate(timeout=60.0)


@pytest.fixture(scope='module')
def cell():
    running = Cell()
    yield running
    running.end()


def test_it_reads_state_targets_and_log(cell):
    client = cell.client
    assert (
        client.get_controller_state(),
        client.get_operation_mode(),
        client.get_speedratio(),
    ) == ('motoron', 'AUTO', 100.0)
    np.testing.assert_allclose(client.get_jointtarget().robax, [0, 0, 0, 0, 30, 0], atol=1e-3)
    np.testing.assert_allclose(client.get_robtarget().trans, [364.3538, 0, 594.0], atol=1e-3)
    assert [(task.name, task.active, task.motiontask) for task in client.get_tasks().values()] == [
        ('T_ROB1', True, True)
    ]
    assert client.read_event_log()


def test_it_runs_the_program_and_sets_the_speed(cell):
    client = cell.client
    client.resetpp()
    client.start('forever', ['T_ROB1'])
    assert client.get_execution_state().ctrlexecstate == 'running'
    client.stop()
    assert client.get_execution_state().ctrlexecstate == 'stopped'
    client.set_speedratio(50)
    assert client.get_speedratio() == 50.0
    client.deactivate_task('T_ROB1')
    client.activate_task('T_ROB1')


def test_it_writes_and_reads_back_signals_variables_and_files(cell):
    client = cell.client
    client.set_digital_io(SIGNAL, 1)
    client.set_analog_io('test_analog_io2', 8.5, 'DeviceNet', 'd651')
    assert (
        client.get_digital_io(SIGNAL) == 1
        and client.get_analog_io('test_analog_io2', 'DeviceNet', 'd651') == 8.5
    )
    client.set_rapid_variable_num(VARIABLE, 4.5)
    client.set_rapid_variable_num_array('test_array', [1.0, 2.0, 3.0])
    assert client.get_rapid_variable_num(VARIABLE) == 4.5
    np.testing.assert_array_equal(client.get_rapid_variable_num_array('test_array'), [1, 2, 3])
    assert any(
        item['_title'].endswith('test_var_num') for item in client.get_rapid_variables('T_ROB1')
    )
    folder = client.get_ramdisk_path()
    client.upload_file(f'{folder}/a.txt', b'text')
    assert 'a.txt' in client.list_files(folder) and client.read_file(f'{folder}/a.txt') == b'text'
    client.delete_file(f'{folder}/a.txt')
    assert 'a.txt' not in client.list_files(folder)


def test_it_cannot_write_in_manual_mode(cell):
    cell.act('operation_mode', mode='MANR')
    try:
        with pytest.raises(rws.ABBException):
            cell.client.set_rapid_variable_num(VARIABLE, 1.0)
    finally:
        cell.act('operation_mode', mode='AUTO')


def test_it_receives_events_and_uses_one_session(cell):
    client, events = cell.client, queue.Queue()
    high = rws.SubscriptionResourcePriority.High
    medium = rws.SubscriptionResourcePriority.Medium
    kinds = rws.SubscriptionResourceType
    wanted = [
        rws.SubscriptionResourceRequest(kinds.Signal, high, SIGNAL),
        rws.SubscriptionResourceRequest(kinds.PersVar, high, 'test_var_num'),
        rws.SubscriptionResourceRequest(kinds.ControllerState, medium),
        rws.SubscriptionResourceRequest(kinds.ExecutionState, medium),
        rws.SubscriptionResourceRequest(kinds.Elog, medium),
    ]
    subscription = client.subscribe(wanted, events.put)
    try:
        while cell.state()['sockets'] == 0:
            with contextlib.suppress(queue.Empty):
                events.get(timeout=0.05)
        client.set_digital_io(SIGNAL, 1 - client.get_digital_io(SIGNAL))
        client.set_rapid_variable_num(VARIABLE, client.get_rapid_variable_num(VARIABLE) + 1)
        client.set_controller_state('motoron')
        client.start('forever')
        client.stop()
        client.set_controller_state('motoroff')
        missing = {
            'Signal',
            'VariableValue',
            'RAPIDExecutionState',
            'ControllerState',
            'EventLogEntryEvent',
        }
        while missing:
            missing.discard(type(events.get(timeout=60.0)).__name__)
    finally:
        subscription.close()
    assert cell.state()['sessions_opened'] == 1
