"""One board on TCP (emulation) and on a serial line (firmware): the same suite."""

import asyncio
import math
import threading

import numpy as np
import pytest

from pneumatic_driver.board import Board
from pneumatic_driver.errors import CommandError, HeldError, LinkError, RefusedError
from pneumatic_driver.register_map import load_map

from ..boards import Host, KeepAlive, wait_for
from ..conftest import RtuBoard, device_of

pytestmark = pytest.mark.steady_clock

TARGETS = [10_000.0, -20_000.0, 30_000.0, -96_000.0, 96_000.0, 10.0]


@pytest.fixture
def rig(board_rig):
    return board_rig


async def enabled(rig) -> Board:
    board = device_of(rig)
    await board.connect()
    await board.enable()
    return board


def test_exchange_moves_the_chambers_and_brings_them_back(rig):
    async def scenario():
        board = await enabled(rig)
        first = await board.exchange(TARGETS)
        for _ in range(40):
            exchange = await board.exchange(TARGETS)
            await asyncio.sleep(0.01)
        await board.vent()
        vented = await board.exchange()
        board.close()
        return first, exchange, vented

    first, exchange, vented = asyncio.run(scenario())
    np.testing.assert_allclose(first.targets_pa, TARGETS)
    np.testing.assert_allclose(exchange.pressures_pa, TARGETS, atol=10)
    np.testing.assert_allclose(exchange.drives_pa, TARGETS, atol=10)
    assert exchange.running and exchange.faults == () and exchange.supply_pa == pytest.approx(200e3)
    assert not vented.running and vented.targets_pa is None
    np.testing.assert_allclose(vented.drives_pa, 0.0)
    wait_for(lambda: rig.plant.vented)


def test_targets_are_rounded_to_the_boards_steps_and_the_caller_is_told(rig):
    async def scenario():
        board = await enabled(rig)
        exchange = await board.exchange([4.0, 6.0, -14.0, 0.0, 0.0, 0.0])
        board.close()
        return exchange

    np.testing.assert_allclose(
        asyncio.run(scenario()).targets_pa, [0.0, 10.0, -10.0, 0.0, 0.0, 0.0], atol=1e-9
    )


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 100_010.0, -100_010.0])
def test_impossible_pressure_is_refused_in_one_line_before_anything_is_sent(rig, bad):
    async def scenario():
        board = await enabled(rig)
        sent = len(board.frames), list(board.frames)[-1]
        with pytest.raises(
            CommandError, match=r'channel 3: .* Pa is outside \[-100000, 100000\] Pa'
        ) as error:
            await board.exchange([0, 0, 0, bad, 0, 0])
        assert (len(board.frames), list(board.frames)[-1]) == sent
        assert '\n' not in str(error.value)
        board.close()

    asyncio.run(scenario())
    assert rig.plant.vented


def test_no_set_points_without_enable(rig):
    async def scenario():
        board = device_of(rig)
        await board.connect()
        with pytest.raises(CommandError, match='enable it first'):
            await board.exchange(TARGETS)
        await board.enable()
        await board.exchange(TARGETS)
        await board.connect()  # a new connection
        with pytest.raises(CommandError, match='enable it first'):
            await board.exchange(TARGETS)
        board.close()

    asyncio.run(scenario())


def test_wrong_unit_id_is_refused(rig):
    good = load_map('valve_board').with_link(**rig.link)
    wrong = good.model_copy(update={'link': good.link.model_copy(update={'unit_id': 9})})
    with pytest.raises((RefusedError, LinkError)) as error:
        asyncio.run(Board(wrong).connect())
    assert 'unit 9' in str(error.value) and '\n' not in str(error.value)


def test_another_map_id_is_refused(rig):
    good = load_map('valve_board').with_link(**rig.link)
    wrong = good.model_copy(update={'identity': good.identity.model_copy(update={'value': 7.0})})
    with pytest.raises(LinkError, match='the device says map id 23302, map .* is for 7'):
        asyncio.run(Board(wrong).connect())


