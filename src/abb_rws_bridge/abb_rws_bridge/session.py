"""HTTP session with a controller: authentication, cookies, pacing, deadlines and typed errors.

A controller has few sessions (70 on IRC5) and frees them only after minutes, so the client keeps
one and logs out at the end. It repeats a read whose connection broke, once. It never repeats a
write, because the controller may have carried it out.
"""

import asyncio
import base64
import logging
import ssl
import time
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from abb_rws_bridge import body
from abb_rws_bridge.credentials import Credentials
from abb_rws_bridge.digest import Digest
from abb_rws_bridge.errors import (
    Busy,
    ConfigurationError,
    ConnectionLost,
    NotAuthorised,
    OutcomeUnknown,
    RwsError,
    TimedOut,
    Unreachable,
    classify,
    short,
)
from abb_rws_bridge.pacing import Pacer

SESSION_COOKIE = '-http-session-'
MAXIMUM_BODY_BYTES = 8 * 1024 * 1024

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Endpoint:
    """Address of a controller, time limits and TLS.

    Attributes:
        timeout_s: Limit for a whole request with its body [s]; below 1 s, so that a frozen
            controller is noticed within 1 s.
        interval_s: Least time between the starts of two requests [s].
        ca_file: Certificates to trust besides the system's (a controller's own is self-signed).
        verify_tls: False trusts any certificate; for a lab network only.
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


@dataclass(frozen=True)
class Request:
    """A request: path from the root, query, form. `urgent` ones stop the robot and do not queue."""

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    form: dict[str, str] | list[tuple[str, str]] | None = None
    urgent: bool = False


@dataclass(frozen=True)
class Response:
    """A response, the start of its request (monotonic clock [s]) and the number of its session."""

    document: body.Document
    headers: dict[str, str]
    asked_s: float
    generation: int


class Session:
    """Send requests over one session; use it as an async context, which logs out at the end.

    Attributes:
        generation: Count of the sessions that the controller has given so far; it increases when a
            session was lost and another one given.
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
        self.endpoint = endpoint
        self.generation = 0
        self._credentials, self._basic = credentials, basic
        self._digest = Digest(credentials)
        self._pacer = Pacer(endpoint.interval_s)
        self._headers, self._form_type = headers, form_type
        self._login = asyncio.Lock()
        self._cookie: str | None = None
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> 'Session':
        connector = aiohttp.TCPConnector(limit=4, ssl=self.endpoint.ssl(), keepalive_timeout=20.0)
        # unsafe: the default jar drops the cookies of hosts that are IP addresses, which costs one
        # session per request
        jar = aiohttp.CookieJar(unsafe=True, quote_cookie=False)
        self._http = aiohttp.ClientSession(
            connector=connector, cookie_jar=jar, auto_decompress=True
        )
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Log out, which frees the session and its masterships at once, and close the sockets."""
        if self._http is None:
            return
        try:
            await self.logout()
        finally:
            await self._http.close()
            self._http = None

    async def logout(self) -> None:
        """End the session, its masterships and subscriptions; the next request opens another."""
        try:
            if self._cookie is not None:
                await self.request(Request('GET', '/logout', urgent=True))
        except RwsError as error:
            # The controller frees the session by itself after some minutes.
            _log.info('no logout: %s', error)
        self._cookie = None

    async def request(self, request: Request) -> Response:
        """Send a request and return the whole response.

        Raises:
            RwsError: The subclass says whether the controller may have carried out the request.
        """
        async with self._pacer.lane(request.urgent):
            if self._cookie is None:  # two first requests at once would open two sessions
                async with self._login:
                    return await self._attempt(request)
            return await self._attempt(request)

    async def websocket(
        self, url: URL, protocol: str, ping_s: float | None
    ) -> aiohttp.ClientWebSocketResponse:
        """Open a WebSocket with the cookies of this session.

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
                    headers=self._authorization('GET', url),
                    max_msg_size=MAXIMUM_BODY_BYTES,
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

    def _open_http(self) -> aiohttp.ClientSession:
        if self._http is None:
            raise ConfigurationError('the session is closed')
        return self._http

    async def _attempt(self, request: Request) -> Response:
        end_s = time.monotonic() + self.endpoint.timeout_s
        try:
            return await self._exchange(request, None)
        except ConnectionLost:  # only reads end so; a write ends as OutcomeUnknown
            if time.monotonic() > end_s - 0.2 * self.endpoint.timeout_s:
                raise
        return await self._exchange(request, end_s)

    async def _exchange(self, request: Request, end_s: float | None) -> Response:
        """Send a request; if the controller asks for authentication, repeat it with a new nonce."""
        for challenged in (False, True):
            await self._pacer.start(request.urgent)
            asked_s = time.monotonic()
            limit_s = self.endpoint.timeout_s if end_s is None else end_s - asked_s
            status, headers, content = await self._send(request, limit_s)
            if status != 401:
                break
            self._cookie = None
            if challenged or self._basic:
                raise NotAuthorised(
                    f'{self.endpoint.host} refuses user {self._credentials.user!r}: check the '
                    'credentials',
                    status=401,
                )
            self._digest.challenge(headers.get('WWW-Authenticate', ''))
        if status >= 400:
            raise _refusal(request, status, content)
        if request.path == '/logout':
            self._cookie = None
            content = b''
        return Response(body.parse(content), headers, asked_s, self.generation)

    async def _send(self, request: Request, limit_s: float) -> tuple[int, dict[str, str], bytes]:
        http = self._open_http()
        url = self.endpoint.url.join(URL(request.path, encoded=True)).with_query(request.query)
        headers = self._headers | self._authorization(request.method, url)
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
                    self._note_session(response.cookies)  # valid even if the body never comes
                    return response.status, dict(response.headers), await _read(response)
        except TimeoutError as error:
            raise _unanswered(
                request, TimedOut, f'{where}: no whole answer within {limit_s:.2f} s'
            ) from error
        except aiohttp.ClientConnectorError as error:
            raise Unreachable(
                f'{self.endpoint.host}:{self.endpoint.port} cannot be reached: '
                f'{error.strerror or error}'
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            raise _unanswered(
                request,
                ConnectionLost,
                f'{where}: connection lost ({error or type(error).__name__})',
            ) from error

    def _authorization(self, method: str, url: URL) -> dict[str, str]:
        if self._basic:
            pair = f'{self._credentials.user}:{self._credentials.password}'.encode()
            return {'Authorization': 'Basic ' + base64.b64encode(pair).decode()}
        value = self._digest.authorization(method, url.raw_path_qs)
        return {} if value is None else {'Authorization': value}

    def _note_session(self, cookies: SimpleCookie) -> None:
        if SESSION_COOKIE in cookies and cookies[SESSION_COOKIE].value != self._cookie:
            self._cookie = cookies[SESSION_COOKIE].value
            self.generation += 1


async def _read(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for chunk in response.content.iter_chunked(1 << 16):
        content += chunk
        if len(content) > MAXIMUM_BODY_BYTES:
            raise aiohttp.ClientPayloadError(
                f'body is over the limit of {MAXIMUM_BODY_BYTES} bytes'
            )
    return bytes(content)


def _unanswered(request: Request, kind: type[RwsError], message: str) -> RwsError:
    if request.method == 'GET':
        return kind(message)
    return OutcomeUnknown(f'{message}; it may have been done: read back before trying again')


def _refusal(request: Request, status: int, content: bytes) -> RwsError:
    where = f'{request.method} {request.path}'
    if status in (429, 503):
        return Busy(
            f'{where}: the controller has no free session or too many requests ({status}): wait',
            status=status,
        )
    try:
        document = body.parse(content)
    except RwsError:
        document = body.Document(message=content[:80].decode('ascii', errors='replace'))
    kind = classify(status, document.code, document.message)
    return kind(
        f'{where}: {short(document.message) or "refused"} (HTTP {status}, code {document.code})',
        status=status,
        code=document.code,
    )
