"""Devices for the tests, each on a recording plant.

The valve board and the PCU2-V, emulated on TCP. For the firmware see firmware.py.
"""

import contextlib
import threading
import time
from collections.abc import Callable

import numpy as np

from pneumatic_driver.board import Board
from pneumatic_driver.errors import CommandError, LinkError, RefusedError
from pneumatic_driver.hold import Hold, name_words
from pneumatic_driver.pcu2v import Pcu2v
from soft_arm_sim.devices import pcu2v
from soft_arm_sim.devices.modbus_server import DeviceThread
from soft_arm_sim.devices.valve_board import ValveBoard
from steady_clock import turns


def wait_for(
    condition: Callable[[], object], deadline_s: float = 60.0, what: str = 'the condition'
):
    """Return the value of the condition as soon as it is true."""
    end_s, tick = time.monotonic() + deadline_s, threading.Event()
    while not (value := condition()):
        assert time.monotonic() < end_s, f'{what} did not come true within {deadline_s} s'
        tick.wait(0.002)
    return value


def answered(request) -> str:
    """Repeat a request until it is answered; return the text of a refusal, or ''."""
    refusals = []

    def asked():
        try:
            request()
        except RefusedError as error:
            refusals.append(str(error))
        except LinkError:
            return False
        return True

    wait_for(asked)
    return ''.join(refusals)


def keep_commanding(driver, rig, until, deadline_s=10.0):
    """Command the rig's set points until a condition is true; return its value."""
    with turns() as own:

        def step():
            own.turn()
            with contextlib.suppress(CommandError):
                driver.command(rig.targets_pa)
            return until()

        return wait_for(step, deadline_s)


def moving(recorder, rig):
    """Arm, and command until the device follows; return the driver."""
    for act in (recorder.driver.connect, recorder.driver.arm):
        assert not answered(act)
    return keep_commanding(
        recorder.driver, rig, lambda: rig.plant.follows(rig.targets_pa) and recorder.driver
    )


class Host:
    """Another host that holds a board by means of `write(address, values)`."""

    def __init__(self, write: Callable[[int, list[int]], int], name: str = 'bench 17'):
        self._write, self.name, self.hold = write, name, Hold()

    def claim(self) -> int:
        return self._write(112, [*self.hold.key, *name_words(self.name, 10)])

    def run(self) -> int:
        return self._write(106, [self.hold.next_code(), 63, 2])

    def command(self, targets: list[int]) -> int:
        return self._write(100, [*targets, self.hold.next_code()])


class RecordingPlant:
    """Ideal chambers at their valves' set points, or `forced_pa`; records every change."""

    def __init__(self, channels: int = 6):
        self.targets_pa = np.zeros(channels)
        self.forced_pa = None
        self.changes = []  # (monotonic time [s], targets [Pa])
        self.device_clock_s = time.monotonic
        # Time of the last change on the device's clock, which does not count stalls of the machine.
        self.changed_device_s = 0.0

    def set_valve_targets_pa(self, targets_pa):
        targets_pa = np.array(targets_pa, dtype=float)
        if not np.array_equal(targets_pa, self.targets_pa):
            self.changes.append((time.monotonic(), targets_pa))
            self.changed_device_s = self.device_clock_s()
        self.targets_pa = targets_pa

    def sensor_pressures_pa(self):
        return self.targets_pa if self.forced_pa is None else self.forced_pa

    @property
    def vented(self) -> bool:
        return not np.any(self.targets_pa)

    def follows(self, targets_pa) -> bool:
        return np.allclose(self.targets_pa, targets_pa, atol=5.0)


class RecordingChamber(RecordingPlant):
    """Chamber of the gripper."""

    def __init__(self):
        super().__init__(1)
        self.time_s = 0.0
        self.device_clock_s = lambda: self.time_s

    def advance(
        self, dt_s, positive_target_pa, negative_target_pa, positive_trigger, negative_trigger
    ):
        assert not (positive_trigger and negative_trigger)
        self.time_s += dt_s
        self.set_valve_targets_pa(
            [positive_target_pa * positive_trigger + negative_target_pa * negative_trigger]
        )

    def sensor_pressure_pa(self):
        return float(self.sensor_pressures_pa()[0])


class TcpRig:
    """Emulated device in a thread; `link` holds the arguments of RegisterMap.with_link."""

    map: str
    driver: type
    targets_pa: list[float]

    def __init__(self):
        self.plant = self.make_plant()
        self.restart(0)

    def restart(self, port: int | None = None):
        """Power on: a new device on the same port."""
        self.device = self.make_device(self.link['port'] if port is None else port)
        self._thread = DeviceThread(self.device)
        self._thread.start()
        self.link = self.second_link = {'host': '127.0.0.1', 'port': self.device.port}

    def stop(self, patience_s: float = 0.0):
        self._thread.stop(patience_s)


class SlowedBoard(ValveBoard):
    """Board with a slower clock, so that its watchdog waits longer for a stalled driver."""

    clock_rate = 1.0

    def tick(self, dt_s):
        super().tick(self.clock_rate * dt_s)


class TcpBoard(TcpRig):
    map, driver = 'valve_board', Board
    targets_pa = [10_000.0, -20_000.0, 30_000.0, -50_000.0, 5_000.0, 10.0]
    make_plant = RecordingPlant

    def make_device(self, port):
        board = SlowedBoard(self.plant, port=port)
        self.plant.device_clock_s = lambda: 1e-3 * self.device.logic.uptime_ms
        return board

    @property
    def board(self):
        return self.device.logic

    def drive_from_elsewhere(self):
        self.other = Host(self.board.write)
        assert self.other.claim() == self.other.run() == self.other.command([1000] * 6) == 0

    def board_faults(self) -> int:
        return self.board.read(13, 1)[0]

    def watchdog_tripped(self) -> bool:
        return bool(self.board_faults() & 1 << 12)


class TcpGripper(TcpRig):
    map, driver = 'pcu2v', Pcu2v
    targets_pa = [50_000.0]
    make_plant = RecordingChamber

    def make_device(self, port):
        return pcu2v.Pcu2v(self.plant, port=port)

    def watchdog_tripped(self) -> bool:
        return self.device.logic.watchdog_trips > 0
