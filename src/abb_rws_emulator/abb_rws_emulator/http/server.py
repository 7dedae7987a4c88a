"""Serve the emulated controller on a TCP port: authentication, dispatch, subscriptions, restart."""

import asyncio
import logging
import re
import ssl
import time
import urllib.parse
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from aiohttp import web

from abb_rws_emulator import refusals
from abb_rws_emulator.controller.file_store import MAX_FILE_SIZE
from abb_rws_emulator.controller.virtual_controller import VirtualController
from abb_rws_emulator.faults import Faults
from abb_rws_emulator.http import forms, rendering
from abb_rws_emulator.http.addresses import canonical
from abb_rws_emulator.http.routing import ROUTES, Call
from abb_rws_emulator.http.sessions import Sessions
from abb_rws_emulator.http.subscriptions import Subscriptions
from abb_rws_emulator.http.websockets import WebSockets
from abb_rws_emulator.refusals import Refused
from abb_rws_emulator.resources import (
    access,
    files,
    io,
    log,
    motion,
    panel,
    rapid,
    system,
)

_log = logging.getLogger(__name__)
_AUTHORITY = re.compile(r'[A-Za-z0-9.:_\[\]-]{1,255}')
SESSION_COOKIE = '-http-session-'
TICK_S = 0.01
IDLE_S = 75.0
"""Time after which an idle connection is closed [s]."""
MAX_RECORDED_WRITES = 1000
ROBOTWARE = {1: '6.16.2027', 2: '7.21.0+229'}
"""Default version by generation."""

RESOURCES = (system, panel, motion, access, log, files, io, rapid)
"""Modules that fill ROUTES when imported."""


@dataclass(frozen=True)
class Options:
    """Options of the emulator.

    Attributes:
        users: Password by user.
        generation: 1 for RWS 1.0 (digest), 2 for RWS 2.0 (basic).
        session_limit: Number of sessions from which a login gets status 503.
        robotware: Version; empty takes the default of the generation. From 8 one write access
            replaces the masterships.
    """

    users: dict[str, str]
    host: str = '127.0.0.1'
    port: int = 0
    generation: int = 1
    session_limit: int = 70
    session_idle_s: float = 300.0
    tls: ssl.SSLContext | None = None
    robotware: str = ''


