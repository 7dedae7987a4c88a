"""The cycle of both devices without threads, on a clock that the test moves."""

import logging
from contextlib import closing

import numpy as np
import pytest

from pneumatic_driver.cycle import LINK_TIMEOUT_S
from pneumatic_driver.driver import Driver
from pneumatic_driver.errors import CommandError, LinkError, RefusedError

from ..bench import COMMAND_TIMEOUT_S, PERIOD_S, BoardBench, GripperBench


def test_follows_commands(bench):
    latest = bench.armed().cycle.latest
    assert latest.at_s == bench.now_s and latest.round_trip_s == 0.0
    assert latest.pressures_pa == pytest.approx(bench.targets_pa)
    assert latest.targets_pa == pytest.approx(bench.targets_pa) and latest.running
    assert bench.reasons == []


def test_stale_commands_vent_and_the_next_command_moves_again(bench):
    bench.armed().run(COMMAND_TIMEOUT_S - PERIOD_S, command=False)
    assert bench.runs and not bench.cycle.stale
    bench.run(3 * PERIOD_S, command=False)
    assert not bench.runs and bench.cycle.stale and bench.cycle.stale_commands == 1
    bench.run(0.2)
    assert bench.runs and not bench.cycle.stale and bench.reasons == []


def test_waiting_for_the_first_command_is_not_a_fault(bench, caplog):
    bench.do('connect')
    bench.do('arm')
    bench.run(2 * COMMAND_TIMEOUT_S, command=False)
    cycle = bench.cycle
    assert cycle.armed and cycle.stale and not cycle.commanded and cycle.stale_commands == 0
    assert 'no command' not in caplog.text


def test_commands_that_end_at_ambient_pressure_are_no_fault(bench, caplog):
    caplog.set_level(logging.INFO)
    bench.armed().run(0.1, targets_pa=np.zeros_like(bench.targets_pa))
    bench.run(2 * COMMAND_TIMEOUT_S, command=False)
    cycle = bench.cycle
    assert cycle.armed and cycle.stale and not cycle.commanded and cycle.stale_commands == 0
    (record,) = [r for r in caplog.records if 'ambient pressure' in r.getMessage()]
    assert max(r.levelno for r in caplog.records) == record.levelno == logging.INFO
    bench.run(0.2)
    assert bench.runs and cycle.commanded


def test_vent_disarms_and_arming_does_not_restore_set_points(bench):
    bench.armed().cycle.ask_vent()
    bench.run(2 * PERIOD_S)
    assert not bench.runs and not bench.cycle.armed
    with pytest.raises(CommandError, match='activate the driver'):
        bench.cycle.command(bench.targets_pa)
    bench.do('arm')
    bench.run(5 * PERIOD_S, command=False)
    assert bench.cycle.armed and not np.any(bench.cycle.latest.targets_pa)


def test_the_exchange_that_confirms_a_vent_is_the_latest(bench):
    bench.armed().do('vent')
    assert bench.cycle.latest.vented and not bench.runs


@pytest.mark.parametrize('bad_pa', [np.nan, np.inf, -np.inf, 130e3, -130e3])
def test_refused_command_changes_nothing(bench, bad_pa):
    targets_pa = bench.targets_pa.copy()
    bench.armed()
    targets_pa[0] = bad_pa
    with pytest.raises(CommandError, match=r'channel 0: .* Pa is outside \[.*\] Pa: nothing was'):
        bench.cycle.command(targets_pa)
    with pytest.raises(CommandError, match='2 set points|7 set points'):
        bench.cycle.command([*bench.targets_pa, 0.0])
    bench.run(2 * PERIOD_S, command=False)
    assert bench.cycle.latest.targets_pa == pytest.approx(bench.targets_pa)


def test_a_latched_fault_vents_and_must_be_cleared(bench):
    bench.armed()
    gripper = isinstance(bench, GripperBench)
    bench.forced_pa = [131e3] if gripper else [0, 0, 0, 0, 0, 109e3]
    bench.run(3 * PERIOD_S)
    fault = 'pressure_0_out_of_range' if gripper else 'over_pressure_5'
    assert fault in bench.reasons[0] and not bench.runs
    bench.forced_pa = None
    bench.run(2 * PERIOD_S)
    with pytest.raises(RefusedError, match=f'latched {fault}.*: find the cause, then clear'):
        bench.do('arm')
    bench.do('clear_faults')
    bench.do('arm')
    bench.run(0.2)
    assert bench.runs


