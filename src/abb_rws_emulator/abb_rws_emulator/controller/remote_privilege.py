"""Remote privilege in manual mode.

Asked for by a client, answered by the operator at the pendant, kept by asking about it.
"""

from collections.abc import Callable

KEPT_S = 10.0
"""How long it lasts after it was last asked about [s].

Assumed, the manual only says that it lapses.
"""


class RemotePrivilege:
    """Who asked and who has it, by session: PENDING, GRANTED or DENIED."""

    def __init__(self, clock: Callable[[], float], on_change: Callable[[], None]):
        self.holders: dict[str, str] = {}
        self._clock, self._on_change = clock, on_change
        self._asked_s = 0.0

    def ask(self, session: str) -> None:
        """Put the question on the pendant."""
        self.holders[session], self._asked_s = 'PENDING', self._clock()
        self._on_change()

    def answer(self, granted: bool) -> None:
        """What the operator presses."""
        self.holders = dict.fromkeys(self.holders, 'GRANTED' if granted else 'DENIED')
        self._on_change()

    def status(self, session: str) -> str:
        """PENDING, GRANTED, DENIED or NO SUCH REQUEST."""
        if self._clock() - self._asked_s > KEPT_S:
            self.holders.clear()
        return self.holders.get(session, 'NO SUCH REQUEST')

    def poll(self, session: str) -> str:
        """The status as a client asks for it, which keeps it; a refusal is told once."""
        status, self._asked_s = self.status(session), self._clock()
        if status == 'DENIED':
            del self.holders[session]
        return status

    def cancel(self, session: str) -> None:
        """Give it back, or take the question back; harmless when there is neither."""
        if self.holders.pop(session, None) is not None:
            self._on_change()

    def clear(self) -> None:
        """Nobody has it any more."""
        self.holders.clear()
