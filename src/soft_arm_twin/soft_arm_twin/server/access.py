"""Access control of requests, and security headers of answers.

A page of another site that the operator visits can make the browser send requests here. Host and
Origin tell those apart: a browser sets both, and a script cannot change them.
"""

import hmac
import ipaddress
import secrets
from dataclasses import dataclass

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from soft_arm_twin.errors import AddressError

LOOPBACK = ('127.0.0.1', 'localhost', '[::1]')


def is_loopback(host: str) -> bool:
    """Return whether an address is local to this machine; refuse the address of all interfaces.

    Raises:
        AddressError: If the host is neither 'localhost' nor one IP address of this machine.
    """
    if host == 'localhost':
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        raise AddressError(
            f'host {host}: give an IP address of this machine, or localhost'
        ) from None
    if address.is_unspecified:
        raise AddressError(
            f'host {host} means every network of this machine: give the address of one of them'
        )
    return address.is_loopback


def token_for(host: str, token: str | None) -> str | None:
    """Return the given token, or a new token if other machines can reach the address.

    Raises:
        AddressError: As in `is_loopback`.
    """
    return token or (None if is_loopback(host) else secrets.token_urlsafe(24))


@dataclass(frozen=True)
class Access:
    """Check each request.

    Attributes:
        host: Address of the server.
        port: Port of the server.
        token: Required cookie, or None.
        further_hosts: Further values of the header Host, such as `localhost:9000` for a forwarded
            port.
    """

    host: str
    port: int
    token: str | None
    further_hosts: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """Address to open, which sets the cookie."""
        query = f'?token={self.token}' if self.token else ''
        return f'http://{self._name}:{self.port}/{query}'

    @property
    def _name(self) -> str:
        return f'[{self.host}]' if ':' in self.host else self.host

    @property
    def _cookie(self) -> str:
        return f'soft_arm_twin_{self.port}'

    def _refusal(self, request: web.Request) -> str | None:
        names = (self._name, *(LOOPBACK if is_loopback(self.host) else ()))
        hosts = request.headers.getall('Host', [])
        known = {*(f'{name}:{self.port}' for name in names), *self.further_hosts}
        if len(hosts) != 1 or hosts[0] not in known:
            host = hosts[0] if len(hosts) == 1 else 'HOST:PORT'
            return (
                f'Host {", ".join(hosts)!r} is not the address of this server, '
                f'{names[0]}:{self.port}. Through a forwarded port use the same port on both '
                f'sides, or start the twin with --allow-host {host}'
            )
        origins = request.headers.getall('Origin', [])
        if origins not in ([], [f'http://{hosts[0]}']):
            return 'Origin is not this page: another site may not speak to this server'
        if not origins and request.path == '/socket':
            return 'no Origin: only a page of this server may open the socket'
        return None

    def _same(self, token: str) -> bool:
        return hmac.compare_digest((self.token or '').encode(), token.encode())

    @property
    def middleware(self) -> Middleware:
        """Accept a request, or answer 403 or 405; remove the token from the address."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.method != 'GET':
                raise web.HTTPMethodNotAllowed(request.method, ['GET'])
            if refusal := self._refusal(request):
                raise web.HTTPForbidden(text=refusal)
            if not self.token or self._same(request.cookies.get(self._cookie, '')):
                return await handler(request)
            if request.path != '/' or not self._same(request.query.get('token', '')):
                raise web.HTTPForbidden(
                    text='no token: open the address that was printed when the server started'
                )
            response = web.Response(status=303, headers={'Location': '/'})
            response.set_cookie(
                self._cookie, self.token, httponly=True, samesite='Strict', path='/'
            )
            return response

        return guard

    async def set_headers(self, request: web.Request, response: web.StreamResponse) -> None:
        """Forbid other origins and require revalidation of files."""
        headers = response.headers
        headers['Content-Security-Policy'] = (
            f"default-src 'self'; connect-src 'self' ws://{request.host}; img-src 'self' blob:; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        headers['Cross-Origin-Opener-Policy'] = 'same-origin'
        headers['Cross-Origin-Resource-Policy'] = 'same-origin'
        headers['Referrer-Policy'] = 'no-referrer'
        headers['X-Content-Type-Options'] = 'nosniff'
        headers['Cache-Control'] = 'no-cache'
