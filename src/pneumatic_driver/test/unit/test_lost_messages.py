"""One spoiled message, at every position around arm, command, vent, clear and reconnect.

The device is vented in time in every case, and nothing claims it before it is so.

`SOFT_ARM_EVERY_FAULT=1 pytest src/pneumatic_driver/test/unit/test_lost_messages.py` tries every
fault at every position, otherwise each position gets some of them by turns.
"""

import asyncio
import contextlib
import itertools
import logging
import os

import pytest

from pneumatic_driver.errors import PneumaticDriverError

from ..simulated_link import (
    COMMAND_TIMEOUT_S,
    LATENCY_S,
    PERIOD_S,
    SimulatedBoard,
    SimulatedGripper,
    SimulatedLink,
    simulated_time,
)

VENTED_S = 0.5  # after the request
EVERY = os.environ.get('SOFT_ARM_EVERY_FAULT') == '1'


def flipped(message: bytes, at: float, bit: int) -> bytes:
    place = min(int(at * len(message)), len(message) - 1)
    return message[:place] + bytes([message[place] ^ 1 << bit]) + message[place + 1 :]


FAULTS = {
    'drop': lambda m: [],
    'delay 0.1 s': lambda m: [(0.1, m)],
    'delay 0.3 s': lambda m: [(0.3, m)],
    'delay 1 s': lambda m: [(1.0, m)],
    'duplicate': lambda m: [(0.0, m), (0.0, m)],
    'truncate': lambda m: [(0.0, m[: len(m) // 2])],
    'truncate by one': lambda m: [(0.0, m[:-1])],
    'corrupt head': lambda m: [(0.0, flipped(m, 0.1, 3))],
    'corrupt middle': lambda m: [(0.0, flipped(m, 0.7, 0))],
    'corrupt end': lambda m: [(0.0, flipped(m, 1.0, 1))],
}


class Trial:
    """One run of a script on a link with at most one spoiled message."""

    def __init__(self, loop, device_type, rtu, fault=None):
        self.link = SimulatedLink(loop, device_type, rtu)
        self.loop, self.driver, self.wire = loop, self.link.driver, self.link.wire
        self.first = 0  # message from which on this script differs from the others
        self.last = 0
        self.wrong = self.link.wrong
        if fault:
            self.wire.spoil = {fault[0]: FAULTS[fault[1]]}

    async def drive(self, cycles=3):
        for act in (self.driver.connect, self.driver.arm):
            await self.act(act)
        self.first = self.wire.messages
        await self.command(cycles)

    async def act(self, action) -> bool:
        try:
            await action()
        except PneumaticDriverError:
            return False
        return True

    async def command(self, cycles):
        for _ in range(cycles):
            with contextlib.suppress(PneumaticDriverError):
                self.driver.cycle.command(self.link.device.targets_pa)
            await asyncio.sleep(PERIOD_S)

    async def venting(self, action):
        """An action that vents: what it returns is so, and it is so in time."""
        check = self.loop.call_later(VENTED_S, self.in_time)
        if await self.act(action) and self.link.device.runs:
            self.wrong.append('the call has returned, the device runs')
        await self.watch(check)

    async def vents_by_itself(self):
        await self.watch(self.loop.call_later(VENTED_S, self.in_time))

    async def watch(self, check):
        self.last = self.wire.messages + 6
        await asyncio.sleep(max(0.0, check.when() - self.loop.time()) + 0.05)

    def in_time(self):
        if self.link.device.runs:
            self.wrong.append(f'not vented {VENTED_S} s after the request')


async def vent(trial):
    await trial.drive()
    trial.first = 0
    await trial.venting(trial.driver.vent)


async def clear(trial):
    await trial.drive()
    await trial.venting(trial.driver.clear_faults)


async def disconnect(trial):
    await trial.drive()
    await trial.venting(trial.driver.disconnect)


async def stale(trial):
    await trial.drive()
    await asyncio.sleep(COMMAND_TIMEOUT_S - PERIOD_S)
    await trial.vents_by_itself()


async def reconnect(trial):
    await trial.drive()
    trial.wire.cut()
    await trial.vents_by_itself()
    await trial.act(trial.driver.arm)
    await trial.command(2)
    await trial.venting(trial.driver.vent)


async def arm_again(trial):
    await trial.drive()
    await trial.act(trial.driver.vent)
    await trial.act(trial.driver.clear_faults)
    await trial.act(trial.driver.arm)
    await trial.command(2)
    await trial.venting(trial.driver.vent)


def run(script, device_type, rtu, fault=None) -> Trial:
    with simulated_time() as loop:
        asyncio.set_event_loop(loop)
        trial = Trial(loop, device_type, rtu, fault)

        async def whole():
            await script(trial)
            await trial.driver.end()

        loop.run_until_complete(whole())
        asyncio.set_event_loop(None)
        return trial


@pytest.mark.parametrize('rtu', [False, True], ids=['tcp', 'rtu'])
@pytest.mark.parametrize(
    'device_type', [SimulatedBoard, SimulatedGripper], ids=['board', 'gripper']
)
@pytest.mark.parametrize('script', [vent, clear, disconnect, stale, reconnect, arm_again])
def test_one_spoiled_message_anywhere(script, device_type, rtu):
    logging.disable(logging.CRITICAL)
    try:
        good = run(script, device_type, rtu)
        assert good.wrong == []
        turns, wrong = itertools.cycle(FAULTS), []
        for position in range(good.first, good.last):
            for kind in FAULTS if EVERY else itertools.islice(turns, 1):
                trial = run(script, device_type, rtu, (position, kind))
                if trial.wrong:
                    wrong.append(f'{kind} of message {position}: {trial.wrong[0]}')
        assert not wrong, '\n'.join([f'{len(wrong)} cases', *wrong[:20]])
    finally:
        logging.disable(logging.NOTSET)


async def give_up(trial):
    await trial.drive()
    trial.wire.spoil = {trial.wire.messages + k: FAULTS['drop'] for k in range(3)}
    call = trial.loop.create_task(trial.driver.vent())
    await asyncio.sleep(0.01)
    call.cancel()
    await asyncio.wait([call])
    if not trial.driver.cycle.vent_pending:
        trial.wrong.append('no vent is pending')
    await trial.vents_by_itself()


@pytest.mark.parametrize('rtu', [False, True], ids=['tcp', 'rtu'])
def test_a_vent_whose_call_is_given_up_remains_pending(rtu):
    trial = run(give_up, SimulatedBoard, rtu)
    assert trial.wrong == [] and not trial.driver.cycle.vent_pending


async def connect_at_once_after_disconnect(trial):
    await trial.drive()
    await trial.driver.disconnect()
    trial.wire.opening_s = 1.5 * PERIOD_S
    if not await trial.act(trial.driver.connect):
        trial.wrong.append('no connection')
    await asyncio.sleep(PERIOD_S)
    if sum(not connection.is_closing() for connection in trial.wire.connections) != 1:
        trial.wrong.append('not one open connection')


@pytest.mark.parametrize('rtu', [False, True], ids=['tcp', 'rtu'])
def test_the_end_of_an_exchange_leaves_a_connection_alone_that_is_being_opened(rtu):
    assert run(connect_at_once_after_disconnect, SimulatedBoard, rtu).wrong == []


async def ignore_vents(trial):
    await trial.drive()
    logic = trial.link.device.logic
    write = logic.write
    # what vents writes two zeros at the end: answered, without effect
    logic.write = lambda address, values: (
        0 if len(values) > 1 and not any(values[-2:]) else write(address, values)
    )
    await trial.act(trial.driver.vent)


@pytest.mark.parametrize('rtu', [False, True], ids=['tcp', 'rtu'])
@pytest.mark.parametrize('device_type', [SimulatedBoard, SimulatedGripper])
def test_no_heartbeat_keeps_a_device_running_while_a_vent_is_pending(device_type, rtu):
    trial = run(ignore_vents, device_type, rtu)
    assert not trial.link.device.runs and trial.wrong == []


@pytest.mark.parametrize('device_type', [SimulatedBoard, SimulatedGripper])
def test_a_vent_at_any_moment_of_arming_is_not_undone(device_type):
    async def vent_after(trial, latencies):
        await trial.act(trial.driver.connect)
        arming = trial.loop.create_task(trial.act(trial.driver.arm))
        await asyncio.sleep(latencies * LATENCY_S)
        await trial.act(trial.driver.vent)
        await arming
        await trial.command(5)
        if trial.link.device.runs or trial.driver.cycle.armed:
            trial.wrong.append('it drives')

    for latencies in range(20):
        trial = run(lambda trial, n=latencies: vent_after(trial, n), device_type, rtu=False)
        assert trial.wrong == [], f'vented {latencies} latencies after arm'
