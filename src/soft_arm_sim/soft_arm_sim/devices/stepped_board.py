"""The valve board of a `SteppedRig` on a TCP port: it answers at any time of the wall clock."""

from soft_arm_sim.devices.modbus_pdu import Registers
from soft_arm_sim.devices.modbus_server import ModbusDevice
from soft_arm_sim.devices.valve_board import FUNCTIONS

_CHECK_S = 0.05  # period of the check whether the host has disconnected, at the end


class SteppedBoard(ModbusDevice):
    """Serves the registers of a board whose loop runs elsewhere, with `lock` held.

    Args:
        registers: The registers.
        host: Address to listen on.
        port: TCP port; 0 takes a free one, see `port` after `start`.
    """

    def __init__(self, registers: Registers, host: str = '127.0.0.1', port: int = 5020):
        super().__init__('valve_board', registers, FUNCTIONS, host, port, _CHECK_S)

    def tick(self, dt_s: float) -> None:
        """Do nothing: time passes in the rig."""

    def power_off(self) -> None:
        """Do nothing: time has ended, so that nothing moves any more."""
