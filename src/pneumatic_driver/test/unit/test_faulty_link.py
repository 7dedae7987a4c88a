"""Links that drop, delay, repeat, split and corrupt messages, and unplugged serial ports.

No write is repeated, and the driver recovers.

`SOFT_ARM_FAULTY_S=1800 pytest src/pneumatic_driver/test/unit/test_faulty_link.py -k 'mixture and
gripper'` is the long form.
"""

import contextlib
import os
import random
import time
from pathlib import Path

import pytest

from pneumatic_driver.errors import CommandError, PneumaticDriverError

from ..boards import carries_heartbeat, wait_for
from ..conftest import RtuBoard

pytestmark = pytest.mark.steady_clock

FAULTY_S = float(os.environ.get('SOFT_ARM_FAULTY_S', 2.0))
MEMORY_DRIFT_MIB = 20.0  # what imports and caches of the first requests take


def tcp_fault(draw: random.Random):
    """Return a function from an answer to what is sent instead."""

    def answers(frame):
        kind = draw.choice(
            ['whole'] * 60 + ['drop', 'delay', 'repeat', 'split', 'split', 'late', 'garbage']
        )
        return {
            'whole': [(0.0, frame)],
            'drop': [],
            'delay': [(draw.uniform(0.0, 0.1), frame)],
            'late': [(draw.uniform(0.2, 0.4), frame)],
            'repeat': [(0.0, frame), (0.0, frame)],
            'split': [(0.0, frame[:3]), (0.01, frame[3:8]), (0.01, frame[8:])],
            'garbage': [(0.0, frame[:6] + bytes(draw.randrange(256) for _ in frame[6:]))],
        }[kind]

    return answers


def rtu_fault(draw: random.Random):
    def answers(frame):
        kind = draw.choice(['whole'] * 40 + ['drop', 'bit', 'cut', 'repeat', 'noise'])
        at = draw.randrange(len(frame))
        return {
            'whole': frame,
            'drop': b'',
            'bit': frame[:at] + bytes([frame[at] ^ 1 << draw.randrange(8)]) + frame[at + 1 :],
            'cut': frame[:at],
            'repeat': frame + frame,
            'noise': bytes([draw.randrange(256)]) + frame,
        }[kind]

    return answers


def resident_mib() -> float:
    pages = int(Path('/proc/self/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE') / 2**20


def drive_through_faults(driver, rig, seconds):
    """Commands and activates as an operator would who never gives up.

    Returns how often it had to be activated.
    """
    end_s, armed = time.monotonic() + seconds, 0

    def step():
        nonlocal armed
        with contextlib.suppress(PneumaticDriverError):
            if not driver.armed:
                driver.clear_faults()
                driver.arm()
                armed += 1
            driver.command(rig.targets_pa)
        return time.monotonic() > end_s

    wait_for(step, seconds + 10.0)
    return armed


def in_order_afterwards(driver, rig):
    """The link is good again: the driver follows, and what it says is what the device does."""
    wait_for(
        lambda: [drive_through_faults(driver, rig, 0.05), rig.plant.follows(rig.targets_pa)][1],
        5.0,
        'the device following',
    )
    seen = driver.latest.at_s

    def agree():
        with contextlib.suppress(CommandError):
            driver.command(rig.targets_pa)
        return (
            driver.latest.at_s > seen
            and abs(driver.latest.pressures_pa - rig.plant.targets_pa).max() < 110.0
        )

    wait_for(agree)
    driver.vent()
    wait_for(lambda: rig.plant.vented)
    assert not driver.armed


def test_any_mixture_of_faults_on_tcp(tcp_rig, proxy_to, make_driver):
    proxy = proxy_to(tcp_rig)
    recorder = make_driver(tcp_rig, proxy.link)
    recorder.driver.connect()
    before_mib = resident_mib()
    draw, written, holds = random.Random(1), [], 0
    proxy.answers = tcp_fault(draw)
    for _ in range(max(1, round(FAULTY_S / 2.0))):
        drive_through_faults(recorder.driver, tcp_rig, 2.0)
        if draw.random() < 0.2:
            proxy.cut()
        requests, proxy.requests = proxy.requests, []
        for request in requests:
            # Each claim begins another row of codes.
            holds += request[1] == 16 and request[3] == 112
            if carries_heartbeat(request):
                written.append(hash((holds, request)))
        recorder.exchanges.clear()
        tcp_rig.plant.changes.clear()
    proxy.answers = None
    assert len(written) > 10
    for first in range(0, len(written), 30_000):  # the heartbeat comes round
        part = written[first : first + 30_000]
        assert len(set(part)) == len(part)
    in_order_afterwards(recorder.driver, tcp_rig)
    assert resident_mib() - before_mib <= MEMORY_DRIFT_MIB


def test_any_mixture_of_faults_on_a_serial_line(library, make_driver):
    rig = RtuBoard(library)
    try:
        recorder = make_driver(rig)
        recorder.driver.connect()
        rig.answers = rtu_fault(random.Random(3))
        drive_through_faults(recorder.driver, rig, FAULTY_S)
        rig.answers = None
        in_order_afterwards(recorder.driver, rig)
        recorder.driver.close()
    finally:
        rig.stop()


def test_serial_port_that_is_pulled_and_plugged_again(library, make_driver, tmp_path):
    port = tmp_path / 'ttyACM0'
    first = RtuBoard(library)
    port.symlink_to(first.device)
    first.link = {'serial_device': str(port)}
    recorder = make_driver(first)
    driver = recorder.driver
    driver.connect()
    driver.arm()
    wait_for(lambda: [driver.command(first.targets_pa), first.plant.follows(first.targets_pa)][1])
    pulled_s = time.monotonic()
    first.stop()
    wait_for(lambda: recorder.reasons)
    assert recorder.reasons[0].startswith('link lost') and recorder.disarmed_s - pulled_s <= 1.0

    second = RtuBoard(library)
    try:
        port.unlink()
        port.symlink_to(second.device)
        plugged_s = time.monotonic()
        back = wait_for(lambda: [e for e in recorder.exchanges if e.at_s > plugged_s], 5.0)
        assert back[0].at_s - plugged_s <= 2.0
        seen = len(recorder.exchanges)
        wait_for(lambda: len(recorder.exchanges) > seen + 10)
        assert second.plant.changes == [] and not driver.armed  # nothing is replayed
        driver.close()
    finally:
        second.stop()
