"""Who may talk: digest and basic authentication, session cookies, the table that can be full."""

import base64
import binascii
import hashlib
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass

REALM = 'validusers@robapi.abb'
_FIELD = re.compile(r'([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]*))')


@dataclass
class Entry:
    """One session: when it began and was last used [s]."""

    began_s: float
    used_s: float


class Sessions:
    """Session table with the limits of a real controller.

    Args:
        on_end: Called with the identity of every session that ends.
    """

    def __init__(
        self,
        users: dict[str, str],
        clock: Callable[[], float],
        on_end: Callable[[str], None],
        *,
        limit: int = 70,
        idle_s: float = 300.0,
        life_s: float = 1500.0,
    ):
        self.limit, self.idle_s, self.life_s = limit, idle_s, life_s
        self.table: dict[str, Entry] = {}
        self.opened = self.challenges = 0
        self._users, self._clock, self._on_end = users, clock, on_end
        self._nonces: set[str] = set()

    def known(self, cookie: str | None) -> str | None:
        """The session of a cookie, refreshed; None if there is none."""
        self._expire()
        if cookie not in self.table:
            return None
        self.table[cookie].used_s = self._clock()
        return cookie

    def open(self) -> str | None:
        """A new session; None when the table is full."""
        self._expire()
        if len(self.table) >= self.limit:
            return None
        self.opened += 1
        identity = f'{self.opened}::http.session::{secrets.token_hex(8)}'
        self.table[identity] = Entry(self._clock(), self._clock())
        return identity

    def end(self, identity: str) -> None:
        """Log out."""
        if self.table.pop(identity, None) is not None:
            self._on_end(identity)

    def end_all(self, *, forget_nonces: bool = False) -> None:
        """Every session expires at once."""
        for identity in list(self.table):
            self.end(identity)
        if forget_nonces:
            self._nonces.clear()

    def _expire(self) -> None:
        now_s = self._clock()
        for identity, entry in list(self.table.items()):
            if now_s - entry.used_s > self.idle_s or now_s - entry.began_s > self.life_s:
                self.end(identity)

    def challenge(self) -> str:
        """Value of `WWW-Authenticate` with a new nonce."""
        self.challenges += 1
        nonce = secrets.token_hex(16)
        self._nonces.add(nonce)
        opaque = secrets.token_hex(8)
        return f'Digest realm="{REALM}", domain="/", qop="auth", nonce="{nonce}", opaque="{opaque}", algorithm="MD5", stale=FALSE'

    def digest_is_right(self, method: str, target: str, header: str) -> bool:
        """Check a digest answer; `target` is path and query as they were sent."""
        if not header.startswith('Digest '):
            return False
        fields = {name: quoted or plain for name, quoted, plain in _FIELD.findall(header[7:])}
        if fields.get('username') not in self._users or fields.get('nonce') not in self._nonces or fields.get('uri') != target:
            return False
        secret, action = _md5(f'{fields["username"]}:{REALM}:{self._users[fields["username"]]}'), _md5(f'{method}:{target}')
        if fields.get('qop'):
            middle = [fields['nonce'], fields.get('nc', ''), fields.get('cnonce', ''), fields['qop']]
        else:
            middle = [fields['nonce']]
        return fields.get('response') == _md5(':'.join([secret, *middle, action]))

    def basic_is_right(self, header: str) -> bool:
        """Check a basic answer."""
        if not header.startswith('Basic '):
            return False
        try:
            user, _, password = base64.b64decode(header[6:], validate=True).decode().partition(':')
        except (binascii.Error, UnicodeDecodeError):
            return False
        return self._users.get(user) == password


def _md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()
