"""`softarm bench cell`: its input, its exit status, and short runs of its parts."""

import json

import pytest

from soft_arm_benchmarks import bench_cell
from soft_arm_benchmarks.cell import gripper_figures

pytestmark = pytest.mark.steady_clock


@pytest.mark.parametrize(
    'arguments',
    [['--soak-minutes', '0'], ['--soak-minutes', 'nan'], ['--seed', '-1'], ['--robot', 'no_such']],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, arguments):
    assert bench_cell.main(arguments) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if 'softarm bench cell:' in line]
    assert len(lines) == 1


def test_a_leak_is_exit_code_1(capsys, monkeypatch):
    figures = {
        'vent_after_comm_loss_s': 0.42,
        'watchdog_vent_s': 0.25,
        'frozen_peer_detect_s': 0.8,
        'controller_sessions_used': 1,
        'finger_error_percent': {'-90': 0.1, '50': 0.5, '100': 0.4, '120': 0.2},
    }
    for leaks, code in (([], 0), (['a socket'], 1)):
        measured = figures | {'leaks': leaks}
        monkeypatch.setattr(bench_cell, '_measure', lambda options, measured=measured: measured)
        assert bench_cell.main(['--json']) == code
        assert json.loads(capsys.readouterr().out) == measured | {'missed': ['leaks'] * code}


def test_the_gripper_vents_in_time_after_each_fault(monkeypatch):
    monkeypatch.setattr(gripper_figures, 'REPEATS', 1)
    figures = gripper_figures.figures('four_piece_finger', 1, lambda: None)
    assert 0.1 < figures['watchdog_vent_s'] < 0.3 + 0.2  # the second: a busy machine
    assert 0.2 < figures['vent_after_comm_loss_s'] < 0.5 + 0.3
