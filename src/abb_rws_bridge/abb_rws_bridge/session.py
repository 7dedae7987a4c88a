"""HTTP session with a controller: authentication, cookies, pacing, deadlines and typed errors.

A controller has few sessions (70 on IRC5) and frees them only after minutes, so the client keeps
one and logs out at the end. A read is repeated once after a broken connection; a write is never
repeated, because the controller may have executed it.
"""

import asyncio
import base64
import ipaddress
import logging
import ssl
import time
from dataclasses import dataclass
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from abb_rws_bridge import body
from abb_rws_bridge.cookies import SESSION_COOKIE, SessionCookies
from abb_rws_bridge.credentials import Credentials
from abb_rws_bridge.digest import Digest
from abb_rws_bridge.errors import (
    BadResponse,
    ConfigurationError,
    ConnectionLost,
    NotAuthorised,
    RwsError,
    TimedOut,
    Unreachable,
    classify,
    printable,
)
from abb_rws_bridge.pacing import Pacer
from abb_rws_bridge.request import Request, Response, refusal, unanswered

MAX_BODY_BYTES = 8 * 1024 * 1024

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Endpoint:
    """Address of a controller, time limits and TLS.

    Attributes:
        timeout_s: Time limit of a request including the body [s]; below 1 s, so that a frozen
            controller is detected within 1 s.
        interval_s: Minimum time between the starts of two requests [s].
        ca_file: Additional trusted certificates (controllers have self-signed ones).
        verify_tls: False accepts any certificate; for a lab network only.
    """

    host: str
    port: int
    tls: bool = False
    timeout_s: float = 0.8
    interval_s: float = 0.055
    ca_file: str | None = None
    verify_tls: bool = True

    @property
    def url(self) -> URL:
        """URL of scheme, host and port."""
        return URL.build(scheme='https' if self.tls else 'http', host=self.host, port=self.port)

    @property
    def is_loopback(self) -> bool:
        """True if the host is this machine."""
        try:
            return self.host == 'localhost' or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def ssl(self) -> ssl.SSLContext | bool:
        """Return the `ssl` argument for aiohttp.

        Raises:
            ConfigurationError: If `ca_file` cannot be used.
        """
        if not self.tls:
            return True
        if not self.verify_tls:
            _log.warning('TLS certificates of %s are not verified', self.host)
            return False
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise ConfigurationError(f'ca_file {self.ca_file}: {error}') from error


