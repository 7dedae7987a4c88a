"""Boards for the tests: the Python emulation on TCP and the firmware's own C code on a serial line, on a recording plant."""

import threading
import time
from collections.abc import Callable

import numpy as np

from soft_arm_sim.modbus_server import DeviceThread
from soft_arm_sim.valve_board import ValveBoard


def wait_for(condition: Callable[[], object], deadline_s: float = 3.0, what: str = 'the condition'):
    """Value of the condition as soon as it is true."""
    end_s, tick = time.monotonic() + deadline_s, threading.Event()
    while not (value := condition()):
        assert time.monotonic() < end_s, f'{what} did not come true within {deadline_s} s'
        tick.wait(0.002)
    return value


class RecordingPlant:
    """Ideal chambers: the pressure is what the valve is asked for, unless `forced_pa` says otherwise. Keeps every change."""

    def __init__(self):
        self.targets_pa = np.zeros(6)
        self.forced_pa = None
        self.changes = []  # (monotonic time [s], targets [Pa])
        self.board_clock_s = time.monotonic
        self.changed_board_s = 0.0  # the last change, on the board's own clock: a stall of this machine does not count

    def set_valve_targets_pa(self, targets_pa):
        targets_pa = np.array(targets_pa, dtype=float)
        if not np.array_equal(targets_pa, self.targets_pa):
            self.changes.append((time.monotonic(), targets_pa))
            self.changed_board_s = self.board_clock_s()
        self.targets_pa = targets_pa

    def sensor_pressures_pa(self):
        return self.targets_pa if self.forced_pa is None else self.forced_pa

    @property
    def vented(self) -> bool:
        return not np.any(self.targets_pa)

    def follows(self, targets_pa) -> bool:
        return np.allclose(self.targets_pa, targets_pa, atol=5.0)


class TcpBoard:
    """The emulated board; `link` is what RegisterMap.with_link takes."""

    def __init__(self):
        self.plant = RecordingPlant()
        self.restart(0)

    def restart(self, port: int | None = None):
        """Power the board on: a new board on the same port."""
        self.board = ValveBoard(self.plant, port=self.link['port'] if port is None else port)
        self.plant.board_clock_s = lambda: 1e-3 * self.board.logic.uptime_ms
        self._server = DeviceThread(self.board)
        self._server.start()
        self.link = {'host': '127.0.0.1', 'port': self.board.port}

    def write(self, address: int, values: list[int]) -> int:
        return self.board.logic.write(address, values)

    def board_faults(self) -> int:
        return self.board.logic.read(13, 1)[0]

    def stop(self):
        self._server.stop()
