"""Wrong answers of a board: the driver survives, reports them, vents and recovers."""

import asyncio
import re
import struct

import pytest
from pymodbus.framer.rtu import FramerRTU

from ..bench import PERIOD_S, EmulatedBoard, EmulatedGripper
from ..simulated_link import run

pytestmark = pytest.mark.usefixtures('no_logs')

RECOVERED_S = 5.0
WORDS = 19  # of the cycle


def adu(frame: bytes, pdu: bytes) -> bytes:
    """The frame with another PDU, in itself consistent."""
    return frame[:4] + (len(pdu) + 1).to_bytes(2) + frame[6:7] + pdu


def words(frame: bytes, **changed: list[int]) -> bytes:
    """The frame with other registers, by their address after `r`."""
    pdu = bytearray(frame[7:])
    if len(pdu) == 2 + 2 * WORDS:
        for name, values in changed.items():
            start = 2 + 2 * int(name[1:])
            pdu[start : start + 2 * len(values)] = struct.pack(f'>{len(values)}H', *values)
    return adu(frame, bytes(pdu))


def shorter(frame: bytes) -> bytes:
    """The frame with one register fewer."""
    pdu = frame[7:]
    if pdu[0] not in (3, 4, 23) or pdu[1] < 2:
        return frame
    return adu(frame, bytes([pdu[0], pdu[1] - 2]) + pdu[2:-2])


def header(start: int, value: bytes):
    return lambda frame: frame[:start] + value + frame[start + len(value) :]


# What the board answers instead, and what the driver reports of it.
LIES = {
    'one register fewer': (shorter, r'has \d+ registers, \d+ were requested'),
    'function 3': (lambda f: adu(f, b'\3' + f[8:]), r'expected function \d+, received 3'),
    'function 16': (lambda f: adu(f, b'\x10\0\x6a\0\x03'), r'expected function \d+, received 16'),
    'function alone': (lambda f: adu(f, f[7:8]), 'expected'),
    'exception 4': (lambda f: adu(f, bytes([f[7] | 0x80, 4])), 'exception 4'),
    'exception without a code': (lambda f: adu(f, bytes([f[7] | 0x80])), 'expected'),
    'unit 0': (header(6, b'\0'), 'expected unit id 1, received 0'),
    'unit 255': (header(6, b'\xff'), 'expected unit id 1, received 255'),
    'transaction 0': (header(0, b'\0\0'), r'expected transaction id \d+, received 0'),
    'transaction 65535': (header(0, b'\xff\xff'), r'expected transaction id \d+, received 65535'),
    'protocol 7': (header(2, b'\0\7'), 'expected protocol id 0, received 7'),
    'length 200': (header(4, b'\0\xc8'), r'expected length \d+, received 200'),
    'a few bytes': (lambda f: f[:5], 'expected an answer, received 00'),
    'text': (lambda f: b'HTTP/1.1 400 Bad Request\r\n\r\n', 'expected'),
    'an old heartbeat': (lambda f: words(f, r15=[0x1234]), ''),
    'faults while it runs': (lambda f: words(f, r13=[1 << 2]), 'over_pressure_2'),
    'a fault without a name': (lambda f: words(f, r12=[0b1101]), 'a fault without a name'),
    'held pressures': (lambda f: words(f, r12=[0b1010]), ''),
    'every pressure too high': (
        lambda f: words(f, r0=[20_000, 11_000, 32_700, 15_000, 12_000, 30_000]),
        'pressure_0_out_of_range',
    ),
    'every pressure too low': (
        lambda f: words(f, r0=[0x10000 - 20_000] * 6),
        'pressure_5_out_of_range',
    ),
}


def let_lie(link, kind: str) -> None:
    """Let the board lie from now on."""
    answers = link.wire.answers
    link.wire.answers = lambda request: LIES[kind][0](answers(request))


