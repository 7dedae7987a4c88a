"""Longest time for which this machine has left a thread waiting."""

import threading
import time

PERIOD_S = 0.02


class StallMeter:
    """Measures until it is stopped; `longest_s` is the longest delay of its thread so far [s]."""

    def __init__(self):
        self.longest_s = 0.0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name='stall_meter', daemon=True)
        self._thread.start()

    def _run(self):
        before_s = time.perf_counter()
        while not self._end.wait(PERIOD_S):
            now_s = time.perf_counter()
            self.longest_s = max(self.longest_s, now_s - before_s - PERIOD_S)
            before_s = now_s

    def stop(self):
        """End the thread."""
        self._end.set()
        self._thread.join()
