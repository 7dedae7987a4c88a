"""Events of the graph, its nodes and the pages that command it."""

import threading
from collections import deque
from collections.abc import Callable

from soft_arm_twin.source import Event, Level

MAX_EVENTS = 500
MAX_TEXT_CHARACTERS = 400


class Journal:
    """The newest 500 events; threads may add to it.

    Args:
        clock: Returns the time of events without a stamp, since 1970 [s].
    """

    def __init__(self, clock: Callable[[], float]):
        self._clock = clock
        self._events: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._lock, self._count = threading.Lock(), 0

    def add(self, level: Level, source: str, text: str, time_s: float | None = None) -> None:
        """Add an event, by default of the present time; longer texts are truncated."""
        at_s = self._clock() if time_s is None else time_s
        line = ' '.join(text.split())
        if len(line) > MAX_TEXT_CHARACTERS:
            line = f'{line[: MAX_TEXT_CHARACTERS - 1]}…'
        with self._lock:
            self._count += 1
            self._events.append(Event(self._count, at_s, level, source, line))

    def events(self) -> tuple[Event, ...]:
        """Return the kept events, oldest first."""
        with self._lock:
            return tuple(self._events)
