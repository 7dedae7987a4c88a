"""Liveness of the driver and the cameras that a control loop depends on, and of the loop itself.

The time in which the control loop itself was stalled is discounted, so that a late loop is not
mistaken for a silent driver or camera: after a stall of the machine their messages are still
queued, or their senders were stalled, too. Only a driver that has been silent for `gone_s` is lost
regardless of stalls, because by then it may have vented.
"""

import math

MAX_TICK_PERIODS = 3.0  # a longer time between two ticks is a stall of the loop
DRIVER = 'driver'  # the one source that also publishes whether it is active


class LivenessMonitor:
    """Watch the sources of samples of one control loop. All times are on one clock [s].

    Args:
        period_s: Nominal time between two ticks of the loop [s].
        gone_s: Silence after which the driver is lost even if the loop was stalled [s]; a driver
            that recovers by itself does so earlier.
    """

    def __init__(self, period_s: float, gone_s: float):
        self._late_s = MAX_TICK_PERIODS * period_s
        self._gone_s = gone_s
        self._heard_s: dict[str, float] = {}
        self._inactive_s: float | None = None  # since when the driver is known to be inactive
        self._state_s = -math.inf  # stamp of the driver's newest state
        self._tick_s: float | None = None
        self._stall_began_s = self._stall_ended_s = -math.inf

    def tick(self, now_s: float) -> float:
        """Record a tick; return the time since the last [s], at most `MAX_TICK_PERIODS` periods.

        If the clock was set back, no source was heard later than now, and no time has passed.
        """
        last_s, self._tick_s = self._tick_s, now_s
        if last_s is None:
            return 0.0
        if now_s < last_s:
            self._set_back(now_s)
            return 0.0
        if now_s - last_s > self._late_s:
            self._stall_began_s, self._stall_ended_s = last_s, now_s
        return min(now_s - last_s, self._late_s)

    def _set_back(self, now_s: float) -> None:
        self._heard_s = {source: min(s, now_s) for source, s in self._heard_s.items()}
        self._state_s = min(self._state_s, now_s)
        if self._inactive_s is not None:
            self._inactive_s = min(self._inactive_s, now_s)
        self._stall_began_s = self._stall_ended_s = -math.inf

    def heard(self, source: str, stamp_s: float) -> None:
        """Record the stamp [s] of a sample of a source."""
        last_s = self._heard_s.get(source, -math.inf)
        if source == DRIVER and stamp_s - last_s > self._gone_s:
            self._inactive_s = None  # perhaps a restarted driver, whose state is not known yet
        self._heard_s[source] = max(stamp_s, last_s)

    def add_driver_state(self, stamp_s: float, active: bool) -> None:
        """Record whether the driver is active. Before the first call it is assumed to be."""
        if stamp_s < self._state_s:
            return
        self._state_s = stamp_s
        if active:
            self._inactive_s = None
        elif self._inactive_s is None:
            self._inactive_s = stamp_s

    def last_s(self, source: str) -> float:
        """Return the stamp of a source's newest sample; -inf before the first."""
        return self._heard_s.get(source, -math.inf)

    def silence_s(self, source: str, now_s: float) -> float:
        """Return the time since a source's newest sample [s], less the loop's last stall."""
        heard_s = self.last_s(source)
        if source == DRIVER and now_s - heard_s > self._gone_s:
            return now_s - heard_s
        began_s, ended_s = self._stall_began_s, self._stall_ended_s
        if self._tick_s is not None and now_s - self._tick_s > self._late_s:
            began_s, ended_s = self._tick_s, now_s  # the loop is stalled now
        return now_s - heard_s - max(0.0, ended_s - max(began_s, heard_s))

    def driver_lost(self, now_s: float, silent_limit_s: float, inactive_limit_s: float) -> str:
        """Return why the driver counts as lost, in one line; empty while it does not."""
        if self._inactive_s is not None and now_s - self._inactive_s > inactive_limit_s:
            return 'the driver is inactive: activate it, then send a new goal'
        silence_s = self.silence_s(DRIVER, now_s)
        if silence_s <= silent_limit_s:
            return ''
        return (
            f'no measured pressures {since(silence_s)} (limit {silent_limit_s} s): check the driver'
        )


def since(silence_s: float) -> str:
    """Return how long a source has been silent, for messages."""
    return 'so far' if math.isinf(silence_s) else f'for {silence_s:.2f} s'
