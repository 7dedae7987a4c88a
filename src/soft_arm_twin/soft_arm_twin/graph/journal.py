"""What happened: events of the graph, of its nodes and of the pages that command it."""

import threading
from collections import deque
from collections.abc import Callable

from soft_arm_twin.source import Event, Level

KEPT = 500
LONGEST_TEXT = 400  # characters


class Journal:
    """The newest 500 events; threads may add to it.

    Args:
        clock: Returns the time of events that have none of their own, since 1970 [s].
    """

    def __init__(self, clock: Callable[[], float]):
        self._clock = clock
        self._events: deque[Event] = deque(maxlen=KEPT)
        self._lock, self._count = threading.Lock(), 0

    def add(self, level: Level, source: str, text: str, time_s: float | None = None) -> None:
        """Add an event of now, or of a time since 1970 [s]; its text is cut at 400."""
        at_s = self._clock() if time_s is None else time_s
        line = ' '.join(text.split())
        if len(line) > LONGEST_TEXT:
            line = f'{line[: LONGEST_TEXT - 1]}…'
        with self._lock:
            self._count += 1
            self._events.append(Event(self._count, at_s, level, source, line))

    def forget(self) -> int:
        """Drop all events, and return a number that is above all of theirs; the next are higher."""
        with self._lock:
            self._events.clear()
            self._count += 1
            return self._count

    def events(self) -> tuple[Event, ...]:
        """Return the kept events, oldest first."""
        with self._lock:
            return tuple(self._events)
