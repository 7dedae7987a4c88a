"""Serves the registers of an emulated device over Modbus TCP, and lets its time pass.

`ModbusDevice` belongs to an event loop; `DeviceThread` runs it in a thread of its own.
"""

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from pymodbus.constants import ExcCodes
from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

ILLEGAL_ADDRESS, ILLEGAL_VALUE, DEVICE_FAILURE = 2, 3, 4

# A stall of the emulator's own process is not the host's silence: no more than this counts for one tick.
LONGEST_TICK_S = 0.05


class PortInUseError(OSError):
    """The device cannot listen on its port."""


class Registers(Protocol):
    """A device's registers; addresses on the wire."""

    def read(self, address: int, count: int) -> list[int] | int:
        """Words at an address, or the Modbus exception code."""

    def write(self, address: int, values: list[int]) -> int:
        """Write words at an address; the Modbus exception code, 0 if done. A refused write changes nothing."""


class ModbusDevice(ABC):
    """A device on a TCP port, unit id 1 or 255, which clients send that know no unit.

    Args:
        name: The device, for messages.
        registers: Its registers.
        blocks: (address, count) of each block of registers that exists.
        functions: Modbus function codes that it answers.
        host: Address to listen on.
        port: TCP port; 0 takes a free one, see `port` after `start`.
        tick_period_s: Period of the device's own loop [s].
    """

    def __init__(
        self,
        name: str,
        registers: Registers,
        blocks: Sequence[tuple[int, int]],
        functions: Sequence[int],
        host: str,
        port: int,
        tick_period_s: float,
    ):
        self.name, self.host, self.port = name, host, port
        self._registers, self._blocks, self._functions = registers, blocks, functions
        self._tick_period_s = tick_period_s
        self._server: ModbusTcpServer | None = None
        self._ticking: asyncio.Task | None = None

    @abstractmethod
    def tick(self, dt_s: float) -> None:
        """One pass of the device's own loop, `dt_s` [s] after the last."""

    @abstractmethod
    def power_off(self) -> None:
        """What the device's outputs do when it loses power."""

    async def start(self) -> None:
        """Listen and run.

        Raises:
            PortInUseError: If the port cannot be listened on.
        """
        data = [SimData(address=start, values=[0] * count, datatype=DataType.REGISTERS) for start, count in self._blocks]
        # Without device 0 the server would answer a wrong unit id with a traceback in its log.
        actions = {1: self._access, 255: self._access, 0: self._no_such_unit}
        devices = [SimDevice(id=unit, simdata=data, action=action) for unit, action in actions.items()]
        self._server = ModbusTcpServer(devices, address=(self.host, self.port))
        try:
            await self._server.serve_forever(background=True)
        except RuntimeError as error:
            raise PortInUseError(
                f'{self.name}: cannot listen on {self.host}:{self.port}, probably another program does: '
                f'stop it (ss -ltnp) or choose another port'
            ) from error
        self.port = self._server.transport.sockets[0].getsockname()[1]
        self._ticking = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Close the port and every connection, and switch the device off."""
        if self._ticking is not None:
            self._ticking.cancel()
            await asyncio.gather(self._ticking, return_exceptions=True)
        if self._server is not None:
            await self._server.shutdown()
        self.power_off()

    async def _run(self) -> None:
        last_s = time.monotonic()
        while True:
            await asyncio.sleep(self._tick_period_s)
            now_s = time.monotonic()
            self.tick(min(now_s - last_s, LONGEST_TICK_S))
            last_s = now_s

    async def _access(self, function_code: int, start: int, address: int, count: int, registers: list[int], values) -> ExcCodes | None:
        if function_code not in self._functions:
            return ExcCodes.ILLEGAL_FUNCTION
        if values is not None:
            return ExcCodes(code) if (code := self._registers.write(address, list(values))) else None
        words = self._registers.read(address, count)
        if isinstance(words, int):
            return ExcCodes(words)
        registers[address - start : address - start + count] = words
        return None

    async def _no_such_unit(self, *_request) -> ExcCodes:
        return ExcCodes.GATEWAY_NO_RESPONSE


class DeviceThread:
    """A device in a thread with its own event loop; `start` and `stop` may be called from any thread."""

    def __init__(self, device: ModbusDevice):
        self.device = device
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=device.name, daemon=True)

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

    def stop(self, timeout_s: float = 5.0) -> None:
        """Close the port and end the thread."""
        if not self._thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(self.device.stop(), self._loop).result(timeout_s)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout_s)
        self._loop.close()
