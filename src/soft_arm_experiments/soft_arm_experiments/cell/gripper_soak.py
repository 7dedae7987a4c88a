"""Make random faults between the gripper's driver and an emulated PCU2-V, for `softarm bench cell`.

It runs in a separate process, so that leaks of other measurements do not count, and prints
faults and leaks as one line of JSON.
"""

import contextlib
import json
import logging
import random
import sys
import threading
import time
from typing import Any

from pneumatic_driver.driver import Driver
from pneumatic_driver.errors import PneumaticDriverError
from pneumatic_driver.pcu2v import Pcu2v as Pcu2vDevice
from pneumatic_driver.pcu2v import Pcu2vExchange
from pneumatic_driver.register_map import load_map
from soft_arm_description.robot import load_robot
from soft_arm_experiments.cell.leaks import held, leaks, resident_mib
from soft_arm_experiments.cell.tcp_relay import TcpRelay
from soft_arm_physics.pneumatic_finger import PneumaticFinger
from soft_arm_sim.devices.modbus_server import DeviceThread
from soft_arm_sim.devices.pcu2v import POSITIVE_TARGET, Pcu2v

AGREE_S = 10.0
FAULTS = ('none', 'silent', 'latency', 'cut', 'device reset', 'foreign write', 'no commands')
_PERIOD_S = 0.02


def soak(duration_s: float, seed: int) -> dict[str, Any]:
    """Make faults and send commands for a time, then compare the driver with the device."""
    draw = random.Random(seed)
    counts = dict.fromkeys(FAULTS, 0)
    device = Pcu2v(PneumaticFinger(load_robot('four_piece_finger'), seed), port=0)
    server = DeviceThread(device)
    server.start()
    before, before_mib = held(), resident_mib()
    with TcpRelay(device.port) as relay:
        driver = Driver(
            Pcu2vDevice(load_map('pcu2v').with_link('127.0.0.1', relay.port, '')), 50.0, 0.5
        )
        driver.connect()
        end_s = time.monotonic() + duration_s
        while time.monotonic() < end_s:
            name = draw.choice(FAULTS)
            counts[name] += 1
            _disturb(name, relay, device, draw)
            _command(
                driver,
                draw.uniform(-80e3, 110e3),
                draw.uniform(0.1, 1.0),
                silent=name == 'no commands',
            )
            relay.silent, relay.latency_s = False, 0.0
            _command(driver, draw.uniform(-80e3, 110e3), draw.uniform(0.0, 0.5))
        agrees = _agrees(driver, device)
        driver.close()
    found = leaks(before, before_mib)
    if not agrees:
        found.append(f'the driver reports {driver.latest}, the device holds {vars(device.logic)}')
    if device.logic.positive_trigger or device.logic.negative_trigger:
        found.append('the closed driver left the device under pressure')
    server.stop()
    return {'faults': counts, 'leaks': [f'pneumatics: {leak}' for leak in found]}


def _disturb(name: str, relay: TcpRelay, device: Pcu2v, draw: random.Random) -> None:
    if name == 'silent':
        relay.silent = True
    elif name == 'latency':
        relay.latency_s = draw.uniform(0.0, 0.3)
    elif name == 'cut':
        relay.cut()
    elif name == 'device reset':
        device.logic.vent()
    elif name == 'foreign write':
        device.logic.write(POSITIVE_TARGET, [draw.randrange(1200)])


def _command(driver: Driver, pressure_pa: float, duration_s: float, silent: bool = False) -> None:
    """Send commands for a while, and activate the driver again after every fault."""
    end_s, never = time.monotonic() + duration_s, threading.Event()
    while time.monotonic() < end_s:
        with contextlib.suppress(PneumaticDriverError):  # rejections and lost links
            if not driver.armed:
                driver.clear_faults()
                driver.arm()
            if not silent:
                driver.command([pressure_pa])
        never.wait(_PERIOD_S)


def _agrees(driver: Driver, device: Pcu2v) -> bool:
    """Return whether the finger reaches 50 kPa and the driver's state is the device's."""
    end_s = time.monotonic() + AGREE_S
    while time.monotonic() < end_s:
        _command(driver, 50e3, 0.2)
        latest, logic = driver.latest, device.logic
        if not isinstance(latest, Pcu2vExchange):
            continue  # no exchange yet
        reported = (
            latest.positive_target_pa,
            latest.negative_target_pa,
            latest.positive_trigger,
            latest.negative_trigger,
        )
        held = (
            100.0 * logic.positive_target,
            100.0 * logic.negative_target,
            logic.positive_trigger,
            logic.negative_trigger,
        )
        near = abs(latest.pressures_pa[0] - 50e3) < 2e3
        if reported == held and logic.positive_trigger and near:
            return True
    return False


def main(argv: list[str]) -> int:
    """Entry point; `argv` is duration [s], seed and delay before the start [s]."""
    logging.disable(logging.CRITICAL)
    threading.Event().wait(float(argv[2]))
    sys.stdout.write(json.dumps(soak(float(argv[0]), int(argv[1]))) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
