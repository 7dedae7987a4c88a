"""Cookies of a session with a controller.

An ordinary jar loses cookies whose path, domain or age is wrong, and then every request opens a
session.
"""

import re
from collections.abc import Iterable

SESSION_COOKIE = '-http-session-'
_COOKIE = re.compile(rf'\s*({SESSION_COOKIE}|ABBCX)=([!#-+\--:<-\[\]-~]{{1,1024}})\s*(?:;|$)')
_MOST_REPLACED = 8


class SessionCookies:
    """The cookies that a controller has given.

    Attributes:
        generation: Count of the sessions given so far.
        replaced: Session cookies in whose place the controller gave another one, oldest first.
    """

    def __init__(self) -> None:
        self.generation = 0
        self.replaced: list[str] = []
        self._values: dict[str, str] = {}

    @property
    def has_session(self) -> bool:
        """True if the controller has given a session."""
        return SESSION_COOKIE in self._values

    @property
    def header(self) -> dict[str, str]:
        """Header that sends the cookies; empty if there are none."""
        pairs = '; '.join(f'{name}={value}' for name, value in self._values.items())
        return {'Cookie': pairs} if pairs else {}

    def take(self, lines: Iterable[str]) -> None:
        """Take the values of `Set-Cookie` headers, without their attributes."""
        before = self._values.get(SESSION_COOKIE)
        self._values |= {m[1]: m[2] for m in map(_COOKIE.match, lines) if m}
        now = self._values.get(SESSION_COOKIE)
        if now is None or now == before:
            return
        self.generation += 1
        kept = [cookie for cookie in self.replaced if cookie not in (now, before)]
        self.replaced = [*kept, before][-_MOST_REPLACED:] if before is not None else kept

    def ended(self) -> None:
        """Forget the session after its logout."""
        self._values.clear()
