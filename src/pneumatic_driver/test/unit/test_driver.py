"""The driver on every device.

It vents when commands, link or device fail, and nothing comes back by itself.
"""

import asyncio
import contextlib
import itertools
import logging
import re
import threading
import time

import numpy as np
import pytest

from pneumatic_driver.driver import Driver
from pneumatic_driver.errors import CommandError, HeldError, LinkError, RefusedError
from pneumatic_driver.hold import own_name
from soft_arm_sim.devices.modbus_server import RELEASE_S
from steady_clock import turns

from ..boards import KeepAlive, answered, wait_for
from ..conftest import device_of

pytestmark = pytest.mark.steady_clock


def moving(recorder, rig):
    """Arm, and command until the device follows."""
    for act in (recorder.driver.connect, recorder.driver.arm):
        assert not answered(act)
    return keep_commanding(
        recorder.driver, rig, lambda: rig.plant.follows(rig.targets_pa) and recorder.driver
    )


def keep_commanding(driver, rig, until, deadline_s=10.0, targets_pa=None):
    with turns() as own:

        def step():
            own.turn()
            with contextlib.suppress(CommandError):
                driver.command(targets_pa or rig.targets_pa)
            return until()

        return wait_for(step, deadline_s)


def test_follows_commands_at_50_hz(rig, make_driver):
    recorder = make_driver(rig)
    driver = moving(recorder, rig)
    first, started_s = len(recorder.exchanges), time.monotonic()
    keep_commanding(driver, rig, lambda: len(recorder.exchanges) >= first + 50)
    rate_hz = 50 / (time.monotonic() - started_s)
    assert rate_hz < 55  # never faster than asked; how much slower depends on the machine
    assert recorder.reasons == []
    at_s = [e.at_s for e in recorder.exchanges]
    assert at_s == sorted(at_s)


def test_stale_command_vents_and_the_next_command_moves_again(rig, make_driver):
    recorder = make_driver(rig, command_timeout_s=0.15)
    driver = moving(recorder, rig)
    driver.command(rig.targets_pa)
    commanded_s = time.monotonic()
    wait_for(lambda: rig.plant.vented)
    vented_s = rig.plant.changes[-1][0]
    assert vented_s - commanded_s >= 0.10  # not before it was due
    assert driver.stale and driver.armed and recorder.reasons == []
    keep_commanding(driver, rig, lambda: rig.plant.follows(rig.targets_pa))
    assert not driver.stale


def test_waiting_for_the_first_command_is_no_fault(rig, make_driver, caplog):
    driver = make_driver(rig, command_timeout_s=0.1).driver
    driver.connect()
    driver.arm()
    wait_for(lambda: driver.stale)
    assert driver.armed and not driver.commanded and driver.stale_commands == 0
    assert 'no command' not in caplog.text


def test_vent_disarms(rig, make_driver):
    driver = moving(make_driver(rig), rig)
    driver.vent()
    wait_for(lambda: rig.plant.vented)
    changes = len(rig.plant.changes)
    with pytest.raises(CommandError, match='activate the driver'):
        driver.command(rig.targets_pa)
    driver.arm()
    latest = driver.latest
    wait_for(lambda: driver.latest is not latest and driver.latest.running)
    # Armed again, and nothing moved: the old set points are gone.
    assert len(rig.plant.changes) == changes


def test_vent_without_connect(rig, make_driver):
    rig.drive_from_elsewhere(1)
    wait_for(lambda: not rig.plant.vented)
    rig.drive_from_elsewhere(2)  # a heartbeat: its watchdog gives us 0.25 s more
    make_driver(rig).driver.vent()
    wait_for(lambda: rig.plant.vented)
    assert not rig.watchdog_tripped()


def test_close_vents(rig, make_driver):
    driver = moving(make_driver(rig), rig)
    driver.close()
    wait_for(lambda: rig.plant.vented)
    assert not rig.watchdog_tripped()  # the driver vented it, not the device's watchdog
    driver.close()