class Session:
    """Requests over one session; use it as an async context, which logs out at the end.

    Raises:
        ConfigurationError: If `ca_file` cannot be used, or the password would cross the network
            in clear text.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        credentials: Credentials,
        *,
        basic: bool,
        headers: dict[str, str],
        form_type: str,
    ):
        if basic and not endpoint.tls and not endpoint.is_loopback:
            raise ConfigurationError(
                f'generation 2 without TLS would send the password to {endpoint.host} in clear '
                'text: set tls:=true and the HTTPS port, and ca_file for a self-signed certificate'
            )
        self.endpoint = endpoint
        self._ssl = endpoint.ssl()
        self._credentials, self._basic = credentials, basic
        self._digest = Digest(credentials)
        self._pacer = Pacer(endpoint.interval_s)
        self._headers, self._form_type = headers, form_type
        self._login = asyncio.Lock()
        self._cookies = SessionCookies()
        self._http: aiohttp.ClientSession | None = None

    @property
    def generation(self) -> int:
        """Number of sessions opened by the controller; increases when one was lost."""
        return self._cookies.generation

    async def __aenter__(self) -> 'Session':
        connector = aiohttp.TCPConnector(limit=4, ssl=self._ssl, keepalive_timeout=20.0)
        tracing = aiohttp.TraceConfig()
        tracing.on_request_redirect.append(_refuse_redirect)
        self._http = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trace_configs=[tracing],
        )
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Log out, which frees the session and its masterships, and close the sockets."""
        if self._http is None:
            return
        try:
            for end in (self.logout, self.end_replaced):
                try:
                    await end()
                except RwsError as error:
                    # the session expires after some minutes
                    _log.info('no logout: %s', error)
        finally:
            await self._http.close()
            self._http = None

    async def logout(self) -> None:
        """End the session, its masterships and subscriptions; the next request opens another.

        Raises:
            RwsError: If the controller did not confirm it; the session is kept.
        """
        if self._cookies.has_session:
            await self.request(Request('GET', '/logout', urgent=True, success=(204,)))

    async def end_replaced(self) -> None:
        """End sessions that the controller has replaced.

        Most are lost already, but two concurrent requests may each have opened one.

        Raises:
            RwsError: If a session may still be open; the next call tries again.
        """
        request = Request('GET', '/logout', success=(204,))
        for cookie in self._cookies.replaced[:]:
            # without credentials, which could open a session
            headers = self._headers | {'Cookie': f'{SESSION_COOKIE}={cookie}'}
            async with self._pacer.lane(False):
                await self._pacer.start(False)
                status, _, content = await self._send(request, self.endpoint.timeout_s, headers)
            if status not in request.success and (status == 429 or not 400 <= status < 500):
                raise refusal(request, status, content)
            self._cookies.replaced = [c for c in self._cookies.replaced if c != cookie]

    async def request(self, request: Request) -> Response:
        """Send a request and return the response.

        Raises:
            RwsError: The subclass states whether the request may have been executed.
        """
        async with self._pacer.lane(request.urgent):
            if not self._cookies.has_session:  # concurrent first requests would open two
                async with self._login:
                    return await self._attempt(request)
            return await self._attempt(request)

    async def websocket(
        self, url: URL, protocol: str, ping_s: float | None
    ) -> aiohttp.ClientWebSocketResponse:
        """Open a WebSocket with the cookies of this session.

        Without credentials, which could open a new session if this one was lost.

        Raises:
            RwsError: If the WebSocket could not be opened.
        """
        http = self._open_http()
        await self._pacer.start(False)
        try:
            async with asyncio.timeout(self.endpoint.timeout_s):
                return await http.ws_connect(
                    url,
                    protocols=(protocol,),
                    heartbeat=ping_s,
                    autoclose=True,
                    headers=self._cookies.header,
                    max_msg_size=MAX_BODY_BYTES,
                )
        except TimeoutError as error:
            raise TimedOut(f'WebSocket {url} not open after {self.endpoint.timeout_s} s') from error
        except aiohttp.WSServerHandshakeError as error:
            kind = classify(error.status, None, error.message)
            raise kind(
                f'WebSocket {url} refused with {error.status}', status=error.status
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(f'WebSocket {url}: {error}') from error
        except ValueError as error:
            raise BadResponse(f'WebSocket {url}: {error}') from error

    def _open_http(self) -> aiohttp.ClientSession:
        if self._http is None:
            raise ConfigurationError('the session is closed')
        return self._http

    async def _attempt(self, request: Request) -> Response:
        end_s = time.monotonic() + self.endpoint.timeout_s
        try:
            return await self._exchange(request, None)
        except ConnectionLost:  # reads only; a write ends as OutcomeUnknown
            if time.monotonic() > end_s - 0.2 * self.endpoint.timeout_s:
                raise
        return await self._exchange(request, end_s)

    async def _exchange(self, request: Request, end_s: float | None) -> Response:
        """Send a request; after an authentication challenge repeat it with the new nonce."""
        for challenged in (False, True):
            await self._pacer.start(request.urgent)
            asked_s = time.monotonic()
            limit_s = self.endpoint.timeout_s if end_s is None else end_s - asked_s
            target = self._url(request).raw_path_qs
            sent = self._headers | self._cookies.header | self._authorization(request, target)
            status, headers, content = await self._send(request, limit_s, sent)
            if status != 401:
                break
            if challenged or self._basic:
                raise NotAuthorised(
                    f'{self.endpoint.host} refuses user {self._credentials.user!r}: check the '
                    'credentials',
                    status=401,
                )
            self._digest.challenge(headers.get('www-authenticate', ''))
        if status not in request.succeeds_with:
            raise refusal(request, status, content)
        try:
            document = body.parse(content)
        except BadResponse as error:
            raise unanswered(request, BadResponse, str(error)) from error
        if document.code is not None and document.code < 0:
            raise refusal(request, status, content)
        if request.path == '/logout':
            self._cookies.ended()
        return Response(document, headers, asked_s, self.generation)

    def _url(self, request: Request) -> URL:
        return self.endpoint.url.join(URL(request.path, encoded=True)).with_query(request.query)

    async def _send(
        self, request: Request, limit_s: float, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers by lower-case name, and body of the response."""
        http, url = self._open_http(), self._url(request)
        headers = headers | {'Accept-Encoding': 'identity'}
        data = None
        if request.method != 'GET':  # also for an empty form
            headers['Content-Type'] = self._form_type
            data = urlencode(request.form or {}, safe=';/$').encode()
        where = f'{request.method} {request.path}'
        try:
            async with asyncio.timeout(limit_s):
                async with http.request(
                    request.method, url, headers=headers, data=data, allow_redirects=False
                ) as response:
                    if request.path != '/logout':  # valid even without the body
                        self._cookies.take(response.headers.getall('Set-Cookie', []))
                    answered = {k.lower(): printable(v) for k, v in response.headers.items()}
                    return response.status, answered, await _read(response)
        except TimeoutError as error:
            raise unanswered(
                request, TimedOut, f'{where}: no complete response within {limit_s:.2f} s'
            ) from error
        except aiohttp.ClientConnectorError as error:
            raise Unreachable(
                f'{self.endpoint.host}:{self.endpoint.port} cannot be reached: '
                f'{error.strerror or error}'
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            raise unanswered(
                request,
                ConnectionLost,
                f'{where}: connection lost ({error or type(error).__name__})',
            ) from error
        except ValueError as error:  # malformed response
            raise unanswered(request, BadResponse, f'{where}: {error}') from error

    def _authorization(self, request: Request, target: str) -> dict[str, str]:
        if self._basic:
            pair = f'{self._credentials.user}:{self._credentials.password}'.encode()
            return {'Authorization': 'Basic ' + base64.b64encode(pair).decode()}
        value = self._digest.authorization(request.method, target)
        return {} if value is None else {'Authorization': value}


async def _refuse_redirect(*_arguments: object) -> None:
    raise BadResponse('the WebSocket was redirected: check host and port')


async def _read(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for chunk in response.content.iter_chunked(1 << 16):
        content += chunk
        if len(content) > MAX_BODY_BYTES:
            raise ValueError(f'body is over the limit of {MAX_BODY_BYTES} bytes')
    return bytes(content)
