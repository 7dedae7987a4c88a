"""A driver and an emulated device on a link of simulated time: no socket, no thread, no waiting.

Between both are pymodbus' own client and frames, and a wire that can spoil any one message.
"""

import asyncio
import heapq
import time
from collections.abc import Callable
from contextlib import contextmanager

from pymodbus.framer.rtu import FramerRTU

from pneumatic_driver.async_driver import AsyncDriver
from pneumatic_driver.board import Board
from pneumatic_driver.cycle import Cycle
from pneumatic_driver.modbus_link import client_for
from pneumatic_driver.pcu2v import Pcu2v
from pneumatic_driver.register_map import load_map
from soft_arm_sim.devices.modbus_pdu import answer
from soft_arm_sim.devices.pcu2v import Pcu2vLogic
from soft_arm_sim.devices.valve_board import FUNCTIONS, VENT, BoardLogic

LATENCY_S = 0.0005  # of each message
TICK_MS = 5
COMMAND_TIMEOUT_S = 0.1
PERIOD_S = 0.02
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


class SimulatedBoard:
    map, device = 'valve_board', Board
    targets_pa = (10e3, -10e3, 0.0, 0.0, 5e3, 0.0)
    functions = FUNCTIONS

    def __init__(self):
        self.logic = BoardLogic()

    def tick(self):
        self.logic.tick(TICK_MS, [drive_pa // 10 for drive_pa in self.logic.drives_pa], 20_000)

    @property
    def runs(self) -> bool:
        return self.logic.mode != VENT


class SimulatedGripper:
    map, device = 'pcu2v', Pcu2v
    targets_pa = (50e3,)
    functions = (3, 4, 6, 16)

    def __init__(self):
        self.logic = Pcu2vLogic()

    def tick(self):
        self.logic.tick(TICK_MS, 500 * self.logic.positive_trigger)

    @property
    def runs(self) -> bool:
        return self.logic.positive_trigger or self.logic.negative_trigger


class Wire:
    """Carries messages in their order, spoils those that `spoil` names by their number."""

    def __init__(self, loop, device, rtu: bool):
        self._loop, self._device, self._rtu = loop, device, rtu
        self.messages = 0
        self.spoil: dict[int, Spoil] = {}
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
        if self._rtu:
            if len(request) < 4 or FramerRTU.compute_CRC(request[:-2]) != int.from_bytes(
                request[-2:]
            ):
                return b''
            if request[0] != 1:
                return b''
            said = request[:1] + self._answer(request[1:-2])
            return said + FramerRTU.compute_CRC(said).to_bytes(2)
        said = self._answer(request[7:])
        return request[:4] + (len(said) + 1).to_bytes(2) + request[6:7] + said

    def _answer(self, pdu: bytes) -> bytes:
        return answer(self._device.logic, self._device.functions, pdu)

    @property
    def rtu(self) -> bool:
        return self._rtu


class _Connection:
    """A transport as asyncio's; at its other end is the device."""

    def __init__(self, wire: Wire, protocol):
        self._wire, self._protocol, self._loop = wire, protocol, asyncio.get_running_loop()
        self._open, self._stream = True, b''
        self._last_s = {True: 0.0, False: 0.0}  # the last arrival in each direction

    def write(self, data: bytes) -> None:
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
        if self._open:
            self._protocol.data_received(data)


class SimulatedLink:
    """A driver, a wire and a device; it notes when the driver claims what is not so."""

    def __init__(self, loop, device_type, rtu: bool):
        self.device, self._loop = device_type(), loop
        self.wire = Wire(loop, self.device, rtu)
        self.wrong = []
        register_map = load_map(device_type.map).with_link(
            serial_device='/dev/simulated' if rtu else ''
        )
        driven = device_type.device(
            register_map, device_type.map, clock=loop.time, new_client=self.wire.client
        )
        cycle = Cycle(driven, COMMAND_TIMEOUT_S, clock=loop.time)
        self.driver = AsyncDriver(cycle, 1.0 / PERIOD_S)
        self._tick()

    @property
    def claims_vented(self) -> bool:
        cycle = self.driver.cycle
        return not cycle.vent_pending and not cycle.device.enabled

    def _tick(self):
        self.device.tick()
        self._loop.call_later(1e-3 * TICK_MS, self._tick)
        if not (self.claims_vented and self.device.runs):
            self._true_s = self._loop.time()
        elif self._loop.time() - self._true_s > NOTICED_S:
            self.wrong.append(f'{self._loop.time():.3f} s: claims vented, runs')