class Emulator:
    """Running controller; use it as an async context.

    Attributes:
        requests: Number of requests that reached the controller.
        written: Number of POST requests that were executed.
        writes: Paths with actions of the most recent of them.
        failures: Number of requests that raised an exception, a defect of the emulator.
    """

    def __init__(self, options: Options, clock: Callable[[], float] = time.monotonic):
        self.options = options
        self.controller = VirtualController(
            options.robotware or ROBOTWARE[options.generation], clock
        )
        self.faults = Faults()
        self.subscriptions = Subscriptions(
            self.controller, lambda socket, text: self.websockets.send(socket, text)
        )
        self.websockets = WebSockets(
            options.generation, self.subscriptions, self.faults, self._keep
        )
        self.sessions = Sessions(
            options.users,
            clock,
            self._session_ended,
            limit=options.session_limit,
            idle_s=options.session_idle_s,
        )
        self.controller.on_change = self.subscriptions.changed
        self.requests = self.written = self.failures = 0
        self.writes: deque[str] = deque(maxlen=MAX_RECORDED_WRITES)
        self.port = options.port
        app = web.Application(client_max_size=MAX_FILE_SIZE + 1)
        app.router.add_route('*', '/{path:.*}', self._handle)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            handler_cancellation=True,
            shutdown_timeout=0.1,
            keepalive_timeout=IDLE_S,
        )
        self._listener: asyncio.Server | None = None
        self._tasks: set[asyncio.Task] = set()

    async def __aenter__(self) -> 'Emulator':
        await self._runner.setup()
        await self._listen()
        self._keep(self._tick())
        return self

    async def __aexit__(self, *_exception: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._disconnect()
        await self._runner.cleanup()

    async def _listen(self) -> None:
        assert self._runner.server is not None  # since `setup`
        self._listener = await asyncio.get_running_loop().create_server(
            self._runner.server,
            self.options.host,
            self.port,
            reuse_address=True,
            ssl=self.options.tls,
        )
        self.port = self._listener.sockets[0].getsockname()[1]

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tick(self) -> None:
        while True:
            self.controller.advance()
            await asyncio.sleep(TICK_S)

    async def restart(self, down_s: float = 0.5, boot_s: float = 0.5) -> None:
        """Abort connections, end sessions and registrations, then boot without RAPID tasks."""
        self._disconnect()
        self.sessions.end_all(forget_nonces=True)
        self.subscriptions.remove_all()
        self.controller.restart()
        self.controller.booting = True
        await asyncio.sleep(down_s)
        await self._listen()
        self._keep(self._finish_boot(boot_s))

    async def _finish_boot(self, boot_s: float) -> None:
        await asyncio.sleep(boot_s)
        self.controller.booting = False

    def _disconnect(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self.cut_connections()

    def cut_connections(self) -> None:
        """Abort every TCP connection."""
        for connection in self._runner.server.connections if self._runner.server else ():
            if connection.transport is not None:
                connection.transport.abort()

    def _session_ended(self, session: str) -> None:
        self.controller.access.forget_session(session)
        self.subscriptions.remove_of(session)

    # HTTP

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        if request.transport is None or request.transport.is_closing():
            return web.Response(status=503)  # the session would not be received
        return await self.faults.apply(request, lambda: self._guarded(request))

    async def _guarded(self, request: web.Request) -> web.StreamResponse:
        """Answer any request, however malformed, as a controller would."""
        try:
            return await self._authenticated(request)
        except web.HTTPException as refused:  # by aiohttp: too large, invalid handshake
            return rendering.refusal(
                Refused(refused.status, -1073445879, refused.reason), self._style(request)
            )
        except Exception:
            self.failures += 1
            _log.exception('%s %s', request.method, request.path)
            return rendering.refusal(
                refusals.invalid('The request cannot be understood'), self._style(request)
            )

    async def _authenticated(self, request: web.Request) -> web.StreamResponse:
        session = self.sessions.known(request.cookies.get(SESSION_COOKIE))
        opened = False
        if session is None:
            header = request.headers.get('Authorization', '')
            user, stale = self._user(request, header)
            if user is None:
                if request.path.startswith('/poll/') and not header:
                    return web.Response(status=403)
                return self._challenge(stale)
            if request.path.startswith('/poll/'):  # some clients send digest without cookie
                return await self.websockets.serve(request, user)
            session = self.sessions.open(user)
            if session is None:
                return web.Response(status=503)
            opened = True
        answer = await self._answer(request, session)
        if opened and not answer.prepared:
            # the first cookie identifies the session, the second the TCP connection
            answer.headers.add('Set-Cookie', f'{SESSION_COOKIE}={session}; path=/; httponly')
            answer.headers.add('Set-Cookie', f'ABBCX={self.sessions.opened}; path=/; httponly')
        return answer

    def _user(self, request: web.Request, header: str) -> tuple[str | None, bool]:
        if self.options.generation == 2:
            return self.sessions.basic_user(header), False
        return self.sessions.digest_user(request.method, request.raw_path, header)

    def _challenge(self, stale: bool) -> web.Response:
        header = (
            'Basic realm="validusers@robapi.abb"'
            if self.options.generation == 2
            else self.sessions.challenge(stale)
        )
        return web.Response(status=401, headers={'WWW-Authenticate': header})

    async def _answer(self, request: web.Request, session: str) -> web.StreamResponse:
        style = self._style(request)
        try:
            return await self._dispatch(request, session, style)
        except Refused as refused:
            return rendering.refusal(refused, style)

    def _style(self, request: web.Request) -> rendering.Format:
        # links in a list are relative to its parent path
        parent = request.path.rstrip('/').rpartition('/')[0]
        base = f'{request.scheme}://{self._authority(request)}{parent}/'
        if self.options.generation == 2:
            return rendering.Format(2, 'json' in request.headers.get('Accept', ''), base)
        return rendering.Format(1, request.query.get('json') == '1', base)

    def _authority(self, request: web.Request) -> str:
        """Return host and port of the request; if invalid, the address of the listener."""
        return (
            request.host
            if _AUTHORITY.fullmatch(request.host)
            else f'{self.options.host}:{self.port}'
        )

    async def _dispatch(
        self, request: web.Request, session: str, style: rendering.Format
    ) -> web.StreamResponse:
        path = urllib.parse.unquote(request.path)
        if path == '/logout':
            self.sessions.end(session)
            return web.Response(status=204)
        if path.startswith('/poll/'):
            return await self.websockets.serve(request, self._user_of(session), session)
        content = await request.read()
        if path.startswith('/subscription'):
            return self._subscription(request, session, content)
        return rendering.response(self._resource(request, session, path, content), style)

    def _resource(
        self, request: web.Request, session: str, path: str, content: bytes
    ) -> rendering.Reply:
        query = dict(request.query)
        if self.options.generation == 2:
            path, more = canonical(request.method, path)
            query = more | query
        form = forms.fields_of(request, content, self.options.generation)
        self._user_of(session)
        wanted = 'GET' if request.method == 'HEAD' else request.method
        for method, pattern, handler in ROUTES:
            match = pattern.match(path) if method == wanted else None
            if match:
                reply = handler(
                    Call(
                        self.controller,
                        session,
                        match.groupdict(),
                        query,
                        form,
                        content,
                        self.options.generation,
                    )
                )
                if method == 'POST':
                    self.written += 1
                    self.writes.append(f'{path}?{query.get("action", "")}')
                return reply
        raise refusals.no_resource()

    def _user_of(self, session: str) -> str:
        """Return the user of a session.

        Raises:
            Refused: If the session ended while the request was received.
        """
        if session not in self.sessions.table:
            raise refusals.no_grant()
        return self.sessions.table[session].user

    def _subscription(self, request: web.Request, session: str, content: bytes) -> web.Response:
        number = request.path.removeprefix('/subscription').strip('/')
        headers = {'Content-Type': rendering.XHTML}
        if request.method == 'POST' and not number:
            form = forms.parsed(content)
            group = self.subscriptions.register(session, self._user_of(session), form)
            host = self._authority(request)
            poll_url = f'{"wss" if self.options.tls else "ws"}://{host}/poll/{group.number}'
            base = f'{request.scheme}://{host}/'
            body = self.subscriptions.initial(group, base, poll_url).encode()
            return web.Response(status=201, body=body, headers=headers | {'Location': poll_url})
        found = self.subscriptions.find(number)
        # groups of other sessions are hidden
        if request.method != 'DELETE' or found is None or found.session != session:
            raise refusals.no_resource()
        self.subscriptions.remove(found.number)
        return web.Response(status=200, headers=headers)
