"""Emulated valve board: a Modbus TCP server that behaves as firmware/board_logic.c.

`BoardLogic` is the firmware's logic, register for register and in whole numbers, without sockets
and clocks. `ValveBoard` serves it on a port and connects it to a plant. The addresses follow from
the number of channels as in `pneumatic_driver.valve_board_map`; constants here are for six.
"""

from typing import Protocol

import numpy as np

from soft_arm_sim.devices.modbus_pdu import BUSY, DEVICE_FAILURE, ILLEGAL_ADDRESS, ILLEGAL_VALUE
from soft_arm_sim.devices.modbus_server import ModbusDevice

MIN_CHANNELS, MAX_CHANNELS = 6, 14
PA_PER_COUNT = 10
VENT, HOLD, RUN = range(3)
SETTINGS_START = 100
# settings after the targets; key and holder are one block
HEARTBEAT, ENABLE, MODE, WATCHDOG, FAULT_CLEAR, SLEW, KEY = range(7)
HOLDER, HOLDER_WORDS = KEY + 2, 10
MAP_ID = 0x5B00  # plus the number of channels
FAULT_CLEAR_KEY = 0xA55A
# bits of the faults, after one for the pressure and one for the sensor of every channel
WATCHDOG_TRIPPED, SUPPLY, FOREIGN_MASTER, BROWN_OUT_DETECTION_OFF = BOARD_FAULTS = range(4)
CODES_AHEAD = 6  # as many requests can be lost within the watchdog's time

TARGET_LIMIT = 10_000
PRESSURE_LIMIT, PRESSURE_LIMIT_MS = 10_500, 15
SUPPLY_RANGE, SUPPLY_LIMIT_MS = range(12_000, 31_001), 100
TICK_BUDGET_MS = 20
FUNCTIONS = 3, 4, 6, 16, 23  # Modbus function codes that it answers
_UINT16 = 0xFFFF

_ALLOWED = {
    HEARTBEAT: range(0x10000),
    MODE: range(RUN + 1),
    WATCHDOG: range(50, 301),
    FAULT_CLEAR: (FAULT_CLEAR_KEY,),
    SLEW: range(1, 5001),
}


class Plant(Protocol):
    """The plant at the board's valves and sensors; called from the board's thread."""

    def set_valve_targets_pa(self, targets_pa: np.ndarray) -> None:
        """Set the pressures commanded to the valves [Pa] gauge, shape (channels,)."""

    def sensor_pressures_pa(self) -> np.ndarray:
        """Return the readings of the sensors [Pa] gauge, shape (channels,)."""


def _int16(word: int) -> int:
    return word - 0x10000 if word & 0x8000 else word


