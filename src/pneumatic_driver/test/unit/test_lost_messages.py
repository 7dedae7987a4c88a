"""One spoiled message, at every position around arm, command, vent, clear and reconnect.

The device is vented in time in every case, and nothing claims it before it is so.

`SOFT_ARM_EVERY_FAULT=1 pytest src/pneumatic_driver/test/unit/test_lost_messages.py` tries every
fault at every position, otherwise each position gets some of them by turns.
"""

import asyncio
import itertools
import os
import random

import numpy as np
import pytest

from pneumatic_driver.errors import LinkError, RefusedError
from soft_arm_sim.devices.valve_board import BoardLogic

from ..bench import PERIOD_S, EmulatedBoard, EmulatedGripper
from ..simulated_link import COMMAND_TIMEOUT_S, LATENCY_S, run

pytestmark = pytest.mark.usefixtures('no_logs')

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


async def vent(link):
    await link.drive()
    link.first = 0
    await link.venting(link.driver.vent)


async def clear(link):
    await link.drive()
    await link.venting(link.driver.clear_faults)


async def disconnect(link):
    await link.drive()
    await link.venting(link.driver.disconnect)


async def stale(link):
    await link.drive()
    await asyncio.sleep(COMMAND_TIMEOUT_S - PERIOD_S)
    await link.vents_by_itself()


async def reconnect(link):
    await link.drive()
    link.wire.cut()
    await link.vents_by_itself()
    await link.act(link.driver.arm)
    await link.command(2)
    await link.venting(link.driver.vent)


async def arm_again(link):
    await link.drive()
    await link.act(link.driver.vent)
    await link.act(link.driver.clear_faults)
    await link.act(link.driver.arm)
    await link.command(2)
    await link.venting(link.driver.vent)


BOTH_LINKS = pytest.mark.parametrize('rtu', [False, True], ids=['tcp', 'rtu'])
BOTH_DEVICES = pytest.mark.parametrize(
    'device_type', [EmulatedBoard, EmulatedGripper], ids=['board', 'gripper']
)


@BOTH_LINKS
@BOTH_DEVICES
@pytest.mark.parametrize('script', [vent, clear, disconnect, stale, reconnect, arm_again])
def test_one_spoiled_message_anywhere(script, device_type, rtu):
    good = run(script, device_type, rtu)
    assert good.wrong == []
    turns, wrong = itertools.cycle(FAULTS), []
    for position in range(good.first, good.last):
        for kind in FAULTS if EVERY else itertools.islice(turns, 1):
            link = run(script, device_type, rtu, {position: FAULTS[kind]})
            if link.wrong:
                wrong.append(f'{kind} of message {position}: {link.wrong[0]}')
    assert not wrong, '\n'.join([f'{len(wrong)} cases', *wrong[:20]])


class RandomFaults:
    """A fault of every tenth message, with the interface of a dictionary by message number."""

    def __init__(self, draw: random.Random):
        self._draw = draw

    def get(self, number: int):
        return FAULTS[self._draw.choice(list(FAULTS))] if self._draw.random() < 0.1 else None


async def mixture(link):
    """Command and arm as an operator would who never gives up, then on a good link."""
    await link.drive()
    link.wire.requests.clear()
    link.wire.spoil = RandomFaults(draw := random.Random(1))
    for _ in range(1000):
        if not link.cycle.armed:
            await link.act(link.driver.clear_faults)
            await link.act(link.driver.arm)
        await link.command(1)
        if draw.random() < 0.005:
            link.wire.cut()
    link.wire.spoil = {}
    await asyncio.sleep(1.0)
    for act in (link.driver.clear_faults, link.driver.arm):
        await act()
    await link.command(10)
    latest, device = link.cycle.latest, link.device
    if not (device.runs and np.allclose(latest.pressures_pa, device.targets_pa)):
        link.wrong.append('it does not follow after the faults')
    await link.venting(link.driver.vent)


@BOTH_LINKS
@BOTH_DEVICES
def test_any_mixture_of_faults_repeats_no_write_and_ends_with_the_link_in_order(device_type, rtu):
    link = run(mixture, device_type, rtu)
    assert link.wrong == []
    # Writes of a cycle, distinguished by their heartbeat; each claim begins another row of codes.
    written, claims = [], 0
    for request in link.wire.requests:
        claims += request[1] == 16 and request[3] == 112
        if request[1] == 23 or (request[1] == 16 and request[3] + request[5] == 6):
            written.append((claims, request))
    assert len(written) > 100 and len(set(written)) == len(written)