@pytest.mark.parametrize('delay_s', [0.0, 0.1, 0.4])
def test_a_device_that_is_told_to_end_before_its_driver_is_vented_by_the_driver(
    tcp_rig, make_driver, caplog, delay_s
):
    driver = moving(make_driver(tcp_rig), tcp_rig)
    ending = threading.Thread(target=tcp_rig.stop, args=(RELEASE_S,))
    ending.start()
    end_s = time.monotonic() + delay_s
    keep_commanding(driver, tcp_rig, lambda: time.monotonic() >= end_s)
    assert ending.is_alive() and not tcp_rig.plant.vented
    driver.close()
    ending.join(5.0)
    assert tcp_rig.plant.vented and not tcp_rig.watchdog_tripped()
    assert 'venting failed' not in caplog.text


@pytest.mark.parametrize('bad', [float('nan'), float('inf'), None])
def test_refused_command_changes_nothing(tcp_rig, make_driver, bad):
    driver = moving(make_driver(tcp_rig), tcp_rig)
    changes, last = len(tcp_rig.plant.changes), driver.latest
    with pytest.raises(CommandError):
        driver.command([tcp_rig.too_high_pa if bad is None else bad, *tcp_rig.targets_pa[1:]])
    keep_commanding(driver, tcp_rig, lambda: driver.latest.at_s > last.at_s + 0.05)
    assert len(tcp_rig.plant.changes) == changes


def test_fault_of_the_board_disarms_and_arming_needs_the_key(board_rig, make_driver):
    recorder = make_driver(board_rig)
    driver = moving(recorder, board_rig)
    board_rig.plant.forced_pa = np.array([0, 0, 0, 0, 0, 109e3])
    keep_commanding(driver, board_rig, lambda: recorder.reasons)
    assert 'over_pressure_5' in recorder.reasons[0]
    assert board_rig.plant.vented
    board_rig.plant.forced_pa = None
    with pytest.raises(RefusedError, match='latched over_pressure_5'):
        driver.arm()
    wait_for(lambda: driver.latest.pressures_pa[5] == 0.0)
    driver.clear_faults()
    driver.arm()


@pytest.mark.parametrize('reading_pa', [131e3, -101e3])
def test_impossible_pressure_of_the_gripper_is_cut_and_needs_the_key(
    gripper, make_driver, reading_pa
):
    recorder = make_driver(gripper)
    driver = moving(recorder, gripper)
    broken_s, gripper.plant.forced_pa = time.monotonic(), np.array([reading_pa])
    keep_commanding(driver, gripper, lambda: recorder.reasons)
    assert recorder.reasons == ['latched pressure_0_out_of_range']
    assert recorder.disarmed_s - broken_s <= 0.3  # two readings; the rest is this machine
    wait_for(lambda: gripper.plant.vented)
    assert not gripper.watchdog_tripped()  # the driver vented it, at once
    gripper.plant.forced_pa = None
    with pytest.raises(
        RefusedError, match='latched pressure_0_out_of_range: find the cause, then clear'
    ):
        driver.arm()
    wait_for(lambda: driver.latest.pressures_pa[0] == 0.0)
    driver.clear_faults()
    driver.arm()


def test_frozen_sensor_is_found_when_the_pressure_should_move(tcp_rig, make_driver):
    recorder = make_driver(tcp_rig)
    driver = moving(recorder, tcp_rig)
    tcp_rig.plant.forced_pa = np.array(tcp_rig.targets_pa)
    seen = driver.latest.at_s
    keep_commanding(driver, tcp_rig, lambda: driver.latest.at_s > seen + 0.7)
    assert recorder.reasons == []  # at its set point a frozen reading is a steady pressure
    away = [0.5 * tcp_rig.targets_pa[0] - 10e3, *tcp_rig.targets_pa[1:]]
    moved_s = time.monotonic()
    keep_commanding(driver, tcp_rig, lambda: recorder.reasons, targets_pa=away)
    assert recorder.reasons == ['latched pressure_0_stuck']
    assert 0.5 <= recorder.disarmed_s - moved_s <= 1.0
    wait_for(lambda: tcp_rig.plant.vented)
    with pytest.raises(RefusedError, match='latched pressure_0_stuck'):
        driver.arm()
    tcp_rig.plant.forced_pa = None
    driver.clear_faults()
    driver.arm()


