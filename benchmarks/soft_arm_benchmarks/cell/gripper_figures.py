"""Measure how fast the gripper vents after a fault, for `softarm bench cell`.

The driver runs against an emulated PCU2-V; the link is silenced, or the driver killed.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Callable

from pneumatic_driver.driver import Driver
from pneumatic_driver.pcu2v import Pcu2v as Pcu2vDevice
from pneumatic_driver.register_map import load_map
from soft_arm_benchmarks.errors import BenchError
from soft_arm_description.robot import load_robot
from soft_arm_physics.pneumatic_finger import PneumaticFinger
from soft_arm_sim.devices.modbus_server import DeviceThread
from soft_arm_sim.devices.pcu2v import Pcu2v

RATE_HZ = 50.0  # as in the node's parameters
COMMAND_TIMEOUT_S = 0.5  # likewise
GRIP_PA = 60.0e3
REPEATS = 5
WAIT_S = 5.0
_PERIOD_S = 0.001


def figures(robot: str, seed: int, on_repeat: Callable[[], None]) -> dict[str, float]:
    """Return the slowest of `REPEATS` repeats: `vent_after_comm_loss_s` and `watchdog_vent_s` [s].

    Args:
        robot: Robot file of the finger.
        seed: Seed of the virtual finger.
        on_repeat: Called after each of 2 * REPEATS repeats.

    Raises:
        BenchError: If the device or the driver does not react within `WAIT_S`.
    """
    plant = PneumaticFinger(load_robot(robot), seed)
    device = Pcu2v(plant, port=0)
    server = DeviceThread(device)
    server.start()
    try:
        loss_s, watchdog_s = [], []
        for _ in range(REPEATS):
            loss_s.append(_comm_loss_s(device))
            on_repeat()
        for _ in range(REPEATS):
            watchdog_s.append(_killed_driver_s(device))
            on_repeat()
    finally:
        server.stop()
    return {
        'vent_after_comm_loss_s': round(max(loss_s), 3),
        'watchdog_vent_s': round(max(watchdog_s), 3),
    }


def _comm_loss_s(device: Pcu2v) -> float:
    """Return the time from link loss until the outputs are off and the driver is disarmed [s]."""
    disarmed = threading.Event()
    driver = _driver(device.port, lambda _: disarmed.set())
    try:
        with _Commands(driver):
            _wait(lambda: _on(device), 'the positive supply comes on')
            device.silent = True
            began_s = time.monotonic()
            _wait(lambda: not _on(device), 'the device vents after the link fell silent')
            _wait(
                lambda: disarmed.is_set() and not driver.armed,
                'the driver latches the loss of its link',
            )
            return time.monotonic() - began_s
    finally:
        driver.close()
        device.silent = False


def _killed_driver_s(device: Pcu2v) -> float:
    """Return the time from SIGKILL of the driver's process until both outputs are off [s]."""
    command = f'from {__name__} import drive_for_ever; drive_for_ever({device.port})'
    process = subprocess.Popen([sys.executable, '-c', command])
    try:
        _wait(lambda: _on(device), 'the positive supply comes on', 30.0)
        process.kill()
        began_s = time.monotonic()
        _wait(lambda: not _on(device), 'the device vents after its driver was killed')
        return time.monotonic() - began_s
    finally:
        process.kill()
        process.wait()


def drive_for_ever(port: int) -> None:
    """Hold a grip until this process is killed."""
    with _Commands(_driver(port, lambda _: None)):
        threading.Event().wait()


def _driver(port: int, on_disarm: Callable[[str], None]) -> Driver:
    device_map = load_map('pcu2v').with_link('127.0.0.1', port, '')
    driver = Driver(Pcu2vDevice(device_map), RATE_HZ, COMMAND_TIMEOUT_S, on_disarm=on_disarm)
    driver.connect()
    driver.arm()
    return driver


class _Commands:
    """Repeat a grip command as `gripper_controller` does, while the driver is armed."""

    def __init__(self, driver: Driver):
        self._driver = driver
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_exception: object) -> None:
        self._ending.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ending.wait(1.0 / RATE_HZ) and self._driver.armed:
            self._driver.command([GRIP_PA])


def _on(device: Pcu2v) -> bool:
    return device.logic.positive_trigger or device.logic.negative_trigger


def _wait(condition: Callable[[], bool], what: str, limit_s: float = WAIT_S) -> None:
    never, end_s = threading.Event(), time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end_s:
            raise BenchError(f'waited {limit_s:g} s until {what}')
        never.wait(_PERIOD_S)
