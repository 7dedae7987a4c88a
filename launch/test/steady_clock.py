"""A clock for tests of drivers and emulated devices in one process: it does not count stalls.

Watchdogs and time-outs are what those tests are about, so time must pass; but a process that waits
for its turn on a busy machine would trip them. `SteadyClock` stands in for `time.monotonic`, and so
for the clock of asyncio, too. It moves on in small steps, each only after every event loop of the
process, and every other loop that takes part, has turned: no side of a link is ever late by more
than a step, however long the machine takes.
"""

import asyncio
import threading
import time
import weakref
from collections import deque
from contextlib import contextmanager

LONGEST_STEP_S = 0.01
_PERIOD_S = 0.004
# A loop that is blocked for longer than this waits for the clock itself; then time moves on.
_PATIENCE_S = 2.0

_monotonic = time.monotonic


class Turns:
    """The turns of a loop that is not asyncio's; it calls `turn` in each."""

    def __init__(self):
        self._calls, self._ended = deque(), False

    def turn(self):
        """Answer the clock."""
        while self._calls:
            self._calls.popleft()()

    def end(self):
        """Take part no longer."""
        self._ended = True
        self.turn()

    def is_running(self) -> bool:
        """Return True if the clock waits for the loop."""
        return not self._ended

    def call_soon_threadsafe(self, call):
        """Call in the next turn."""
        self._calls.append(call)


@contextmanager
def turns():
    """Let a loop take part in the clock, if one is installed."""
    made = Turns()
    if isinstance(time.monotonic, SteadyClock):
        time.monotonic.add(made)
    try:
        yield made
    finally:
        made.end()


class SteadyClock:
    """Call it for the time [s], as `time.monotonic`; use it as a context to install it."""

    def __init__(self):
        self._step = _monotonic(), _monotonic()  # this clock's and the machine's at the last step
        self._loops = weakref.WeakSet()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name='steady_clock', daemon=True)

    def __call__(self) -> float:
        """Return the time [s]."""
        now_s, machine_s = self._step
        return now_s + min(_monotonic() - machine_s, LONGEST_STEP_S)

    def add(self, loop: asyncio.AbstractEventLoop | Turns):
        """Wait for a loop in every step."""
        self._loops.add(loop)

    def __enter__(self):
        clock, self._policy = self, asyncio.get_event_loop_policy()

        class Policy(type(self._policy)):
            def new_event_loop(self):
                loop = super().new_event_loop()
                clock.add(loop)
                return loop

        asyncio.set_event_loop_policy(Policy())
        time.monotonic = self
        self._thread.start()
        return self

    def __exit__(self, *_error):
        self._end.set()
        self._thread.join()
        time.monotonic = _monotonic
        asyncio.set_event_loop_policy(self._policy)

    def _run(self):
        while not self._end.wait(_PERIOD_S):
            for loop in list(self._loops):
                self._await_turn(loop)
            (now_s, before_s), machine_s = self._step, _monotonic()
            self._step = now_s + min(machine_s - before_s, LONGEST_STEP_S), machine_s

    def _await_turn(self, loop):
        turned = threading.Event()
        try:
            if not loop.is_running():
                return
            loop.call_soon_threadsafe(turned.set)
        except RuntimeError:  # closed meanwhile
            return
        end_s = _monotonic() + _PATIENCE_S
        while not turned.wait(0.05) and loop.is_running() and not self._end.is_set():
            if _monotonic() > end_s:
                return