@pytest.mark.parametrize('kind', LIES)
def test_a_board_that_lies_is_vented_and_used_again(kind):
    async def scenario(link):
        await link.drive(10)
        assert link.device.runs
        let_lie(link, kind)
        await link.command(50)
        assert not link.cycle.armed and not link.device.runs
        assert link.cycle.link_error or link.cycle.vent_pending or link.cycle.latest.faults
        assert re.search(LIES[kind][1], link.reasons[0]), link.reasons
        del link.wire.answers  # the truth again

        async def recovered():
            while not await link.act(link.driver.clear_faults) or not await link.act(
                link.driver.arm
            ):
                await asyncio.sleep(PERIOD_S)

        await asyncio.wait_for(recovered(), RECOVERED_S)
        await link.command(10)
        assert link.device.runs and link.cycle.armed
        await link.driver.disconnect()
        assert not link.device.runs

    assert run(scenario, EmulatedBoard).wrong == []


def with_pdu(frame: bytes, change, rtu: bool) -> bytes:
    """The frame with a changed PDU, in itself consistent."""
    if not rtu:
        return adu(frame, change(frame[7:]))
    said = frame[:1] + change(frame[1:-2])
    return said + FramerRTU.compute_CRC(said).to_bytes(2)


UNDECODABLE = {
    'an odd number of bytes': lambda pdu: bytes([pdu[0], pdu[1] - 1]) + pdu[2:-1],
    'one byte fewer': lambda pdu: pdu[:-1],
    'one byte more': lambda pdu: pdu + b'\0',
    'a greater byte count': lambda pdu: bytes([pdu[0], pdu[1] + 2]) + pdu[2:],
    'a smaller byte count': lambda pdu: bytes([pdu[0], pdu[1] - 2]) + pdu[2:],
    'no byte count': lambda pdu: pdu[:1],
    'an unknown function': lambda pdu: b'\x65' + pdu[1:],
}


@pytest.mark.parametrize('rtu', [False, True], ids=['tcp', 'rtu'])
@pytest.mark.parametrize('kind', UNDECODABLE)
def test_one_answer_that_cannot_be_decoded_is_one_lost_answer(kind, rtu):
    async def scenario(link):
        await link.drive(10)
        answers = link.wire.answers

        def lie_once(request: bytes) -> bytes:
            link.wire.answers = answers
            return with_pdu(answers(request), UNDECODABLE[kind], rtu)

        for _ in range(5):
            link.wire.answers = lie_once
            await link.command(20)
            assert link.wire.answers is answers
            assert link.cycle.armed and link.device.runs and link.cycle.link_error is None
        assert link.reasons == [] and len(link.wire.connections) == 1

    assert run(scenario, EmulatedBoard, rtu).wrong == []


def test_an_answer_that_cannot_be_decoded_is_reported_with_what_was_expected():
    async def scenario(link):
        await link.drive(10)
        answers = link.wire.answers
        link.wire.answers = lambda request: with_pdu(
            answers(request), UNDECODABLE['a greater byte count'], False
        )
        await link.command(50)
        assert re.search(r'expected \d+ registers from function \d+, received 00', link.reasons[0])

    run(scenario, EmulatedBoard)


@pytest.mark.parametrize(('name', 'byte'), [('address', 9), ('count', 11)])
def test_each_field_of_the_answer_to_a_write_is_checked_and_named(name, byte):
    async def scenario(link):
        await link.drive(10)
        answers = link.wire.answers

        def lie(request: bytes) -> bytes:
            frame = bytearray(answers(request))
            frame[byte] ^= request[7] == 16
            return bytes(frame)

        link.wire.answers = lie
        await link.command(50)
        assert not link.cycle.armed
        assert re.search(rf'expected {name} \d+ in the answer to a write', link.reasons[0])

    run(scenario, EmulatedGripper)


@pytest.mark.parametrize(
    'kind', ['faults while it runs', 'a fault without a name', 'every pressure too high']
)
def test_what_a_running_board_reports_vents_it_within_50_ms(kind):
    async def scenario(link):
        await link.drive(10)
        let_lie(link, kind)
        lied_s = link.loop.time()
        await link.command(3, lambda: not link.device.runs)
        assert not link.device.runs and link.loop.time() - lied_s <= 0.05

    run(scenario, EmulatedBoard)
