"""Emulated PCU2-V, the gripper's pneumatic controller: a Modbus TCP server with the finger on it.

No register map of the device is public: this one is assumed, the same as in
pneumatic_driver/maps/pcu2v.yaml. All that is known is that five values can be read and four of them
written. `Pcu2vLogic` is the device without sockets and clocks; `Pcu2v` serves it and drives the
plant.
"""

from typing import Protocol

from soft_arm_sim.devices.modbus_pdu import ILLEGAL_ADDRESS, ILLEGAL_VALUE
from soft_arm_sim.devices.modbus_server import ModbusDevice

PA_PER_COUNT = 100
PRESSURE, POSITIVE_TRIGGER, NEGATIVE_TRIGGER, POSITIVE_TARGET, NEGATIVE_TARGET, HEARTBEAT = range(6)
REGISTER_COUNT = 6
WATCHDOG_MS = 250

_ALLOWED = {
    POSITIVE_TRIGGER: range(2),
    NEGATIVE_TRIGGER: range(2),
    POSITIVE_TARGET: range(1201),
    NEGATIVE_TARGET: range(-900, 1),
    HEARTBEAT: range(0x10000),
}


class Plant(Protocol):
    """The plant at the controller's valves and sensor; called from the server's thread."""

    def advance(
        self,
        dt_s: float,
        positive_target_pa: float,
        negative_target_pa: float,
        positive_trigger: bool,
        negative_trigger: bool,
    ) -> None:
        """Simulate `dt_s` [s] with these set points [Pa] gauge and open (True) or shut valves."""

    def sensor_pressure_pa(self) -> float:
        """Return the reading of the sensor [Pa] gauge."""


class Pcu2vLogic:
    """Registers and safety of the controller; pressures in counts of 100 Pa.

    A heartbeat other than 0 starts the watchdog: if the register then does not change for
    `WATCHDOG_MS`, everything returns to its state at boot. A client that never writes the
    heartbeat has no watchdog.
    """

    def __init__(self) -> None:
        self.pressure = 0
        self.watchdog_trips = 0  # times that the watchdog has switched a trigger off
        self.vent()

    def vent(self) -> None:
        """Return to the state at boot: both triggers off, targets 0."""
        self.positive_target = self.negative_target = self.heartbeat = self.silence_ms = 0
        self.positive_trigger = self.negative_trigger = False

    def tick(self, dt_ms: int, pressure: int) -> None:
        """Run one pass of the controller's loop, `dt_ms` after the last, on a pressure [100 Pa]."""
        self.pressure = pressure
        self.silence_ms += dt_ms
        if self.heartbeat and self.silence_ms >= WATCHDOG_MS:
            self.watchdog_trips += self.positive_trigger or self.negative_trigger
            self.vent()

    def read(self, address: int, count: int) -> list[int] | int:
        """Return the words at an address, or the Modbus exception code."""
        if count < 1:
            return ILLEGAL_VALUE
        if address + count > REGISTER_COUNT:
            return ILLEGAL_ADDRESS
        values = [self.pressure, *self._settings()]
        return [value & 0xFFFF for value in values[address : address + count]]

    def write(self, address: int, values: list[int]) -> int:
        """Write words at an address; return the Modbus exception code, 0 for success.

        A refused write changes nothing. Switching both triggers on is refused: supply and vacuum
        would work against each other.
        """
        if address < POSITIVE_TRIGGER or address + len(values) > REGISTER_COUNT:
            return ILLEGAL_ADDRESS
        after = [self.pressure, *self._settings()]
        for register, value in enumerate(values, start=address):
            signed = value - 0x10000 if register == NEGATIVE_TARGET and value & 0x8000 else value
            if signed not in _ALLOWED[register]:
                return ILLEGAL_VALUE
            after[register] = signed
        if after[POSITIVE_TRIGGER] and after[NEGATIVE_TRIGGER]:
            return ILLEGAL_VALUE
        if after[HEARTBEAT] != self.heartbeat:
            self.silence_ms = 0
        positive, negative, self.positive_target, self.negative_target, self.heartbeat = after[
            POSITIVE_TRIGGER:
        ]
        self.positive_trigger, self.negative_trigger = bool(positive), bool(negative)
        return 0

    def refused_write(self, address: int, values: list[int]) -> None:
        """Do nothing: the device obeys every client."""

    def _settings(self) -> list[int]:
        return [
            int(self.positive_trigger),
            int(self.negative_trigger),
            self.positive_target,
            self.negative_target,
            self.heartbeat,
        ]


class Pcu2v(ModbusDevice):
    """The controller on a TCP port, with valves and sensor connected to a plant.

    `soft_arm_sim.devices.modbus_server.DeviceThread` runs it.

    Args:
        plant: What it drives and measures, such as a `PneumaticFinger`; time passes for it here.
        host: Address to listen on.
        port: TCP port; 0 takes a free one, see `port` after `start`.
        tick_period_s: Period of the controller's loop [s].
    """

    def __init__(
        self, plant: Plant, host: str = '127.0.0.1', port: int = 5021, tick_period_s: float = 0.005
    ):
        self.plant, self.logic = plant, Pcu2vLogic()
        self._rest_s = 0.0
        super().__init__('pcu2v', self.logic, (3, 4, 6, 16), host, port, tick_period_s)

    @property
    def released(self) -> bool:
        """Whether both triggers are off, and no client is connected."""
        return not (self.connected or self.logic.positive_trigger or self.logic.negative_trigger)

    def tick(self, dt_s: float) -> None:
        """Run one pass of the controller's loop: read the sensor, run the logic, set the valves."""
        self._rest_s += dt_s
        dt_ms = int(self._rest_s * 1e3)
        self._rest_s -= dt_ms * 1e-3
        counts = round(self.plant.sensor_pressure_pa() / PA_PER_COUNT)
        self.logic.tick(dt_ms, min(max(counts, -0x8000), 0x7FFF))
        self._drive(dt_s)

    def power_off(self) -> None:
        """Shut both valves, which vents the chamber."""
        self.logic.vent()
        self._drive(0.0)

    def _drive(self, dt_s: float) -> None:
        logic = self.logic
        self.plant.advance(
            dt_s,
            float(PA_PER_COUNT * logic.positive_target),
            float(PA_PER_COUNT * logic.negative_target),
            logic.positive_trigger,
            logic.negative_trigger,
        )
