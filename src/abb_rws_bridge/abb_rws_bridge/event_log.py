"""Selection of new entries of the event log, limited in number."""

from collections.abc import Sequence

from abb_rws_bridge.values import LogEntry

MAX_ENTRIES = 50
_URGENCY = {'error': 2, 'warning': 1, 'info': 0}


class NewEntries:
    """Selector of the entries since the last call; restarts with a cleared log."""

    def __init__(self) -> None:
        self._last: int | None = None

    def take(self, log: Sequence[LogEntry]) -> tuple[list[LogEntry], int]:
        """Return the new entries, oldest first, and the number of omitted ones.

        At most MAX_ENTRIES are returned, by priority error, warning, information, then newest
        first. The entries of the first log are not new.

        Args:
            log: All entries, oldest first.
        """
        last, self._last = self._last, log[-1].sequence if log else 0
        new = [] if last is None else [entry for entry in log if entry.sequence > last]
        chosen = sorted(new, key=lambda entry: (_URGENCY[entry.kind], entry.sequence))
        chosen = sorted(chosen[-MAX_ENTRIES:], key=lambda entry: entry.sequence)
        return chosen, len(new) - len(chosen)
