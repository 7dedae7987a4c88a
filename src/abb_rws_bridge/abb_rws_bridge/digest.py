"""HTTP Digest authentication (RFC 7616 with qop=auth, RFC 2069 where the server names no qop).

The aiohttp of Ubuntu 24.04 has no digest authentication, and a controller requires: `uri` is path
and query, `nc` is unquoted and restarts with each nonce, one nonce serves many requests.
"""

import hashlib
import re
import secrets

from abb_rws_bridge.credentials import Credentials
from abb_rws_bridge.errors import NotAuthorised

_FIELD = re.compile(r'([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]*))')
_ALGORITHMS = {'MD5': hashlib.md5, 'SHA-256': hashlib.sha256}


class Digest:
    """Digest authentication with one server; a nonce is used until the server sends another."""

    def __init__(self, credentials: Credentials):
        self._credentials = credentials
        self._challenge: dict[str, str] | None = None
        self._count = 0
        self._client_nonce = ''

    def challenge(self, header: str) -> None:
        """Store a challenge from the `WWW-Authenticate` header.

        Raises:
            NotAuthorised: If it is not a supported digest challenge.
        """
        scheme, _, rest = header.partition(' ')
        fields = {name.lower(): quoted or plain for name, quoted, plain in _FIELD.findall(rest)}
        algorithm = fields.get('algorithm', 'MD5').upper()
        qops = [option.strip() for option in fields.get('qop', '').split(',') if option.strip()]
        if scheme.lower() != 'digest' or 'nonce' not in fields or 'realm' not in fields:
            raise NotAuthorised(
                f'the controller asks for {scheme or "no scheme"} authentication, not digest: '
                'check dialect and port',
                status=401,
            )
        if algorithm not in _ALGORITHMS or (qops and 'auth' not in qops):
            raise NotAuthorised(
                f'digest algorithm {algorithm} with qop {qops or "none"} is not supported',
                status=401,
            )
        fields['algorithm'], fields['qop'] = algorithm, 'auth' if qops else ''
        self._challenge, self._count, self._client_nonce = fields, 0, secrets.token_hex(8)

    def authorization(self, method: str, target: str) -> str | None:
        """Return the `Authorization` header for a path and query; None before a challenge."""
        if self._challenge is None:
            return None
        fields = self._challenge
        digest = lambda text: _ALGORITHMS[fields['algorithm']](text.encode()).hexdigest()  # noqa: E731
        secret = digest(f'{self._credentials.user}:{fields["realm"]}:{self._credentials.password}')
        action = digest(f'{method}:{target}')
        self._count += 1
        parts = {
            'username': self._credentials.user,
            'realm': fields['realm'],
            'nonce': fields['nonce'],
            'uri': target,
        }
        if fields['qop']:
            count = f'{self._count:08x}'
            parts['response'] = digest(
                ':'.join((secret, fields['nonce'], count, self._client_nonce, 'auth', action))
            )
            tail = f', qop=auth, nc={count}, cnonce="{self._client_nonce}"'
        else:
            parts['response'] = digest(f'{secret}:{fields["nonce"]}:{action}')
            tail = ''
        if 'opaque' in fields:
            parts['opaque'] = fields['opaque']
        quoted = ', '.join(f'{name}="{value}"' for name, value in parts.items())
        return f'Digest {quoted}, algorithm={fields["algorithm"]}{tail}'
