"""The driver on a board: it vents when commands, link or board fail, and nothing comes back by itself."""

import asyncio
import contextlib
import time

import numpy as np
import pytest

from pneumatic_driver.board import Board
from pneumatic_driver.driver import Driver
from pneumatic_driver.errors import CommandError, LinkError, RefusedError
from pneumatic_driver.register_map import load_map

from ..boards import wait_for
from ..proxy import Proxy

TARGETS = [10_000.0, -20_000.0, 30_000.0, -50_000.0, 5_000.0, 10.0]


@pytest.fixture
def proxy(tcp_board):
    proxy = Proxy(tcp_board.board.port)
    yield proxy
    proxy.stop()


def moving(recorder, rig, targets_pa=TARGETS):
    """Arm, and command until the board follows."""
    recorder.driver.connect()
    recorder.driver.arm()
    wait_for(lambda: [recorder.driver.command(targets_pa), rig.plant.follows(targets_pa)][1], what='the plant following')
    return recorder.driver


def keep_commanding(driver, until, deadline_s=3.0):
    def step():
        with contextlib.suppress(CommandError):
            driver.command(TARGETS)
        return until()

    return wait_for(step, deadline_s)


def test_follows_commands_at_50_hz(rig, make_driver):
    recorder = make_driver(rig)
    driver = moving(recorder, rig)
    first, started_s = len(recorder.exchanges), time.monotonic()
    keep_commanding(driver, lambda: len(recorder.exchanges) >= first + 50)
    rate_hz = 50 / (time.monotonic() - started_s)
    assert rate_hz < 55  # never faster than asked; how much slower depends on the machine
    assert recorder.reasons == []
    at_s = [e.at_s for e in recorder.exchanges]
    assert at_s == sorted(at_s)


def test_stale_command_vents_and_the_next_command_moves_again(rig, make_driver):
    recorder = make_driver(rig, command_timeout_s=0.15)
    driver = moving(recorder, rig)
    driver.command(TARGETS)
    commanded_s = time.monotonic()
    wait_for(lambda: rig.plant.vented)
    vented_s = rig.plant.changes[-1][0]
    assert vented_s - commanded_s >= 0.10  # not before it was due
    assert driver.stale and driver.armed and recorder.reasons == []
    keep_commanding(driver, lambda: rig.plant.follows(TARGETS))
    assert not driver.stale


def test_vent_disarms(rig, make_driver):
    driver = moving(make_driver(rig), rig)
    driver.vent()
    wait_for(lambda: rig.plant.vented)
    changes = len(rig.plant.changes)
    with pytest.raises(CommandError, match='activate the driver'):
        driver.command(TARGETS)
    driver.arm()
    latest = driver.latest
    wait_for(lambda: driver.latest is not latest and driver.latest.running)
    assert len(rig.plant.changes) == changes  # armed again, and nothing moved: the old set points are gone


def test_vent_without_connect(rig, make_driver):
    rig.write(107, [63, 2])
    rig.write(100, [1000] * 6 + [1])
    wait_for(lambda: not rig.plant.vented)
    rig.write(106, [2])  # a heartbeat: its watchdog gives us 0.3 s more
    make_driver(rig).driver.vent()
    wait_for(lambda: rig.plant.vented)
    assert rig.board_faults() == 0


def test_close_vents(rig, make_driver):
    driver = moving(make_driver(rig), rig)
    driver.close()
    wait_for(lambda: rig.plant.vented)
    assert rig.board_faults() == 0  # the driver vented it, not the board's watchdog
    driver.close()


@pytest.mark.parametrize('bad', [float('nan'), float('inf'), 100_020.0])
def test_refused_command_changes_nothing(tcp_board, make_driver, bad):
    driver = moving(make_driver(tcp_board), tcp_board)
    changes = len(tcp_board.plant.changes)
    with pytest.raises(CommandError):
        driver.command([bad, *TARGETS[1:]])
    keep_commanding(driver, lambda: driver.latest.targets_pa is not None)
    assert len(tcp_board.plant.changes) == changes


def test_fault_of_the_board_disarms_and_arming_needs_the_key(rig, make_driver):
    recorder = make_driver(rig)
    driver = moving(recorder, rig)
    rig.plant.forced_pa = np.array([0, 0, 0, 0, 0, 109e3])
    keep_commanding(driver, lambda: recorder.reasons)
    assert recorder.reasons == ['the board vented itself: over_pressure_5']
    assert rig.plant.vented
    rig.plant.forced_pa = None
    with pytest.raises(RefusedError, match='latched over_pressure_5'):
        driver.arm()
    driver.clear_faults()
    driver.arm()


