"""A board that gives 30 kinds of wrong answers: the driver survives, says so, vents, recovers."""

import asyncio
import contextlib
import logging
import struct

import pytest

from pneumatic_driver.errors import PneumaticDriverError

from ..simulated_link import PERIOD_S, SimulatedBoard, SimulatedLink, simulated_time

LIES_S, RECOVERED_S = 1.0, 5.0
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


def shorter(frame: bytes, fewer: int) -> bytes:
    pdu = frame[7:]
    if pdu[0] not in (3, 4, 23) or pdu[1] < 2 * fewer:
        return frame
    return adu(frame, bytes([pdu[0], pdu[1] - 2 * fewer]) + pdu[2 : len(pdu) - 2 * fewer])


LIES = {
    'no registers': lambda f: adu(f, bytes([f[7], 0])),
    'one register': lambda f: adu(f, bytes([f[7], 2, 0, 1])),
    'one register fewer': lambda f: shorter(f, 1),
    'two registers fewer': lambda f: shorter(f, 2),
    'half of the registers': lambda f: shorter(f, 9),
    'one register more': lambda f: adu(f, bytes([f[7], f[8] + 2]) + f[9:] + b'\0\0'),
    'byte count too high': lambda f: adu(f, f[7:8] + bytes([f[8] + 4 & 0xFF]) + f[9:]),
    'byte count too low': lambda f: adu(f, f[7:8] + bytes([max(f[8] - 4, 0)]) + f[9:]),
    'odd byte count': lambda f: adu(f, f[7:8] + bytes([f[8] ^ 1]) + f[9:]),
    'byte count 255': lambda f: adu(f, f[7:8] + b'\xff' + f[9:]),
    'function 3': lambda f: adu(f, b'\x03' + f[8:]),
    'function 16': lambda f: adu(f, b'\x10\0\x6a\0\x03'),
    'function 1': lambda f: adu(f, b'\x01\x01\xff'),
    'function 99': lambda f: adu(f, b'\x63' + f[8:]),
    'function alone': lambda f: adu(f, f[7:8]),
    'exception 1': lambda f: adu(f, bytes([f[7] | 0x80, 1])),
    'exception 4': lambda f: adu(f, bytes([f[7] | 0x80, 4])),
    'exception 6': lambda f: adu(f, bytes([f[7] | 0x80, 6])),
    'exception 200': lambda f: adu(f, bytes([f[7] | 0x80, 200])),
    'exception of another function': lambda f: adu(f, b'\x81\x02'),
    'exception without a code': lambda f: adu(f, bytes([f[7] | 0x80])),
    'another unit': lambda f: f[:6] + b'\x07' + f[7:],
    'another transaction': lambda f: bytes([f[0] ^ 0x55]) + f[1:],
    'another protocol': lambda f: f[:2] + b'\0\1' + f[4:],
    'length 0': lambda f: f[:4] + b'\0\0' + f[6:],
    'length 60000': lambda f: f[:4] + b'\xea\x60' + f[6:],
    'text': lambda f: b'HTTP/1.1 400 Bad Request\r\n\r\n',
    'zeros': lambda f: bytes(len(f)),
    'all ones': lambda f: b'\xff' * len(f),
    'empty frames': lambda f: b'\0' * 3,
    'an old heartbeat': lambda f: words(f, r15=[0x1234]),
    'faults while it runs': lambda f: words(f, r13=[1 << 2]),
    'a fault without a name': lambda f: words(f, r12=[0b1101]),
    'held pressures': lambda f: words(f, r12=[0b1010]),
    'every pressure too high': lambda f: words(
        f, r0=[20_000, 11_000, 32_700, 15_000, 12_000, 30_000]
    ),
    'every pressure too low': lambda f: words(f, r0=[0x10000 - 20_000] * 6),
}


@pytest.fixture
def loop():
    logging.disable(logging.CRITICAL)
    with simulated_time() as made:
        asyncio.set_event_loop(made)
        yield made
        asyncio.set_event_loop(None)
    logging.disable(logging.NOTSET)


class Lies:
    """A link to a board that lies from some time on, or answers correctly."""

    def __init__(self, loop):
        self.link = SimulatedLink(loop, SimulatedBoard, rtu=False)
        self.driver, self.cycle, self.board = (
            self.link.driver,
            self.link.driver.cycle,
            self.link.device,
        )
        self.lie = None
        answers = self.link.wire.answers
        self.link.wire.answers = lambda request: (
            self.lie(answers(request)) if self.lie else answers(request)
        )

    async def command(self, seconds, until=lambda: False):
        loop = asyncio.get_running_loop()
        end_s = loop.time() + seconds
        while loop.time() < end_s and not until():
            with contextlib.suppress(PneumaticDriverError):
                self.cycle.command(self.board.targets_pa)
            await asyncio.sleep(PERIOD_S)

    async def start(self):
        await self.driver.connect()
        await self.driver.arm()
        await self.command(0.2)
        assert self.board.runs


@pytest.mark.parametrize('kind', LIES)
def test_a_board_that_lies_is_vented_and_used_again(loop, kind):
    async def scenario():
        lies = Lies(loop)
        await lies.start()
        lies.lie = LIES[kind]
        await lies.command(LIES_S)
        assert not lies.cycle.armed and not lies.board.runs
        assert lies.cycle.link_error or lies.cycle.vent_pending or lies.cycle.latest.faults
        lies.lie = None

        async def recovered():
            while True:
                try:
                    await lies.driver.clear_faults()
                    await lies.driver.arm()
                    return
                except PneumaticDriverError:
                    await asyncio.sleep(PERIOD_S)

        await asyncio.wait_for(recovered(), RECOVERED_S)
        await lies.command(0.2)
        assert lies.board.runs and lies.cycle.armed
        await lies.driver.disconnect()
        await lies.driver.end()
        assert not lies.board.runs and lies.link.wrong == []

    loop.run_until_complete(scenario())


@pytest.mark.parametrize(
    ('kind', 'named'),
    [
        ('faults while it runs', 'over_pressure_2'),
        ('a fault without a name', 'a fault without a name'),
        ('every pressure too high', 'pressure_0_out_of_range'),
        ('every pressure too low', 'pressure_5_out_of_range'),
    ],
)
def test_what_a_running_board_reports_vents_it_within_50_ms_and_is_named(loop, kind, named):
    async def scenario():
        lies, reasons = Lies(loop), []
        lies.cycle._on_disarm = reasons.append
        await lies.start()
        lies.lie, lied_s = LIES[kind], loop.time()
        await lies.command(0.05, lambda: not lies.board.runs)
        assert not lies.board.runs and loop.time() - lied_s <= 0.05
        assert named in reasons[0]
        await lies.driver.end()

    loop.run_until_complete(scenario())