def test_restarted_device_is_not_driven_on(tcp_rig, make_driver):
    recorder = make_driver(tcp_rig)
    driver = moving(recorder, tcp_rig)
    reset_s = time.monotonic()
    tcp_rig.reset()
    keep_commanding(driver, tcp_rig, lambda: recorder.reasons)
    assert recorder.reasons[0].startswith(
        ('the board vented itself', 'its set points are gone: it was restarted')
    )
    assert recorder.disarmed_s - reset_s <= 0.3
    keep_commanding(driver, tcp_rig, lambda: driver.latest.targets_pa is None)
    assert tcp_rig.plant.vented


def test_second_driver_on_the_same_board_is_refused_and_disturbs_nobody(board_rig, make_driver):
    first = make_driver(board_rig)
    driver = moving(first, board_rig)
    holder = re.escape(own_name())
    alive = KeepAlive(lambda: driver.command(board_rig.targets_pa))
    try:
        for _ in range(2):
            with pytest.raises(
                HeldError,
                match=f"^valve_board on .* is held by '{holder}': stop that driver first$",
            ):
                make_driver(board_rig, board_rig.second_link).driver.connect()
    finally:
        alive.stop()
    assert first.reasons == [] and driver.armed and board_rig.plant.follows(board_rig.targets_pa)
    driver.close()
    second = make_driver(board_rig, board_rig.second_link)  # the first has gone: its hold has ended
    moving(second, board_rig)


def test_second_driver_on_a_gripper_that_is_driven_is_refused_and_disturbs_nobody(
    gripper, make_driver
):
    first = make_driver(gripper)
    driver = moving(first, gripper)
    alive = KeepAlive(lambda: driver.command(gripper.targets_pa))
    try:
        for _ in range(3):
            with pytest.raises(
                HeldError,
                match='pcu2v on .*: another client drives it, its heartbeat counts: stop that '
                'first',
            ):
                make_driver(gripper).driver.connect()
    finally:
        alive.stop()
    assert first.reasons == [] and driver.armed and gripper.plant.follows(gripper.targets_pa)
    driver.close()
    moving(make_driver(gripper), gripper)  # the first has gone


FOREIGN = {
    'target': [(3, [1100])],
    'off': [(1, [0])],
    'vacuum': [(1, [0, 1, 0, 0x10000 - 800])],
    'heartbeat and target': [(5, [4]), (3, [1100])],
}


def test_another_client_that_writes_to_the_gripper_is_found_20_times_of_20(gripper, make_driver):
    recorder = make_driver(gripper)
    for k, (name, writes) in zip(range(20), itertools.cycle(FOREIGN.items()), strict=False):
        driver = moving(recorder, gripper)
        at_s = time.monotonic() + 0.05 + 1e-3 * k  # at every moment of a cycle
        keep_commanding(driver, gripper, lambda at_s=at_s: time.monotonic() > at_s)
        written_s = time.monotonic()
        for address, values in writes:
            gripper.write(address, values)
        keep_commanding(driver, gripper, lambda: recorder.reasons, 2.0)
        assert recorder.reasons[0].startswith(
            'latched foreign_master: its set points are not those that were written: another client'
        ), name
        assert recorder.disarmed_s - written_s <= 0.5
        wait_for(lambda: gripper.plant.vented)
        with pytest.raises(
            RefusedError, match='latched foreign_master: find the cause, then clear'
        ):
            driver.arm()
        driver.clear_faults()
        recorder.reasons.clear()