def test_exceptions_of_the_board_are_named(rig):
    async def scenario():
        board = device_of(rig)
        await board._open()
        refused = [
            (100, [20_000], r'exception 3 \(illegal value\)'),
            (50, [1], r'exception 2 \(illegal address\)'),
            (110, [1], r'exception 3 \(illegal value\)'),
            (108, [2], r'exception 4 \(device failure\)'),  # nobody runs it without holding it
        ]
        for address, values, text in refused:
            with pytest.raises(RefusedError, match=text):
                await board._modbus.write(address, values)
        await board.hold()
        for address, values, _ in refused:
            with pytest.raises(RefusedError, match=r'exception 6 \(device busy\)'):
                await board._modbus.write(address, values)
        board.close()

    asyncio.run(scenario())


def test_a_board_that_is_held_is_refused_with_the_holders_name(rig):
    other = Host(rig.write, 'labpc 4711')
    assert other.claim() == other.run() == other.command([1000] * 6) == 0
    alive = KeepAlive(lambda: other.command([1000] * 6))
    words = r"^valve_board on .* is held by 'labpc 4711': stop that driver first$"
    try:
        with pytest.raises(HeldError, match=words):
            asyncio.run(device_of(rig).connect())
        # The other was not disturbed.
        assert rig.board_faults() == 0 and rig.plant.follows([10e3] * 6)
    finally:
        alive.stop()

    async def scenario():  # the other's hold ends by itself
        board = device_of(rig)
        await board.connect()
        board.close()

    asyncio.run(scenario())


def test_a_hold_that_another_host_took_over_is_noticed_without_disturbing_him(rig):
    async def scenario():
        board = await enabled(rig)
        await board.exchange(TARGETS)
        while other.claim():  # this host is silent, as if it had been suspended
            await asyncio.sleep(0.01)
        assert rig.write(110, [0xA55A]) == 6
        board._modbus._good_s -= 1.0  # however fast this machine was
        with pytest.raises(HeldError, match="held by 'bench 17'"):
            await board.hold()
        assert other.command([0] * 6) == 0  # still the other's
        board.close()

    other = Host(rig.write)
    asyncio.run(asyncio.wait_for(scenario(), 5.0))


def test_latched_fault_needs_the_key(rig):
    over_pa = np.array([0, 0, 110e3, 0, 0, 0])

    async def scenario():
        board = await enabled(rig)
        await board.exchange(TARGETS)
        rig.plant.forced_pa = over_pa
        while 'over_pressure_2' not in (exchange := await board.exchange(TARGETS)).faults:
            await asyncio.sleep(0.005)
        assert not exchange.running
        np.testing.assert_allclose(exchange.drives_pa, 0.0)
        rig.plant.forced_pa = None
        with pytest.raises(
            RefusedError, match=r'latched over_pressure_2\b.*: find the cause, then clear'
        ):
            await board.enable()
        while (await board.vent()).pressures_pa[2]:
            await asyncio.sleep(0.005)
        await board.clear_faults()
        await board.enable()
        assert (await board.exchange(TARGETS)).faults == ()
        board.close()

    asyncio.run(asyncio.wait_for(scenario(), 5.0))


def test_board_that_boots_when_its_serial_port_is_opened(library):
    rig = RtuBoard(library)
    rig.frozen = True
    waker = threading.Timer(0.4, setattr, (rig, 'frozen', False))
    waker.start()

    async def scenario():
        board = device_of(rig)
        await board.connect()
        board.close()

    asyncio.run(scenario())
    waker.join()
    rig.stop()


def test_nobody_listens():
    with pytest.raises(LinkError, match='no connection within'):
        asyncio.run(Board(load_map('valve_board').with_link(port=9)).connect())


def test_missing_serial_device():
    with pytest.raises(LinkError, match='/dev/no_such_port'):
        asyncio.run(
            Board(load_map('valve_board').with_link(serial_device='/dev/no_such_port')).connect()
        )


def test_unverified_map_only_reads_from_a_device_that_is_not_here(rig):
    good = load_map('valve_board').with_link(**rig.link)
    guess = good.model_copy(update={'device': good.device.model_copy(update={'verified': False})})
    remote = guess.link.kind == 'rtu'

    async def scenario(accept):
        board = Board(guess, accept)
        try:
            await board.connect()
            await board.exchange()
            await board.enable()
        finally:
            board.close()

    if remote:
        with pytest.raises(
            RefusedError, match='never verified .* accept_unverified_map:=valve_board'
        ):
            asyncio.run(scenario(''))
        asyncio.run(scenario('valve_board'))
    else:
        asyncio.run(scenario(''))
