"""A driver and an emulated device on a link of simulated time: no socket, no thread, no waiting.

Between both are pymodbus' own client and frames, and a wire that can spoil any one message.
"""

import asyncio
import contextlib
import heapq
import time
from collections.abc import Callable
from contextlib import contextmanager

from pymodbus.framer.rtu import FramerRTU

from pneumatic_driver.async_driver import AsyncDriver
from pneumatic_driver.cycle import Cycle
from pneumatic_driver.errors import PneumaticDriverError
from pneumatic_driver.modbus_link import client_for
from pneumatic_driver.register_map import load_map
from soft_arm_sim.devices.modbus_pdu import answer

from .bench import PERIOD_S, TICK_MS

LATENCY_S = 0.0005  # of each message
COMMAND_TIMEOUT_S = 0.1
VENTED_S = 0.5  # after the request
# A write that took effect late, on a connection that was closed before, is noticed with a reading.
NOTICED_S = 1.5 * PERIOD_S
Spoil = Callable[[bytes], list[tuple[float, bytes]]]  # a message: what arrives, with its delays [s]


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes when nothing is left to do, at once."""

    now_s = 1.0

    def time(self) -> float:
        return self.now_s

    def _run_once(self):
        timers = self._scheduled
        while timers and timers[0]._cancelled:
            heapq.heappop(timers)._scheduled = False
            self._timer_cancelled_count -= 1
        if not self._ready and timers:
            self.now_s = max(self.now_s, timers[0]._when)
        super()._run_once()


@contextmanager
def simulated_time():
    """A loop on which everything that asks for the time gets its own."""
    loop, before = SimulatedLoop(), time.monotonic
    time.monotonic = loop.time
    try:
        yield loop
    finally:
        time.monotonic = before
        loop.close()


class Wire:
    """Carries messages in their order, spoils those that `spoil` names by their number."""

    def __init__(self, loop, device, rtu: bool):
        self._loop, self._device, self.rtu = loop, device, rtu
        self.messages = 0
        self.spoil: dict[int, Spoil] = {}
        self.requests = []  # without their transaction numbers and checksums
        self.connections = []
        self.opening_s = 0.0  # time that opening a connection takes

    def client(self, link, trace):
        client = client_for(link, trace)
        client.ctx.call_create = lambda: self._connect(client.ctx)
        return client

    def cut(self):
        for connection in self.connections:
            connection.lose()
        self.connections.clear()

    async def _connect(self, protocol):
        await asyncio.sleep(self.opening_s)
        connection = _Connection(self, protocol)
        self.connections.append(connection)
        protocol.connection_made(connection)
        return connection, protocol

    def arrivals(self, message: bytes) -> list[tuple[float, bytes]]:
        spoil = self.spoil.get(self.messages)
        self.messages += 1
        return spoil(message) if spoil else [(0.0, message)]

    def answers(self, request: bytes) -> bytes:
        """The device's answer to a frame, or nothing."""
        if self.rtu:
            checksum = FramerRTU.compute_CRC(request[:-2]).to_bytes(2)
            if len(request) < 4 or request[-2:] != checksum or request[0] != 1:
                return b''
            said = request[:1] + self._answer(request[1:-2])
            return said + FramerRTU.compute_CRC(said).to_bytes(2)
        said = self._answer(request[7:])
        return request[:4] + (len(said) + 1).to_bytes(2) + request[6:7] + said

    def _answer(self, pdu: bytes) -> bytes:
        return answer(self._device.logic, self._device.functions, pdu)


