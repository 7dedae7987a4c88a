"""The driver thread on real links: TCP, a serial line and a proxy; its logic is in test_cycle."""

import asyncio
import contextlib
import logging
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pneumatic_driver.board import Board
from pneumatic_driver.errors import CommandError, HeldError
from pneumatic_driver.hold import own_name

from ..boards import keep_commanding, moving, wait_for
from ..conftest import RtuBoard, device_of

pytestmark = pytest.mark.steady_clock


def test_follows_commands_at_50_hz_and_closing_vents(rig, make_driver):
    recorder = make_driver(rig)
    driver = moving(recorder, rig)
    first, started_s = len(recorder.exchanges), time.monotonic()
    keep_commanding(driver, rig, lambda: len(recorder.exchanges) >= first + 25)
    rate_hz = 25 / (time.monotonic() - started_s)
    assert rate_hz < 55 and recorder.reasons == []  # slower on a busy machine
    at_s = [e.at_s for e in recorder.exchanges]
    assert at_s == sorted(at_s)
    np.testing.assert_allclose(driver.latest.pressures_pa, rig.targets_pa, atol=10)
    driver.close()
    wait_for(lambda: rig.plant.vented)
    assert not rig.watchdog_tripped()  # the driver vented it
    driver.close()


def test_a_second_driver_is_refused_and_disturbs_nobody(rig, make_driver):
    first = make_driver(rig)
    driver = moving(first, rig)
    words = (
        f"is held by '{re.escape(own_name())}': stop that driver first$"
        if rig.driver is Board
        else 'its heartbeat counts, so another client drives it: stop that client first$'
    )
    with ThreadPoolExecutor() as pool:
        connecting = pool.submit(make_driver(rig, rig.second_link).driver.connect)
        keep_commanding(driver, rig, connecting.done, 60.0)
    with pytest.raises(HeldError, match=words):
        connecting.result()
    assert first.reasons == [] and driver.armed and rig.plant.follows(rig.targets_pa)
    driver.close()
    moving(make_driver(rig, rig.second_link), rig)  # the hold of the first has ended


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
    assert any('last frames of tcp' in r.getMessage() for r in caplog.records)


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


def test_a_board_that_boots_when_its_serial_port_is_opened(library):
    with contextlib.closing(RtuBoard(library)) as rig:
        rig.frozen = True
        waker = threading.Timer(0.4, setattr, (rig, 'frozen', False))
        waker.start()

        async def scenario():
            board = device_of(rig)
            await board.connect()
            board.close()

        asyncio.run(scenario())
        waker.join()


def test_serial_port_that_is_pulled_and_plugged_again(library, make_driver, tmp_path):
    port = tmp_path / 'ttyACM0'
    first = RtuBoard(library)
    port.symlink_to(first.device)
    first.link = {'serial_device': str(port)}
    recorder = make_driver(first)
    driver = moving(recorder, first)
    pulled_s = time.monotonic()
    first.stop()
    wait_for(lambda: recorder.reasons)
    assert recorder.reasons[0].startswith('link lost') and recorder.disarmed_s - pulled_s <= 1.0
    with contextlib.closing(RtuBoard(library)) as second:
        port.unlink()
        port.symlink_to(second.device)
        plugged_s = time.monotonic()
        back = wait_for(lambda: [e for e in recorder.exchanges if e.at_s > plugged_s], 5.0)
        assert back[0].at_s - plugged_s <= 2.0
        seen = len(recorder.exchanges)
        wait_for(lambda: len(recorder.exchanges) > seen + 10)
        assert second.plant.changes == [] and not driver.armed  # nothing is replayed
        driver.close()
