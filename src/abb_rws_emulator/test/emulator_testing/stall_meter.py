"""Emulated controller in a separate process that measures how long its event loop is blocked.

Run as a module, it prints its port. For every line on standard input it prints the longest time
between two passes of its loop since the previous line [s]: CPU time of the process, independent of
the load of the machine.
"""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

from abb_rws_emulator.http.server import Emulator, Options
from emulator_testing.plain_client import PASSWORD, USER

BEAT_S = 0.002


class StallMeter:
    """Process of the emulator; `end` kills it."""

    def __init__(self):
        paths = os.pathsep.join(
            [str(Path(__file__).parents[1]), *os.environ.get('PYTHONPATH', '').split(os.pathsep)]
        )
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'emulator_testing.stall_meter'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {'PYTHONPATH': paths},
        )
        self.port = int(self._process.stdout.readline())

    def longest_stall_s(self) -> float:
        """Return the longest time that the loop was blocked since the last call [s]."""
        self._process.stdin.write('\n')
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def end(self) -> None:
        self._process.kill()
        self._process.communicate(timeout=5.0)


async def main() -> None:
    longest_s, loop = [0.0], asyncio.get_running_loop()

    async def beat():
        before_s = time.process_time()
        while True:
            await asyncio.sleep(BEAT_S)
            now_s = time.process_time()
            longest_s[0], before_s = max(longest_s[0], now_s - before_s), now_s

    def report():
        sys.stdin.readline()
        sys.stdout.write(f'{longest_s[0]}\n')
        sys.stdout.flush()
        longest_s[0] = 0.0

    async with Emulator(Options({USER: PASSWORD})) as emulator:
        beating = asyncio.create_task(beat())
        loop.add_reader(sys.stdin, report)
        sys.stdout.write(f'{emulator.port}\n')
        sys.stdout.flush()
        await beating


if __name__ == '__main__':
    asyncio.run(main())
