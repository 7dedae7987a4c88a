"""`softarm bench cell`: its bars, its input, and its parts in the short form."""

import json
import socket

import pytest

from soft_arm_experiments.cell import gripper_figures, gripper_soak
from soft_arm_experiments.cell.tcp_relay import TcpRelay
from soft_arm_experiments.cli import bench_cell as bench_cell_command

pytestmark = pytest.mark.steady_clock

GOOD = {
    'vent_after_comm_loss_s': 0.42,
    'watchdog_vent_s': 0.25,
    'frozen_peer_detect_s': 0.8,
    'controller_sessions_used': 1,
    'leaks': [],
    'finger_error_percent': {'-90': 0.1, '50': 0.5, '100': 0.4, '120': 0.2},
}


def test_every_bar_can_be_missed():
    assert bench_cell_command.missed_bars(GOOD) == []
    worse = {
        'vent_after_comm_loss_s': 0.51,
        'watchdog_vent_s': 0.31,
        'frozen_peer_detect_s': 1.01,
        'controller_sessions_used': 2,
        'leaks': ['a thread'],
        'finger_error_percent': GOOD['finger_error_percent'] | {'50': 0.9},
    }
    for key, value in worse.items():
        assert bench_cell_command.missed_bars(GOOD | {key: value}) == [key]
    assert bench_cell_command.missed_bars(GOOD | {'watchdog_vent_s': float('nan')}) == [
        'watchdog_vent_s'
    ]


@pytest.mark.parametrize(
    'arguments',
    [['--soak-minutes', '0'], ['--soak-minutes', 'nan'], ['--seed', '-1'], ['--robot', 'no_such']],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, arguments):
    assert bench_cell_command.main(arguments) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if 'softarm bench cell:' in line]
    assert len(lines) == 1


def test_json_has_the_promised_keys_and_a_missed_bar_is_exit_code_1(capsys, monkeypatch):
    measured = GOOD | {
        'joint_state_age_p99_s': 0.1,
        'joint_state_rate_hz': 12.0,
        'soak_minutes': 0.5,
        'soak_faults': 9,
    }
    for leaks, code in (([], 0), (['a socket'], 1)):
        monkeypatch.setattr(
            bench_cell_command, '_measure', lambda options, leaks=leaks: measured | {'leaks': leaks}
        )
        assert bench_cell_command.main(['--json']) == code
        assert set(json.loads(capsys.readouterr().out)) == set(measured)
    assert bench_cell_command.main([]) == 1
    assert 'missed: none' in capsys.readouterr().out


def test_what_is_promised_of_the_pneumatics(monkeypatch):
    monkeypatch.setattr(gripper_figures, 'REPEATS', 1)
    figures = gripper_figures.figures('four_piece_finger', 1, lambda: None)
    assert 0.1 < figures['watchdog_vent_s'] < 0.3 + 0.2  # the second: a busy machine
    assert 0.2 < figures['vent_after_comm_loss_s'] < 0.5 + 0.3


def test_a_short_soak_leaves_nothing_behind():
    report = gripper_soak.soak(4.0, 3)
    assert report['leaks'] == [] and sum(report['faults'].values()) >= 2


def test_a_silent_relay_passes_nothing_and_closes_nothing():
    with (
        socket.create_server(('127.0.0.1', 0)) as device,
        TcpRelay(device.getsockname()[1]) as relay,
    ):
        client = socket.create_connection(('127.0.0.1', relay.port))
        served, _ = device.accept()
        with client, served:
            client.sendall(b'a')
            served.settimeout(5.0)
            assert served.recv(1) == b'a'
            relay.silent = True
            client.sendall(b'b')
            served.settimeout(0.3)
            with pytest.raises(TimeoutError):
                served.recv(1)
            relay.cut()
            client.settimeout(5.0)
            with pytest.raises(ConnectionError):
                if client.recv(1) == b'':
                    raise ConnectionError