def test_restarted_board_is_not_driven_on(tcp_board, make_driver):
    recorder = make_driver(tcp_board)
    driver = moving(recorder, tcp_board)
    tcp_board.board.logic.__init__()  # a reset while the connection stays
    keep_commanding(driver, lambda: recorder.reasons)
    assert recorder.reasons[0].startswith('the board vented itself')
    keep_commanding(driver, lambda: driver.latest.targets_pa is None)
    assert tcp_board.plant.vented


def test_second_driver_on_the_same_board_vents_the_first(tcp_board, make_driver):
    first = make_driver(tcp_board)
    driver = moving(first, tcp_board)
    make_driver(tcp_board).driver.connect()
    keep_commanding(driver, lambda: first.reasons)
    assert first.reasons == ['the board vented itself: it left its run mode']
    wait_for(lambda: tcp_board.plant.vented)


def test_silent_board_is_noticed_and_vents_itself(tcp_board, proxy, make_driver):
    recorder = make_driver(proxy)
    driver = moving(recorder, tcp_board)
    proxy.frozen, frozen_s = True, tcp_board.plant.board_clock_s()
    keep_commanding(driver, lambda: recorder.reasons and tcp_board.plant.vented)
    assert recorder.reasons[0].startswith('link lost')
    assert tcp_board.plant.changed_board_s - frozen_s <= 0.3
    with pytest.raises(CommandError, match='activate the driver'):
        driver.command(TARGETS)


@pytest.mark.parametrize('how', ['cut', 'power'])
def test_reconnects_within_a_second_and_replays_nothing(tcp_board, proxy, make_driver, how):
    recorder = make_driver(proxy)
    took_s = []
    while not took_s or (took_s[-1] > 1.0 and len(took_s) < 3):  # a busy machine gets three attempts
        driver = moving(recorder, tcp_board)
        recorder.reasons.clear()
        if how == 'power':
            tcp_board.stop()
            tcp_board.restart()
        lost_s = time.monotonic()
        proxy.cut()
        keep_commanding(driver, lambda: recorder.reasons)
        back = keep_commanding(driver, lambda lost_s=lost_s: [e for e in recorder.exchanges if e.at_s > lost_s and e.targets_pa is None])
        took_s.append(back[0].at_s - lost_s)
        seen, changes = len(recorder.exchanges), len(tcp_board.plant.changes)
        keep_commanding(driver, lambda seen=seen: len(recorder.exchanges) > seen + 10)
        assert tcp_board.plant.vented and len(tcp_board.plant.changes) == changes
    assert took_s[-1] <= 1.0


def test_slow_board_gets_no_write_twice_and_its_late_answers_count_for_nothing(tcp_board, proxy):
    async def scenario():
        board = Board(load_map('valve_board').with_link(**proxy.link))
        await board.connect()
        await board.enable()
        proxy.answer_delay_s = 0.3
        with pytest.raises(LinkError, match='last good answer'):
            await board.exchange([100.0] * 6)
        proxy.answer_delay_s = 0.0
        for _ in range(2):  # the late answer arrives now; it belongs to no request
            await asyncio.sleep(0.2)
            try:
                exchange = await board.exchange([200.0] * 6)
            except LinkError:
                continue
            np.testing.assert_allclose(exchange.targets_pa, 200.0)
        board.close()

    asyncio.run(scenario())
    writes = [request for request in proxy.requests if request[1] == 23]
    assert len(writes) == 3 and len(set(writes)) == 3  # each exchange once, told apart by its heartbeat


def test_late_answer_on_a_serial_line_is_told_by_its_heartbeat(tcp_board):
    async def scenario():
        board = Board(load_map('valve_board').with_link(**tcp_board.link))
        await board.connect()
        await board.enable()
        request = board._client.readwrite_registers
        late = await request(read_address=0, read_count=19, write_address=100, values=[0] * 6 + [77], device_id=1)

        async def one_behind(**arguments):
            await request(**arguments)
            return late

        board._client.readwrite_registers = one_behind
        with pytest.raises(LinkError, match='answer is to an earlier request'):
            await board.exchange([0.0] * 6)
        board.close()

    asyncio.run(scenario())


def test_error_in_the_drivers_own_loop_stops_the_board(tcp_board):
    reasons = []

    def broken(exchange):
        if exchange.targets_pa is not None and exchange.drives_pa.any():
            raise KeyError('a bug')

    driver = Driver(Board(load_map('valve_board').with_link(**tcp_board.link)), 50.0, 0.5, broken, reasons.append)
    driver.connect()
    driver.arm()
    keep_commanding(driver, lambda: reasons and tcp_board.plant.vented)
    assert "KeyError('a bug')" in reasons[0] and not driver.armed
    driver.close()
