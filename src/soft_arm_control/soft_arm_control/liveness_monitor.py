"""What a loop did not hear while it stood still itself, which is not the silence of whoever it listens to.

On a machine that stalls the messages of the stall still wait when the loop goes on, or their sender
stood still too. Judged by the clock alone, such a loop would give up a driver that never failed.
"""

import math

LATE_PERIODS = 3.0  # a tick this much later than the last is a stall


class LoopStallMonitor:
    """Watches the ticks of one loop; all times are on one clock [s]."""

    def __init__(self, period_s: float):
        self._late_s = LATE_PERIODS * period_s
        self._last_s: float | None = None
        self._began_s = self._ended_s = -math.inf  # of the last stall

    def tick(self, now_s: float) -> float:
        """Note a tick; the time [s] since the last one in which the loop ran, which a stall does not prolong."""
        last_s, self._last_s = self._last_s, now_s
        if last_s is None:
            return 0.0
        if now_s - last_s > self._late_s:
            self._began_s, self._ended_s = last_s, now_s
        return min(now_s - last_s, self._late_s)

    def silence_s(self, now_s: float, heard_s: float) -> float:
        """Time [s] since a sample of `heard_s`, less the part of the last stall in it."""
        began_s, ended_s = self._began_s, self._ended_s
        if self._last_s is not None and now_s - self._last_s > self._late_s:
            began_s, ended_s = self._last_s, now_s  # not yet told by a tick
        return now_s - heard_s - max(0.0, ended_s - max(began_s, heard_s))