async def give_up(link):
    await link.drive()
    link.wire.spoil = {link.wire.messages + k: FAULTS['drop'] for k in range(3)}
    call = link.loop.create_task(link.driver.vent())
    await asyncio.sleep(0.01)
    call.cancel()
    await asyncio.wait([call])
    if not link.cycle.vent_pending:
        link.wrong.append('no vent is pending')
    await link.vents_by_itself()


@BOTH_LINKS
def test_a_vent_whose_call_is_given_up_remains_pending(rtu):
    link = run(give_up, EmulatedBoard, rtu)
    assert link.wrong == [] and not link.cycle.vent_pending


async def clear_a_latched_fault(link):
    await link.drive()
    link.device.forced_pa = [131e3] if link.device.map == 'pcu2v' else [0, 0, 0, 0, 0, 109e3]
    await link.command(5)
    link.device.forced_pa = None
    await asyncio.sleep(5 * PERIOD_S)
    link.first = link.wire.messages
    if not await link.act(link.driver.clear_faults):
        link.wrong.append('not cleared')
    link.last, link.wire.spoil = link.wire.messages, {}
    if not await link.act(link.driver.arm):
        link.wrong.append('not armed')


@BOTH_LINKS
@BOTH_DEVICES
@pytest.mark.parametrize('kind', ['drop', 'corrupt end'])
def test_faults_are_cleared_although_two_messages_in_a_row_are_spoiled(kind, device_type, rtu):
    good = run(clear_a_latched_fault, device_type, rtu)
    assert good.wrong == []
    for position in range(good.first, good.last):
        for second in (position + 1, position + 2):  # the answer, the next request or answer
            spoil = dict.fromkeys((position, second), FAULTS[kind])
            link = run(clear_a_latched_fault, device_type, rtu, spoil)
            assert link.wrong == [], f'messages {position} and {second}'


async def clear_without_answers(link):
    await link.drive()
    link.wire.answers = lambda request, answers=link.wire.answers: (
        b'' if b'\xa5\x5a' in request else answers(request)
    )
    with pytest.raises(LinkError, match='^clearing faults is not confirmed: '):
        await link.driver.clear_faults()


async def clear_what_persists(link):
    await link.driver.connect()
    link.device.logic = BoardLogic(brown_out_detection=False)
    with pytest.raises(RefusedError, match='^latched again: brown_out_detection_off: find the'):
        await link.driver.clear_faults()


@pytest.mark.parametrize('script', [clear_without_answers, clear_what_persists])
def test_no_faults_are_said_to_be_cleared_that_may_not_be(script):
    link = run(script, EmulatedBoard)
    assert link.wrong == [] and not link.device.runs and not link.cycle.vent_pending


async def connect_at_once_after_disconnect(link):
    await link.drive()
    await link.driver.disconnect()
    link.wire.opening_s = 1.5 * PERIOD_S
    if not await link.act(link.driver.connect):
        link.wrong.append('no connection')
    await asyncio.sleep(PERIOD_S)
    if sum(not connection.is_closing() for connection in link.wire.connections) != 1:
        link.wrong.append('not one open connection')


@BOTH_LINKS
def test_the_end_of_an_exchange_leaves_a_connection_alone_that_is_being_opened(rtu):
    assert run(connect_at_once_after_disconnect, EmulatedBoard, rtu).wrong == []


async def ignore_vents(link):
    await link.drive()
    logic = link.device.logic
    write = logic.write
    # what vents writes two zeros at the end: answered, without effect
    logic.write = lambda address, values: (
        0 if len(values) > 1 and not any(values[-2:]) else write(address, values)
    )
    await link.act(link.driver.vent)


@BOTH_LINKS
@BOTH_DEVICES
def test_no_heartbeat_keeps_a_device_running_while_a_vent_is_pending(device_type, rtu):
    link = run(ignore_vents, device_type, rtu)
    assert not link.device.runs and link.wrong == []


@BOTH_DEVICES
def test_a_vent_at_any_moment_of_arming_is_not_undone(device_type):
    async def vent_after(link, latencies):
        await link.act(link.driver.connect)
        arming = link.loop.create_task(link.act(link.driver.arm))
        await asyncio.sleep(latencies * LATENCY_S)
        await link.act(link.driver.vent)
        await arming
        await link.command(5)
        if link.device.runs or link.cycle.armed:
            link.wrong.append('it drives')

    for latencies in range(20):
        link = run(lambda link, n=latencies: vent_after(link, n), device_type)
        assert link.wrong == [], f'vented {latencies} latencies after arm'