class _Connection:
    """A transport as asyncio's; at its other end is the device."""

    def __init__(self, wire: Wire, protocol):
        self._wire, self._protocol, self._loop = wire, protocol, asyncio.get_running_loop()
        self._open, self._stream = True, b''
        self._last_s = {True: 0.0, False: 0.0}  # the last arrival in each direction

    def write(self, data: bytes) -> None:
        self._wire.requests.append(data[:-2] if self._wire.rtu else data[6:])
        self._send(data, self._arrive, True)

    def close(self) -> None:
        self._open = False

    abort = close

    def is_closing(self) -> bool:
        return not self._open

    def lose(self) -> None:
        if self._open:
            self._open = False
            self._protocol.connection_lost(None)

    def _send(self, data, arrive, to_device: bool) -> None:
        for delay_s, part in self._wire.arrivals(data):
            at_s = max(self._loop.time() + LATENCY_S + delay_s, self._last_s[to_device])
            self._last_s[to_device] = at_s
            self._loop.call_at(at_s, arrive, part)

    def _arrive(self, data: bytes) -> None:
        """At the device, also after the host has closed the connection."""
        if self._wire.rtu:
            self._reply(data)
            return
        self._stream += data
        while len(self._stream) >= 7:
            length = int.from_bytes(self._stream[4:6])
            if self._stream[2:4] != b'\0\0' or not 2 <= length <= 254:
                self.lose()
                return
            if len(self._stream) < 6 + length:
                return
            request, self._stream = self._stream[: 6 + length], self._stream[6 + length :]
            self._reply(request)

    def _reply(self, request: bytes) -> None:
        if said := self._wire.answers(request):
            self._send(said, self._receive, False)

    def _receive(self, data: bytes) -> None:
        if not self._open:
            return
        try:
            self._protocol.data_received(data)
        except Exception:  # as asyncio's transports, which log the error
            self.lose()
            raise


class SimulatedLink:
    """A driver, a wire and a device; it notes when the driver claims what is not so.

    Attributes:
        first, last: Messages from which on, and up to which, a script differs from the others.
        wrong: Violations, in words.
        reasons: Reasons with which the driver disarmed itself.
    """

    def __init__(self, loop, device_type, rtu: bool):
        self.device, self.loop = device_type(), loop
        self.wire = Wire(loop, self.device, rtu)
        self.wrong, self.reasons, self.first, self.last = [], [], 0, 0
        loop.set_exception_handler(lambda _, context: self.wrong.append(repr(context)))
        register_map = load_map(device_type.map).with_link(
            serial_device='/dev/simulated' if rtu else ''
        )
        driven = device_type.device_type(
            register_map, device_type.map, clock=loop.time, new_client=self.wire.client
        )
        cycle = Cycle(driven, COMMAND_TIMEOUT_S, on_disarm=self.reasons.append, clock=loop.time)
        self.cycle, self.driver = cycle, AsyncDriver(cycle, 1.0 / PERIOD_S)
        self._tick()

    @property
    def claims_vented(self) -> bool:
        return not self.cycle.vent_pending and not self.cycle.device.enabled

    def _tick(self):
        self.device.tick()
        self.loop.call_later(1e-3 * TICK_MS, self._tick)
        if not (self.claims_vented and self.device.runs):
            self._true_s = self.loop.time()
        elif self.loop.time() - self._true_s > NOTICED_S:
            self.wrong.append(f'{self.loop.time():.3f} s: claims vented, runs')

    async def drive(self, cycles: int = 3):
        for action in (self.driver.connect, self.driver.arm):
            await self.act(action)
        self.first = self.wire.messages
        await self.command(cycles)

    async def act(self, action) -> bool:
        try:
            await action()
        except PneumaticDriverError:
            return False
        return True

    async def command(self, cycles: int, until=lambda: False):
        for _ in range(cycles):
            if until():
                return
            with contextlib.suppress(PneumaticDriverError):
                self.cycle.command(self.device.targets_pa)
            await asyncio.sleep(PERIOD_S)

    async def venting(self, action):
        """Run an action that vents: when it returns the device is vented, and it is so in time."""
        check = self.loop.call_later(VENTED_S, self._in_time)
        if await self.act(action) and self.device.runs:
            self.wrong.append('the call has returned, the device runs')
        await self._watch(check)

    async def vents_by_itself(self):
        await self._watch(self.loop.call_later(VENTED_S, self._in_time))

    async def _watch(self, check):
        self.last = self.wire.messages + 6
        await asyncio.sleep(max(0.0, check.when() - self.loop.time()) + 0.05)

    def _in_time(self):
        if self.device.runs:
            self.wrong.append(f'not vented {VENTED_S} s after the request')


def run(script, device_type, rtu: bool = False, spoil: dict[int, Spoil] | None = None):
    """Run a script, a coroutine function of a SimulatedLink, in simulated time; return the link."""
    with simulated_time() as loop:
        asyncio.set_event_loop(loop)
        link = SimulatedLink(loop, device_type, rtu)
        link.wire.spoil = spoil or {}

        async def whole():
            await script(link)
            await link.driver.end()

        loop.run_until_complete(whole())
        asyncio.set_event_loop(None)
        return link