def test_a_frozen_sensor_is_found_when_the_pressure_should_change(bench):
    bench.armed().forced_pa = bench.targets_pa
    bench.run(1.0)
    assert bench.reasons == []  # a frozen reading at its set point is a steady pressure
    away_pa = bench.targets_pa.copy()
    away_pa[0] = 0.5 * away_pa[0] - 10e3
    bench.run(0.48, targets_pa=away_pa)
    assert bench.reasons == []
    bench.run(0.1, targets_pa=away_pa)
    assert bench.reasons == ['latched pressure_0_stuck'] and not bench.runs


def test_a_restarted_device_is_not_driven_on(bench):
    bench.armed().restart()
    bench.run(2 * PERIOD_S)
    assert bench.reasons[0].startswith(
        ('the board vented itself', 'its set points are gone: it was restarted')
    )
    assert not bench.runs and not bench.cycle.armed


def test_a_driver_that_pauses_loses_the_board_to_its_watchdog(board_bench):
    board_bench.armed().pass_time(0.4)
    assert not board_bench.runs and not board_bench.logic.held
    board_bench.run(2 * PERIOD_S, command=False)
    assert not board_bench.cycle.armed and 'watchdog' in board_bench.reasons[0]
    board_bench.do('arm')  # clears a fault of the watchdog
    board_bench.run(0.2)
    assert board_bench.runs


@pytest.mark.parametrize(
    'writes',
    [[(3, [1100])], [(1, [0])], [(1, [0, 1, 0, 0x10000 - 800])], [(5, [4]), (3, [1100])]],
    ids=['target', 'off', 'vacuum', 'heartbeat and target'],
)
def test_a_foreign_write_to_the_gripper_disarms_and_is_latched(gripper_bench, writes):
    gripper_bench.armed()
    for address, values in writes:
        assert gripper_bench.logic.write(address, values) == 0
    gripper_bench.run(3 * PERIOD_S)
    assert gripper_bench.reasons[0].startswith(
        'latched foreign_master: its set points are not those that were written: another client'
    )
    assert not gripper_bench.runs
    with pytest.raises(RefusedError, match='latched foreign_master: find the cause, then clear'):
        gripper_bench.do('arm')


def test_a_lost_link_disarms_and_returns_vented(bench):
    bench.armed().device._modbus._client.close()
    bench.pass_time(LINK_TIMEOUT_S)  # the hold on the board lapses
    bench.run(2 * PERIOD_S, command=False)
    assert not bench.cycle.armed and 'link lost' in bench.reasons[0]
    assert bench.device.connected and not bench.runs and bench.cycle.link_error is None
    bench.run(0.2)
    assert not bench.runs


def test_a_device_can_be_vented_without_a_connection(board_bench):
    other = BoardBench().armed()
    board_bench.logic = other.logic
    board_bench.do('vent')
    assert not board_bench.runs and board_bench.logic.faults == 1 << 14  # foreign to the other host


def test_a_driver_without_a_rate_exchanges_on_request(board_bench):
    clock = lambda: board_bench.now_s  # noqa: E731
    with closing(Driver(board_bench.device, None, COMMAND_TIMEOUT_S, clock=clock)) as driver:
        driver.exchange_now()  # not connected yet: nothing happens
        assert driver.latest is None
        driver.connect()
        driver.arm()
        for _ in range(10):
            board_bench.pass_time(PERIOD_S)
            driver.command(board_bench.targets_pa)
            driver.exchange_now()
            assert driver.latest.at_s == board_bench.now_s
        assert board_bench.runs
        driver.vent()
        assert not board_bench.runs and not driver.armed
        driver.arm()
        driver.disconnect()
        driver.exchange_now()
        assert not board_bench.runs and not board_bench.device.connected


def test_an_unexpected_error_vents(bench):
    def broken(_exchange) -> None:
        raise ZeroDivisionError('broken')

    reasons = []
    with closing(Driver(bench.device, None, COMMAND_TIMEOUT_S, broken, reasons.append)) as driver:
        driver.connect()
        driver.arm()
        driver.exchange_now()
        assert not bench.runs and not driver.armed and 'broken' in reasons[0]


def test_a_call_that_raises_an_unexpected_error_vents(board_bench, monkeypatch):
    with closing(Driver(board_bench.device, None, COMMAND_TIMEOUT_S)) as driver:
        driver.connect()
        with monkeypatch.context() as patch:
            patch.setattr(board_bench.device, 'enable', None)
            with pytest.raises(LinkError, match='the exchange with the device failed: TypeError'):
                driver.arm()
            assert not board_bench.runs and not board_bench.device.connected
