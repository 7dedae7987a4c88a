"""New entries of a controller's event log, limited in number."""

from collections.abc import Sequence

from abb_rws_bridge.values import LogEntry

MOST_AT_ONCE = 50
_URGENCY = {'error': 2, 'warning': 1, 'info': 0}


class NewEntries:
    """Select the entries that came since the last call; a cleared log begins again."""

    def __init__(self) -> None:
        self._last: int | None = None

    def take(self, log: Sequence[LogEntry]) -> tuple[list[LogEntry], int]:
        """Return the new entries, oldest first, and the count of new ones left out.

        At most MOST_AT_ONCE are returned: errors before warnings before information, of each the
        newest. The first log holds no new entry.

        Args:
            log: All entries, oldest first.
        """
        last, self._last = self._last, log[-1].sequence if log else 0
        new = [] if last is None else [entry for entry in log if entry.sequence > last]
        chosen = sorted(new, key=lambda entry: (_URGENCY[entry.kind], entry.sequence))
        chosen = sorted(chosen[-MOST_AT_ONCE:], key=lambda entry: entry.sequence)
        return chosen, len(new) - len(chosen)
