"""What happened: events of the graph, of its nodes and of the pages that command it."""

import threading
from collections import deque

from soft_arm_twin.source import Event, Level

KEPT = 500
LONGEST_TEXT = 400  # characters


class Journal:
    """The newest 500 events; threads may add to it."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque(maxlen=KEPT)
        self._lock, self._count = threading.Lock(), 0

    def add(self, time_s: float, level: Level, source: str, text: str) -> None:
        """Add an event of a time since 1970 [s]; its text becomes one line, and is cut if long."""
        line = ' '.join(text.split())
        if len(line) > LONGEST_TEXT:
            line = f'{line[: LONGEST_TEXT - 1]}…'
        with self._lock:
            self._count += 1
            self._events.append(Event(self._count, time_s, level, source, line))

    def events(self) -> tuple[Event, ...]:
        """Return the kept events, oldest first."""
        with self._lock:
            return tuple(self._events)
