"""The clock of tests with watchdogs: stalls do not count, and it never goes back."""

import asyncio
import os
import subprocess
import threading
import time

from stall_meter import StallMeter
from steady_clock import LONGEST_STEP_S, SteadyClock


def test_a_loop_that_stalls_stops_time_for_everybody():
    wall, stall = time.monotonic, threading.Event()
    with SteadyClock() as clock:

        async def stalled_loop():
            await asyncio.sleep(0.05)
            before_s, wall_s = clock(), wall()
            stall.wait(0.5)
            return clock() - before_s, wall() - wall_s

        passed_s, machine_s = asyncio.run(stalled_loop())
    assert machine_s >= 0.5
    assert passed_s <= 3 * LONGEST_STEP_S  # the step that ran, and one that had its answers


def test_time_passes_in_order_and_is_the_clock_of_asyncio():
    with SteadyClock() as clock:

        async def waits():
            began_s, seen = clock(), []
            while clock() - began_s < 0.1:
                seen.append(time.monotonic())
                await asyncio.sleep(0.001)
            return began_s, asyncio.get_running_loop().time(), seen

        began_s, ended_s, seen = asyncio.run(waits())
        assert ended_s - began_s >= 0.1 and seen == sorted(seen)
        assert time.monotonic is clock
    assert time.monotonic is not clock


def test_a_machine_that_stalls_is_measured():
    meter = StallMeter()
    with subprocess.Popen(['sleep', '0.1']) as process:
        process.wait()
    quiet_s = meter.longest_s
    again = f'kill -STOP {os.getpid()}; sleep 0.5; kill -CONT {os.getpid()}'
    with subprocess.Popen(['sh', '-c', again]) as process:
        process.wait()
    until_s = time.monotonic() + 60.0
    while meter.longest_s < 0.4:
        assert time.monotonic() < until_s, (quiet_s, meter.longest_s)
    meter.stop()
