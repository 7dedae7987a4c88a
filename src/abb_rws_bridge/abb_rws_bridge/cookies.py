"""Cookies of a session with a controller.

A standard cookie jar drops cookies with a wrong path, domain or age, and then every request opens a
new session.
"""

import re
from collections.abc import Iterable

SESSION_COOKIE = '-http-session-'
_COOKIE = re.compile(rf'\s*({SESSION_COOKIE}|ABBCX)=([!#-+\--:<-\[\]-~]{{1,1024}})\s*(?:;|$)')
_MAX_REPLACED = 8


class SessionCookies:
    """Cookies received from a controller.

    Attributes:
        generation: Number of sessions received.
        replaced: Session cookies that the controller has replaced, oldest first.
    """

    def __init__(self) -> None:
        self.generation = 0
        self.replaced: list[str] = []
        self._values: dict[str, str] = {}

    @property
    def has_session(self) -> bool:
        """True if the controller has opened a session."""
        return SESSION_COOKIE in self._values

    @property
    def header(self) -> dict[str, str]:
        """Cookie header; empty without cookies."""
        pairs = '; '.join(f'{name}={value}' for name, value in self._values.items())
        return {'Cookie': pairs} if pairs else {}

    def take(self, lines: Iterable[str]) -> None:
        """Store the values of `Set-Cookie` headers, without their attributes."""
        before = self._values.get(SESSION_COOKIE)
        self._values |= {m[1]: m[2] for m in map(_COOKIE.match, lines) if m}
        now = self._values.get(SESSION_COOKIE)
        if now is None or now == before:
            return
        self.generation += 1
        kept = [cookie for cookie in self.replaced if cookie not in (now, before)]
        self.replaced = [*kept, before][-_MAX_REPLACED:] if before is not None else kept

    def ended(self) -> None:
        """Forget the session after its logout."""
        self._values.clear()
