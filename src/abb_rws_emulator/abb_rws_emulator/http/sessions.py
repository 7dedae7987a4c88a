"""Sessions: digest and basic authentication, cookies, and a table of limited size."""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass

REALM = 'validusers@robapi.abb'
NONCE_LIFE_S = 1500.0
_FIELD = re.compile(r'(?<![\w-])([\w-]++)\s*+=\s*(?:"((?:[^"\\]|\\.)*+)"|([^\s,]*+))')
_COUNT = re.compile(r'[0-9a-fA-F]{1,8}')


@dataclass
class Entry:
    """Session: user, start and last use [s]."""

    user: str
    began_s: float
    used_s: float


class Sessions:
    """Session table with the limits of a real controller.

    A nonce contains its issue time and a signature, so that challenges need no memory. Stored are
    only the request counts (nc) of correctly answered nonces.

    Args:
        on_end: Called with the identifier of every session that ends.
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
        self._key = secrets.token_bytes(16)
        self._counts: dict[str, set[int]] = {}  # used counts by nonce

    def known(self, cookie: str | None) -> str | None:
        """Return the session of a cookie and record its use; None if there is none."""
        self._expire()
        if cookie not in self.table:
            return None
        self.table[cookie].used_s = self._clock()
        return cookie

    def open(self, user: str) -> str | None:
        """Open a session and return its identifier; None if the table is full."""
        self._expire()
        if len(self.table) >= self.limit:
            return None
        self.opened += 1
        identity = f'{self.opened}::http.session::{secrets.token_hex(8)}'
        self.table[identity] = Entry(user, self._clock(), self._clock())
        return identity

    def end(self, identity: str) -> None:
        """End a session."""
        if self.table.pop(identity, None) is not None:
            self._on_end(identity)

    def end_all(self, *, forget_nonces: bool = False) -> None:
        """End every session."""
        for identity in list(self.table):
            self.end(identity)
        if forget_nonces:
            self._key = secrets.token_bytes(16)
            self._counts.clear()

    def _expire(self) -> None:
        now_s = self._clock()
        for identity, entry in list(self.table.items()):
            if now_s - entry.used_s > self.idle_s or now_s - entry.began_s > self.life_s:
                self.end(identity)

    def challenge(self, stale: bool = False) -> str:
        """Return a value of `WWW-Authenticate` with a new nonce.

        Args:
            stale: True if user and password were correct and only the nonce was not.
        """
        self.challenges += 1
        issued = f'{self._clock():.6f}:{secrets.token_hex(8)}'
        nonce = f'{issued}:{self._signature(issued)}'.encode().hex()
        return (
            f'Digest realm="{REALM}", domain="/", qop="auth", nonce="{nonce}", '
            f'opaque="{secrets.token_hex(8)}", algorithm="MD5", '
            f'stale={str(stale).upper()}'
        )

    def _signature(self, issued: str) -> str:
        return hmac.new(self._key, issued.encode(), hashlib.sha256).hexdigest()[:16]

    def _given_s(self, nonce: str) -> float | None:
        """Return the time of a nonce [s]; None if this server did not issue it."""
        try:
            issued, _, signature = bytes.fromhex(nonce).decode('ascii').rpartition(':')
        except ValueError:
            return None
        return (
            float(issued.partition(':')[0]) if _same(signature, self._signature(issued)) else None
        )

    def digest_user(self, method: str, target: str, header: str) -> tuple[str | None, bool]:
        """Return the user of a digest header, or None and whether only its nonce is stale.

        Args:
            target: Path and query as sent.
        """
        if not header.startswith('Digest '):
            return None, False
        fields = {name: quoted or plain for name, quoted, plain in _FIELD.findall(header[7:])}
        user, nonce, count = fields.get('username'), fields.get('nonce', ''), fields.get('nc', '')
        given_s = self._given_s(nonce)
        if user not in self._users or given_s is None or fields.get('uri') != target:
            return None, False
        secret, action = _md5(f'{user}:{REALM}:{self._users[user]}'), _md5(f'{method}:{target}')
        middle = (
            [nonce, count, fields.get('cnonce', ''), fields['qop']]
            if fields.get('qop')
            else [nonce]
        )
        if not _same(fields.get('response', ''), _md5(':'.join([secret, *middle, action]))):
            return None, False
        if fields.get('qop') and not _COUNT.fullmatch(count):
            return None, False
        fresh = self._take_count(nonce, given_s, int(count, 16) if fields.get('qop') else 1)
        return (user, False) if fresh else (None, True)

    def _take_count(self, nonce: str, given_s: float, count: int) -> bool:
        """Record a count of a nonce; return False if it is a replay, or the nonce has expired.

        Concurrent requests may arrive in any order.
        """
        if self._clock() - given_s > NONCE_LIFE_S:
            self._counts.pop(nonce, None)
            return False
        used = self._counts.setdefault(nonce, set())
        fresh = count not in used
        used.add(count)
        return fresh

    def basic_user(self, header: str) -> str | None:
        """Return the user of a basic header; None if user or password is wrong."""
        if not header.startswith('Basic '):
            return None
        try:
            user, _, password = base64.b64decode(header[6:], validate=True).decode().partition(':')
        except (binascii.Error, ValueError):
            return None
        return user if user in self._users and _same(self._users[user], password) else None


def _bytes(text: str) -> bytes:
    return text.encode(errors='surrogateescape')  # headers that were not UTF-8


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(_bytes(one), _bytes(other))


def _md5(text: str) -> str:
    return hashlib.md5(_bytes(text)).hexdigest()
