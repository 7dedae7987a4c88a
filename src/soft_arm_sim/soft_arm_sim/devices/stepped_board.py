"""The valve board of a `SteppedRig` on a TCP port: it answers at any time of the wall clock."""

import threading

from soft_arm_sim.devices.modbus_pdu import Registers
from soft_arm_sim.devices.modbus_server import ModbusDevice
from soft_arm_sim.devices.valve_board import FUNCTIONS

_LOOK_S = 0.05  # at the host's connection, when the device is to end


class SteppedBoard(ModbusDevice):
    """Serves the registers of a board whose loop runs elsewhere.

    Args:
        registers: The registers.
        host: Address to listen on.
        port: TCP port; 0 takes a free one, see `port` after `start`.

    Attributes:
        lock: Held during each request; hold it while the board's loop runs.
    """

    def __init__(self, registers: Registers, host: str = '127.0.0.1', port: int = 5020):
        self.lock = threading.Lock()
        locked = _Locked(registers, self.lock)
        super().__init__('valve_board', locked, FUNCTIONS, host, port, _LOOK_S)

    def tick(self, dt_s: float) -> None:
        """Do nothing: time passes in the rig."""

    def power_off(self) -> None:
        """Do nothing: time has ended, so that nothing moves any more."""


class _Locked:
    def __init__(self, registers: Registers, lock: threading.Lock):
        self._registers, self._lock = registers, lock

    def read(self, address: int, count: int) -> list[int] | int:
        with self._lock:
            return self._registers.read(address, count)

    def write(self, address: int, values: list[int]) -> int:
        with self._lock:
            return self._registers.write(address, values)

    def refused_write(self, address: int, values: list[int]) -> None:
        with self._lock:
            self._registers.refused_write(address, values)