class BoardLogic:
    """Registers and safety of the board; pressures in counts of 10 Pa.

    At boot it is vented, no channel is enabled, and no host holds it. A host claims the board with
    its own key before it may command pressures; each of its writes then carries the next code
    of that key as the heartbeat. Any other write vents a board that drives its valves, and latches
    a fault. Silence ends the hold.

    Args:
        channels: Number of its channels, 6 to 14.
        brown_out_detection: Whether its processor has it on; without it the board stays vented.
    """

    def __init__(self, channels: int = MIN_CHANNELS, brown_out_detection: bool = True) -> None:
        self.channels, self._brown_out_detection = channels, brown_out_detection
        self.pressures = [0] * channels
        self.supply = 0
        self.heartbeat, self.watchdog_ms, self.slew_kpa_s = 0, 300, 2000
        self.overruns, self.uptime_ms, self.supply_ms = 0, 0, 0
        self._clear_faults()
        self._over_ms, self._sensor_ms = [0] * channels, [0] * channels
        self._vent()
        self._release()

    @property
    def _fault_words(self) -> int:
        return 1 if 2 * self.channels + len(BOARD_FAULTS) <= 16 else 2

    def _fault(self, bit: int) -> int:
        return 1 << (2 * self.channels + bit)

    def _clear_faults(self) -> None:
        """Clear what was latched; a fault that persists is latched again by the next tick."""
        self.faults = 0 if self._brown_out_detection else self._fault(BROWN_OUT_DETECTION_OFF)

    def _release(self) -> None:
        self.held, self.silence_ms = False, 0  # silence counts from the holder's last code
        self._key, self.holder = [0, 0], [0] * HOLDER_WORDS

    def _vent(self) -> None:
        self.mode, self.enable = VENT, 0
        self.targets = [0] * self.channels
        self.drives_pa = [0] * self.channels

    def tick(self, dt_ms: int, pressures: list[int], supply: int) -> None:
        """Run one pass of the board's loop, `dt_ms` after the last, on new readings [10 Pa]."""
        self.uptime_ms += dt_ms
        if dt_ms > TICK_BUDGET_MS:
            self.overruns = min(self.overruns + 1, _UINT16)
        self.pressures, self.supply = list(pressures), supply
        self._check_measurements(dt_ms)
        self.silence_ms += dt_ms
        if self.held and self.silence_ms >= self.watchdog_ms:
            self.faults |= self._fault(WATCHDOG_TRIPPED) if self.mode != VENT else 0
            self._release()
        if self.faults:
            self._vent()
        self._move_drives(dt_ms)

    def _check_measurements(self, dt_ms: int) -> None:
        for k, pressure in enumerate(self.pressures):
            if -PRESSURE_LIMIT <= pressure <= PRESSURE_LIMIT:
                self._over_ms[k] = self._sensor_ms[k] = 0
                continue
            self._over_ms[k] = (
                min(self._over_ms[k] + dt_ms, _UINT16) if pressure > PRESSURE_LIMIT else 0
            )
            self._sensor_ms[k] = (
                min(self._sensor_ms[k] + dt_ms, _UINT16) if pressure < -PRESSURE_LIMIT else 0
            )
            if self._over_ms[k] >= PRESSURE_LIMIT_MS:
                self.faults |= 1 << k
            if self._sensor_ms[k] >= PRESSURE_LIMIT_MS:
                self.faults |= 1 << (self.channels + k)
        outside = self.mode != VENT and self.supply not in SUPPLY_RANGE
        self.supply_ms = min(self.supply_ms + dt_ms, _UINT16) if outside else 0
        if self.supply_ms >= SUPPLY_LIMIT_MS:
            self.faults |= self._fault(SUPPLY)

    def _move_drives(self, dt_ms: int) -> None:
        step_pa = self.slew_kpa_s * dt_ms  # kPa/s times ms is Pa
        for k, target in enumerate(self.targets):
            if self.mode == VENT or not self.enable >> k & 1:
                self.drives_pa[k] = 0
            elif self.mode == RUN:
                self.drives_pa[k] += max(
                    -step_pa, min(step_pa, target * PA_PER_COUNT - self.drives_pa[k])
                )

    def _state(self) -> list[int]:
        drives = [(drive_pa + 100_000) // PA_PER_COUNT for drive_pa in self.drives_pa]
        status = (
            (self.mode == RUN) | (self.mode == HOLD) << 1 | (self.faults != 0) << 2 | self.held << 3
        )
        return [
            *self.pressures,
            *drives,
            status,
            *([self.faults >> 16] if self._fault_words == 2 else []),
            self.faults,
            self.uptime_ms // 1000,
            self.heartbeat,
            self.overruns,
            self.supply,
            MAP_ID | self.channels,
        ]

    def _settings(self) -> list[int]:
        own = [
            *self.targets,
            self.heartbeat,
            self.enable,
            self.mode,
            self.watchdog_ms,
            0,
            self.slew_kpa_s,
        ]
        return [*own, 0, 0, *self.holder]  # keys are never read back

    def read(self, address: int, count: int) -> list[int] | int:
        """Return the words at an address, or the Modbus exception code."""
        if not 1 <= count <= 125:
            return ILLEGAL_VALUE
        for start, words in ((0, self._state()), (SETTINGS_START, self._settings())):
            if start <= address and address + count <= start + len(words):
                return [word & _UINT16 for word in words[address - start : address - start + count]]
        return ILLEGAL_ADDRESS

    def write(self, address: int, values: list[int]) -> int:
        """Write words at an address; return the Modbus exception code, 0 for success.

        A refused write changes nothing.
        """
        if not 1 <= len(values) <= 123:
            return ILLEGAL_VALUE
        first = address - SETTINGS_START - self.channels  # negative: a target
        if first == KEY and len(values) == 2 + HOLDER_WORDS:
            return self._claim(values)
        if self.held and not self._from_holder(first, values):
            return self._foreign_write(first, values)
        if first < -self.channels or first + len(values) > HOLDER + HOLDER_WORDS:
            return ILLEGAL_ADDRESS
        settings = list(enumerate(values, start=first))
        for index, value in settings:
            if code := self._refuse(index, value):
                return code
        for index, value in settings:
            self._set(index, value)
        return 0

    def refused_write(self, address: int, values: list[int]) -> None:
        """Vent and latch if a write that is refused in any case is not the holder's."""
        first = address - SETTINGS_START - self.channels
        if self.held and not self._from_holder(first, values):
            self._foreign_write(first, values)

    def _claim(self, values: list[int]) -> int:
        if self.held:
            return BUSY
        self._key, self.holder = values[:2], values[2:]
        self.held, self.silence_ms, self.heartbeat = True, 0, 0
        return 0

    def _from_holder(self, first: int, values: list[int]) -> bool:
        multiplier, increment, code = self._key[0] & 0xFFF8 | 5, self._key[1] | 1, self.heartbeat
        if not first <= HEARTBEAT < first + len(values):
            return False
        for _ in range(CODES_AHEAD):
            code = (code * multiplier + increment) & _UINT16
            if values[HEARTBEAT - first] == code:
                return True
        return False

    def _foreign_write(self, first: int, values: list[int]) -> int:
        if self.mode != VENT:
            self.faults |= self._fault(FOREIGN_MASTER)
            self._vent()
        only_vents = first in (ENABLE, MODE) and first + len(values) == MODE + 1 and not any(values)
        return 0 if only_vents else BUSY  # anybody may vent the board

    def _refuse(self, index: int, value: int) -> int:
        if index < HEARTBEAT:
            return 0 if -TARGET_LIMIT <= _int16(value) <= TARGET_LIMIT else ILLEGAL_VALUE
        if index == ENABLE:
            return 0 if value < 1 << self.channels else ILLEGAL_VALUE
        if index not in _ALLOWED:
            return ILLEGAL_ADDRESS  # a part of the session
        if value not in _ALLOWED[index]:
            return ILLEGAL_VALUE
        return (
            DEVICE_FAILURE
            if index == MODE and value != VENT and (self.faults or not self.held)
            else 0
        )

    def _set(self, index: int, value: int) -> None:
        if index < HEARTBEAT:
            self.targets[index] = _int16(value)  # counted from the end: index is negative
        elif index == HEARTBEAT:
            self.silence_ms, self.heartbeat = 0, value
        elif index == ENABLE:
            self.enable = value
        elif index == MODE:
            self._set_mode(value)
        elif index == WATCHDOG:
            self.watchdog_ms = value
        elif index == FAULT_CLEAR:
            self._clear_faults()
        elif index == SLEW:
            self.slew_kpa_s = value

    def _set_mode(self, mode: int) -> None:
        enable = self.enable
        if VENT in (mode, self.mode):
            self._vent()  # leaving VENT starts from ambient pressure, without earlier set points
            if mode != VENT:
                self.enable = enable
        self.mode = mode


class BoardLoop:
    """The loop of the board: `BoardLogic` between its registers and a plant.

    Args:
        plant: Plant that it drives and measures.
        supply_pa: Supply pressure that the board measures [Pa] gauge.
        channels: Number of its channels, 6 to 14.
    """

    def __init__(self, plant: Plant, supply_pa: float = 200e3, channels: int = MIN_CHANNELS):
        self.plant, self.logic, self._supply_pa = plant, BoardLogic(channels), supply_pa
        self._rest_s = 0.0

    def tick(self, dt_s: float) -> None:
        """Run one pass of the board's loop: read the sensors, run the logic, set the valves."""
        self._rest_s += dt_s
        dt_ms = int(self._rest_s * 1e3 + 1e-6)
        self._rest_s -= dt_ms * 1e-3
        readings_pa = np.asarray(self.plant.sensor_pressures_pa()).tolist()
        *counts, supply = [
            min(max(round(p / PA_PER_COUNT), -0x8000), 0x7FFF)
            for p in (*readings_pa, self._supply_pa)
        ]
        self.logic.tick(dt_ms, counts, supply)
        self.plant.set_valve_targets_pa(np.array(self.logic.drives_pa, dtype=float))

    def power_off(self) -> None:
        """Cut the power of the valves, which vents them."""
        self.plant.set_valve_targets_pa(np.zeros(self.logic.channels))


class ValveBoard(BoardLoop, ModbusDevice):
    """The board on a TCP port, with its valves and sensors connected to a plant.

    Args:
        plant, supply_pa, channels: As of `BoardLoop`.
        host: Address to listen on.
        port: TCP port; 0 takes a free one, see `port` after `start`.
        tick_period_s: Period of the board's loop [s].
    """

    def __init__(
        self,
        plant: Plant,
        host: str = '127.0.0.1',
        port: int = 5020,
        tick_period_s: float = 0.005,
        supply_pa: float = 200e3,
        channels: int = MIN_CHANNELS,
    ):
        BoardLoop.__init__(self, plant, supply_pa, channels)
        ModbusDevice.__init__(self, 'valve_board', self.logic, FUNCTIONS, host, port, tick_period_s)

    @property
    def released(self) -> bool:
        """Whether no host holds the board."""
        return not self.logic.held