def test_silent_device_is_noticed_and_vents_itself(tcp_rig, proxy_to, make_driver, caplog):
    caplog.set_level(logging.DEBUG, 'pneumatic_driver')
    proxy = proxy_to(tcp_rig)
    recorder = make_driver(tcp_rig, proxy.link)
    driver = moving(recorder, tcp_rig)
    proxy.frozen, frozen_s, frozen_device_s = True, time.monotonic(), tcp_rig.plant.device_clock_s()
    keep_commanding(driver, tcp_rig, lambda: recorder.reasons and tcp_rig.plant.vented)
    assert recorder.reasons[0].startswith('link lost')
    assert recorder.disarmed_s - frozen_s <= 0.5
    assert tcp_rig.plant.changed_device_s - frozen_device_s <= 0.3
    with pytest.raises(CommandError, match='activate the driver'):
        driver.command(tcp_rig.targets_pa)
    assert all(len(r.getMessage()) < 300 for r in caplog.records if r.levelno > logging.DEBUG)
    assert any(
        'last frames of tcp' in r.getMessage() for r in caplog.records if r.levelno == logging.DEBUG
    )


@pytest.mark.parametrize('how', ['cut', 'power'])
def test_reconnects_within_a_second_and_replays_nothing(tcp_rig, proxy_to, make_driver, how):
    proxy = proxy_to(tcp_rig)
    recorder = make_driver(tcp_rig, proxy.link)
    driver = moving(recorder, tcp_rig)
    if how == 'power':
        tcp_rig.stop()
        tcp_rig.restart()
    lost_s = time.monotonic()
    proxy.cut()
    keep_commanding(driver, tcp_rig, lambda: recorder.reasons)
    back = keep_commanding(
        driver,
        tcp_rig,
        lambda: [e for e in recorder.exchanges if e.at_s > lost_s and e.targets_pa is None],
    )
    assert back[0].at_s - lost_s <= 1.0
    seen, changes = len(recorder.exchanges), len(tcp_rig.plant.changes)
    keep_commanding(driver, tcp_rig, lambda: len(recorder.exchanges) > seen + 10)
    assert tcp_rig.plant.vented and len(tcp_rig.plant.changes) == changes


def test_slow_device_gets_no_write_twice_and_its_late_answers_count_for_nothing(tcp_rig, proxy_to):
    proxy = proxy_to(tcp_rig)

    async def scenario():
        device = device_of(tcp_rig, proxy.link)
        await device.connect()
        await device.enable()
        proxy.requests.clear()
        proxy.answers = lambda frame: [(0.3 if frame[7] in (16, 23) else 0.0, frame)]
        with pytest.raises(LinkError, match='last good answer'):
            await device.exchange(tcp_rig.targets_pa)
        proxy.answers = None
        for _ in range(3):  # the late answer arrives now; it belongs to no request
            await asyncio.sleep(0.1)
            with contextlib.suppress(LinkError):
                await device.exchange(tcp_rig.targets_pa)
        device.close()

    asyncio.run(scenario())
    writes = [request for request in proxy.requests if request[1] in (16, 23)]
    # Each write once, told apart by its heartbeat.
    assert len(writes) >= 3 and len(set(writes)) == len(writes)


def test_late_answer_on_a_serial_line_is_told_by_its_heartbeat(tcp_board):
    async def scenario():
        board = device_of(tcp_board)
        await board.connect()
        await board.enable()
        request = board._modbus._client.readwrite_registers
        late = await request(
            read_address=0,
            read_count=19,
            write_address=106,
            values=[board._hold.next_code()],
            device_id=1,
        )

        async def one_behind(**arguments):
            await request(**arguments)
            return late

        board._modbus._client.readwrite_registers = one_behind
        with pytest.raises(LinkError, match='answer is to an earlier request'):
            await board.exchange([0.0] * 6)
        board.close()

    asyncio.run(scenario())


def test_error_in_the_drivers_own_loop_stops_the_device(tcp_rig):
    reasons = []

    def broken(exchange):
        if exchange.targets_pa is not None and exchange.pressures_pa.any():
            raise KeyError('a bug')

    driver = Driver(device_of(tcp_rig), 50.0, 0.5, broken, reasons.append, time.monotonic)
    driver.connect()
    driver.arm()
    keep_commanding(driver, tcp_rig, lambda: reasons and tcp_rig.plant.vented)
    assert "KeyError('a bug')" in reasons[0] and not driver.armed
    assert not tcp_rig.watchdog_tripped()  # it was still told to vent
    driver.close()
