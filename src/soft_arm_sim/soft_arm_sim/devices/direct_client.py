"""Modbus client for an emulated device in the same process: no socket, no thread.

Requests and responses are encoded as on a wire: what the device refuses there it refuses here.
"""

from collections.abc import Collection, Coroutine
from typing import Any, TypeVar

from pymodbus.client.mixin import ModbusClientMixin
from pymodbus.exceptions import ModbusIOException
from pymodbus.pdu import DecodePDU, ModbusPDU

from soft_arm_sim.devices.modbus_pdu import Registers, answer

T = TypeVar('T')


class DirectClient(ModbusClientMixin):
    """A client as pymodbus' asynchronous ones, for one device.

    Args:
        registers: The device's registers.
        functions: Modbus function codes that it answers.
    """

    def __init__(self, registers: Registers, functions: Collection[int]):
        super().__init__()
        self.connected = False
        self._registers, self._functions = registers, functions
        self._decoder = DecodePDU(is_server=False)

    async def connect(self) -> bool:
        """Connect; this always succeeds."""
        self.connected = True
        return True

    def close(self) -> None:
        """Close the connection."""
        self.connected = False

    def execute(self, no_response_expected: bool, request: ModbusPDU) -> Any:
        """Return the awaitable response to a request."""
        return self._answer(request)

    async def _answer(self, request: ModbusPDU) -> ModbusPDU:
        pdu = bytes([request.function_code]) + request.encode()
        response = self._decoder.decode(answer(self._registers, self._functions, pdu))
        if response is None:
            raise ModbusIOException('the answer cannot be decoded')
        response.dev_id, response.transaction_id = request.dev_id, request.transaction_id
        return response


def run_to_end(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, without an event loop.

    Raises:
        RuntimeError: If it waits.
    """
    try:
        coroutine.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    coroutine.close()
    raise RuntimeError('the coroutine waits: it needs an event loop')
