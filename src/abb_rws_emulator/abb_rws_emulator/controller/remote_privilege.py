"""Remote privilege in manual mode: requested by a client, granted by the operator (RMMP)."""

from collections.abc import Callable

TIMEOUT_S = 10.0
"""Time after the last poll until the privilege expires [s]; assumed, the manual gives no value."""


class RemotePrivilege:
    """State of the privilege by session: PENDING, GRANTED or DENIED."""

    def __init__(self, clock: Callable[[], float], on_change: Callable[[], None]):
        self.holders: dict[str, str] = {}
        self._clock, self._on_change = clock, on_change
        self._asked_s = 0.0

    def ask(self, session: str) -> None:
        """Show the request on the pendant."""
        self.holders[session], self._asked_s = 'PENDING', self._clock()
        self._on_change()

    def answer(self, granted: bool) -> None:
        """Grant or deny the pending request."""
        self.holders = dict.fromkeys(self.holders, 'GRANTED' if granted else 'DENIED')
        self._on_change()

    def status(self, session: str) -> str:
        """Return PENDING, GRANTED, DENIED or NO SUCH REQUEST."""
        if self._clock() - self._asked_s > TIMEOUT_S:
            self.holders.clear()
        return self.holders.get(session, 'NO SUCH REQUEST')

    def poll(self, session: str) -> str:
        """Return the status and extend the privilege; DENIED is returned once."""
        status, self._asked_s = self.status(session), self._clock()
        if status == 'DENIED':
            del self.holders[session]
        return status

    def cancel(self, session: str) -> None:
        """Release the privilege or withdraw the request; without either, do nothing."""
        if self.holders.pop(session, None) is not None:
            self._on_change()

    def clear(self) -> None:
        """Revoke the privilege of every session."""
        self.holders.clear()
