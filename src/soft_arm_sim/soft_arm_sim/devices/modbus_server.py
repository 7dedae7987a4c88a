"""Serves the registers of an emulated device over Modbus TCP and runs the device's loop.

`ModbusDevice` belongs to an event loop; `DeviceThread` runs it in a separate thread. pymodbus'
server would answer only the first of several requests in one segment, answer function codes that a
device does not have, and answer writes with the values read back.
"""

import asyncio
import contextlib
import logging
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Collection

from soft_arm_sim.devices.modbus_pdu import NO_SUCH_UNIT, Registers, answer, refusal
from soft_arm_sim.errors import SimulationError

_log = logging.getLogger(__name__)
_HEADER = struct.Struct('>HHHB')  # transaction, protocol (0), bytes that follow, unit
# bytes that may follow; Modbus allows 254, but a write of too many words deserves its answer
_LONGEST = 300
_UNITS = 0, 1, 255  # 0 and 255 are what clients send that know no unit

# Longest time that counts for one tick: a stall of this process is not the host's silence.
MAX_TICK_S = 0.05

# Time for which an ending device still serves its host. A launch file signals all processes at
# once: a busy host needs time to vent, and the watchdog ends the hold of a killed host.
RELEASE_S = 1.0


class PortInUseError(OSError):
    """The device cannot listen on its port."""


class ModbusDevice(ABC):
    """A device on a TCP port, unit id 1.

    Args:
        name: The device, for messages.
        registers: Its registers.
        functions: Modbus function codes that it answers.
        host: Address to listen on.
        port: TCP port; 0 takes a free one, see `port` after `start`.
        tick_period_s: Period of the device's loop [s].

    Attributes:
        lock: Held while a request is answered.
        silent: While true, requests are lost, as after a cable was pulled; connections stay open.
        failure: Error of the device's loop, after which it serves no more.
    """

    def __init__(
        self,
        name: str,
        registers: Registers,
        functions: Collection[int],
        host: str,
        port: int,
        tick_period_s: float,
    ):
        self.name, self.host, self.port = name, host, port
        self.lock, self.silent = threading.Lock(), False
        self.failure: Exception | None = None
        self._registers, self._functions, self._tick_period_s = registers, functions, tick_period_s
        self._server: asyncio.Server | None = None
        self._ticking: asyncio.Task | None = None
        self._connections: set[asyncio.Task] = set()

    @abstractmethod
    def tick(self, dt_s: float) -> None:
        """Run one pass of the device's loop, `dt_s` [s] after the last."""

    @abstractmethod
    def power_off(self) -> None:
        """Set the device's outputs as they are without power."""

    @property
    def connected(self) -> bool:
        """Whether a client is connected."""
        return bool(self._connections)

    @property
    def released(self) -> bool:
        """Whether no host uses the device, so that it may end."""
        return not self.connected

    async def start(self) -> None:
        """Listen and run.

        Raises:
            PortInUseError: If the port cannot be listened on.
        """
        try:
            self._server = await asyncio.start_server(self._serve, self.host, self.port)
        except OSError as error:
            raise PortInUseError(
                f'{self.name}: cannot listen on {self.host}:{self.port}, probably another program '
                'does: stop it (ss -ltnp) or choose another port'
            ) from error
        self.port = self._server.sockets[0].getsockname()[1]
        self._ticking = asyncio.create_task(self._run())

    async def stop(self, patience_s: float = 0.0) -> None:
        """Serve until the device is released, at most for `patience_s` [s], then switch it off."""
        end_s = time.monotonic() + patience_s
        while self.failure is None and not self.released and time.monotonic() < end_s:
            await asyncio.sleep(self._tick_period_s)
        if self._ticking is not None:
            self._ticking.cancel()
            await asyncio.gather(self._ticking, return_exceptions=True)
        await self._disconnect()
        self.power_off()

    async def _disconnect(self) -> None:
        if self._server is not None:
            self._server.close()
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _run(self) -> None:
        last_s = time.monotonic()
        try:
            while True:
                await asyncio.sleep(self._tick_period_s)
                now_s = time.monotonic()
                self.tick(min(now_s - last_s, MAX_TICK_S))
                last_s = now_s
        except Exception as error:
            self.failure = error
            _log.critical('%s: its loop failed, it serves no more', self.name, exc_info=error)
            await self._disconnect()  # stale registers would look like a device
            self.power_off()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # asyncio runs this in a task of the connection
        self._connections.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self._answer_requests(reader, writer)
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer_requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            transaction, protocol, length, unit = _HEADER.unpack(
                await reader.readexactly(_HEADER.size)
            )
            if protocol != 0 or not 2 <= length <= _LONGEST:
                return  # not a Modbus frame and no way to resynchronise: close
            pdu = await reader.readexactly(length - 1)
            if self.silent:
                continue
            with self.lock:
                response = (
                    answer(self._registers, self._functions, pdu)
                    if unit in _UNITS
                    else refusal(pdu, NO_SUCH_UNIT)
                )
            writer.write(_HEADER.pack(transaction, 0, len(response) + 1, unit) + response)
            await writer.drain()
            # Let `_run` tick between requests that are already in the buffer.
            await asyncio.sleep(0)


class DeviceThread:
    """A device in a thread with its own event loop.

    `start` and `stop` may be called from any thread.
    """

    def __init__(self, device: ModbusDevice):
        self.device = device
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name=device.name, daemon=True
        )

    def start(self, timeout_s: float = 5.0) -> None:
        """Listen and run; returns when the port is open.

        Raises:
            PortInUseError: If the port cannot be listened on.
        """
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self.device.start(), self._loop).result(timeout_s)
        except PortInUseError:
            self.stop()
            raise

    def check(self) -> None:
        """See that the device still runs.

        Raises:
            SimulationError: If its loop has failed.
        """
        if self.device.failure is not None:
            raise SimulationError(
                f'{self.device.name}: its loop failed, it serves no more: {self.device.failure!r}'
            )

    def stop(self, patience_s: float = 0.0, timeout_s: float = 5.0) -> None:
        """End the device as `ModbusDevice.stop` does, and the thread."""
        if not self._thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(self.device.stop(patience_s), self._loop).result(
            patience_s + timeout_s
        )
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout_s)
        self._loop.close()


def serve(device: ModbusDevice, stack: contextlib.ExitStack) -> DeviceThread:
    """Start a device in a thread; the stack ends it once its host has released it."""
    thread = DeviceThread(device)
    thread.start()
    stack.callback(thread.stop, RELEASE_S)
    return thread
