"""Steps something in real time: a thread of its own, which does not catch up long delays."""

import threading
import time
from collections.abc import Callable

PERIOD_S = 0.004
GIVE_UP_S = 0.1  # a longer delay is not caught up: a robot would jump


class RealTimeStepper:
    """Calls `step(PERIOD_S)` in real time between `start` and `stop`; it is thread-safe.

    Args:
        name: Name of the thread.
        step: Advances the simulation by a time [s].
        time_s: Returns the simulated time [s].

    Attributes:
        lock: Held during each step; hold it to read or change what is stepped.
        error: What ended the thread, if `step` failed.
    """

    def __init__(self, name: str, step: Callable[[float], None], time_s: Callable[[], float]):
        self.lock = threading.Lock()
        self.error: Exception | None = None
        self._step, self._time_s = step, time_s
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._marks = (time.monotonic(), time_s())

    @property
    def runs(self) -> bool:
        """Return whether the thread steps."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start stepping."""
        self._marks = (time.monotonic(), self._time_s())
        self._thread.start()

    def stop(self, timeout_s: float = 2.0) -> None:
        """Stop stepping."""
        self._ending.set()
        self._thread.join(timeout_s)

    def real_time_factor(self) -> float:
        """Return simulated time over wall time since the last call."""
        (wall_s, simulated_s), self._marks = self._marks, (time.monotonic(), self._time_s())
        return (self._marks[1] - simulated_s) / max(self._marks[0] - wall_s, 1e-6)

    def _run(self) -> None:
        due_s = time.monotonic()
        while not self._ending.wait(max(due_s + PERIOD_S - time.monotonic(), 0.0)):
            due_s += PERIOD_S
            if time.monotonic() - due_s > GIVE_UP_S:
                due_s = time.monotonic()
            with self.lock:
                try:
                    self._step(PERIOD_S)
                except Exception as error:
                    self.error = error
                    raise
