"""The emulated controller on a TCP port: authentication, sessions, dispatch, WebSockets, restart."""

import asyncio
import contextlib
import re
import ssl
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import WSCloseCode, WSMsgType, web

from soft_arm_sim.rws import (
    access_resources,
    configuration_resources,
    file_resources,
    io_resources,
    log_resources,
    motion_resources,
    panel_resources,
    program_resources,
    queue_resources,
    rapid_resources,
    refusals,
    rendering,
    system_resources,
)
from soft_arm_sim.rws.addresses import canonical
from soft_arm_sim.rws.faults import Faults
from soft_arm_sim.rws.refusals import Refused
from soft_arm_sim.rws.routing import ROUTES, Call
from soft_arm_sim.rws.sessions import Sessions
from soft_arm_sim.rws.subscriptions import Subscriptions
from soft_arm_sim.rws.virtual_controller import VirtualController

SESSION_COOKIE = '-http-session-'
PING_S = 30.0
TICK_S = 0.01

RESTART_AFTER_S = 0.2
ROBOTWARE = {1: '6.16.2027', 2: '7.21.0+229'}
"""Version by generation, where none is given."""

RESOURCES = (  # importing them filled ROUTES
    system_resources,
    panel_resources,
    motion_resources,
    access_resources,
    log_resources,
    configuration_resources,
    queue_resources,
    file_resources,
    io_resources,
    rapid_resources,
    program_resources,
)


@dataclass(frozen=True)
class Options:
    """How the emulator is set up.

    Attributes:
        users: Password by user.
        generation: 1 for RWS 1.0 (digest), 2 for RWS 2.0 (basic).
        advertised_host: What the controller calls itself in event addresses; behind a router that is not what clients call it.
        session_limit: Sessions before a login is answered 503.
        robotware: Version; empty takes the usual one of the generation. From 8 on there is one write access and no mastership.
    """

    users: dict[str, str]
    host: str = '127.0.0.1'
    port: int = 0
    generation: int = 1
    session_limit: int = 70
    session_idle_s: float = 300.0
    tls: ssl.SSLContext | None = None
    advertised_host: str | None = None
    robotware: str = ''


class Emulator:
    """A running controller; use it as an async context.

    Attributes:
        requests: Count of requests that reached the controller.
        writes: Path with action and form of every POST that was carried out.
    """

    def __init__(self, options: Options, clock: Callable[[], float] = time.monotonic):
        self.options = options
        self.controller = VirtualController(options.robotware or ROBOTWARE[options.generation], clock)
        self.faults = Faults()
        self.subscriptions = Subscriptions(self.controller, self._send)
        self.sessions = Sessions(options.users, clock, self._session_ended, limit=options.session_limit, idle_s=options.session_idle_s)
        self.controller.on_change = self.subscriptions.changed
        self.controller.sessions = lambda: list(self.sessions.table)
        self.controller.on_restart = lambda: self._keep(self._restart_soon())
        self.requests = 0
        self.writes: list[tuple[str, dict[str, str]]] = []
        self.port = options.port
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None
        self._tasks: set[asyncio.Task] = set()

    async def __aenter__(self) -> 'Emulator':
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route('*', '/{path:.*}', self._handle)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await self._listen()
        self._keep(self._tick())
        return self

    async def __aexit__(self, *_exception) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.cut_connections()
        await self._runner.cleanup()

    async def _listen(self) -> None:
        self._site = web.TCPSite(self._runner, self.options.host, self.port, ssl_context=self.options.tls, reuse_address=True)
        await self._site.start()
        self.port = self._site._server.sockets[0].getsockname()[1]  # aiohttp does not tell the port it was given

    def _keep(self, work) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tick(self) -> None:
        while True:
            self.controller.advance()
            await asyncio.sleep(TICK_S)

    async def restart(self, down_s: float = 0.5, boot_s: float = 0.5) -> None:
        """Warm start: connections cut, sessions and registrations lost, then no tasks for a while."""
        await self._site.stop()
        self.cut_connections()
        self.sessions.end_all(forget_nonces=True)
        self.subscriptions.remove_all()
        self.controller.restart()
        self.controller.booting = True
        await asyncio.sleep(down_s)
        await self._listen()
        self._keep(self._finish_boot(boot_s))

    async def _restart_soon(self) -> None:
        await asyncio.sleep(RESTART_AFTER_S)  # the answer goes out first
        await self.restart()

    async def _finish_boot(self, boot_s: float) -> None:
        await asyncio.sleep(boot_s)
        self.controller.booting = False

    def cut_connections(self) -> None:
        """Abort every TCP connection."""
        for connection in list(self._runner.server.connections):
            if connection.transport is not None:
                connection.transport.abort()

    def _session_ended(self, session: str) -> None:
        self.controller.forget_session(session)
        self.subscriptions.remove_of(session)

    # HTTP

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        return await self.faults.apply(request, lambda: self._authenticated(request))

    async def _authenticated(self, request: web.Request) -> web.StreamResponse:
        session = self.sessions.known(request.cookies.get(SESSION_COOKIE))
        opened = False
        if session is None:
            header = request.headers.get('Authorization', '')
            if not self._credentials_right(request, header):
                if request.path.startswith('/poll/') and not header:
                    return web.Response(status=403)
                return self._challenge()
            if request.path.startswith('/poll/'):  # clients exist that come back with digest only
                return await self._poll(request, '')
            session = self.sessions.open()
            if session is None:
                return web.Response(status=503)
            opened = True
        answer = await self._answer(request, session)
        if opened and not answer.prepared:
            # two cookies; only the first is the session, the second is new with each TCP connection
            answer.headers.add('Set-Cookie', f'{SESSION_COOKIE}={session}; path=/; httponly')
            answer.headers.add('Set-Cookie', f'ABBCX={self.sessions.opened}; path=/; httponly')
        return answer

    def _credentials_right(self, request: web.Request, header: str) -> bool:
        if self.options.generation == 2:
            return self.sessions.basic_is_right(header)
        return self.sessions.digest_is_right(request.method, request.raw_path, header)

    def _challenge(self) -> web.Response:
        header = 'Basic realm="validusers@robapi.abb"' if self.options.generation == 2 else self.sessions.challenge()
        return web.Response(status=401, headers={'WWW-Authenticate': header})

    async def _answer(self, request: web.Request, session: str) -> web.StreamResponse:
        style = self._style(request)
        try:
            return await self._dispatch(request, session, style)
        except Refused as refused:
            return rendering.refusal(refused, style)

    def _style(self, request: web.Request) -> rendering.Format:
        # links of a list are relative to the folder above it
        base = f'{request.scheme}://{request.host}{request.path.rstrip("/").rpartition("/")[0]}/'
        if self.options.generation == 2:
            return rendering.Format(2, 'json' in request.headers.get('Accept', ''), base)
        return rendering.Format(1, request.query.get('json') == '1', base)

    async def _dispatch(self, request: web.Request, session: str, style: rendering.Format) -> web.StreamResponse:
        path = re.sub(r'^/https?://[^/]*', '', urllib.parse.unquote(request.path))  # abb_robot_client asks for privilege this way
        if path == '/logout':
            self.sessions.end(session)
            return web.Response(status=204)
        if path.startswith('/poll/'):
            return await self._poll(request, session)
        content = await request.read()
        if path.startswith('/subscription'):
            return self._subscription(request, session, content)
        return rendering.response(self._resource(request, session, path, content), style)

    def _resource(self, request: web.Request, session: str, path: str, content: bytes) -> rendering.Reply:
        query = dict(request.query)
        if self.options.generation == 2:
            path, more = canonical(request.method, path)
            query = more | query
        form = self._form(request, path, content)
        wanted = 'GET' if request.method == 'HEAD' else request.method
        for method, pattern, handler in ROUTES:
            match = pattern.match(path) if method == wanted else None
            if match:
                reply = handler(Call(self.controller, session, match.groupdict(), query, form, content, self.options.generation))
                if method == 'POST':
                    self.writes.append((f'{path}?{query.get("action", "")}', form))
                return reply
        raise refusals.no_resource()

    def _form(self, request: web.Request, path: str, content: bytes) -> dict[str, str]:
        if request.method not in ('POST', 'PUT') or (request.method == 'PUT' and path.startswith('/fileservice/')):
            return {}
        typed = request.headers.get('Content-Type', '').startswith('application/x-www-form-urlencoded')
        if not typed and (content or self.options.generation == 2):  # IRC5 takes an empty form of any type
            raise Refused(415, -1073445879, 'Unsupported media type')
        return dict(urllib.parse.parse_qsl(content.decode('utf-8', errors='replace'), keep_blank_values=True))

    # events

    def _subscription(self, request: web.Request, session: str, content: bytes) -> web.Response:
        number, _, resource = urllib.parse.unquote(request.path).removeprefix('/subscription').lstrip('/').partition('/')
        headers = {'Content-Type': rendering.XHTML}
        base = f'{request.scheme}://{request.host}/'
        if request.method == 'POST' and not number:
            group = self.subscriptions.register(session, content.decode())
            poll_url = f'{"wss" if self.options.tls else "ws"}://{self.options.advertised_host or request.host}/poll/{group.number}'
            body = self.subscriptions.initial(group, base, poll_url)  # XHTML even where JSON was asked for
            return web.Response(status=201, body=body.encode(), headers=headers | {'Location': poll_url})
        if request.method == 'GET' and not number:
            return web.Response(body=self.subscriptions.overview(session, base).encode(), headers=headers)
        if not number.isdigit() or int(number) not in self.subscriptions.groups:
            raise refusals.no_resource()
        group = self.subscriptions.groups[int(number)]
        if request.method == 'PUT':
            self.subscriptions.add(group, content.decode())
            return web.Response(body=self.subscriptions.initial(group, base, f'/poll/{number}').encode(), headers=headers)
        if request.method == 'DELETE' and resource:
            self.subscriptions.drop(group, f'/{resource}')
        elif request.method == 'DELETE':
            self.subscriptions.remove(group.number)
        elif request.method != 'GET':
            raise refusals.no_resource()
        return web.Response(status=200, headers=headers)

    async def _poll(self, request: web.Request, session: str) -> web.StreamResponse:
        number = request.path.rpartition('/')[2]
        group = self.subscriptions.groups.get(int(number)) if number.isdigit() else None
        if group is None:
            return web.Response(status=404)
        protocol = 'rws_subscription' if self.options.generation == 2 else 'robapi2_subscription'
        offered = request.headers.get('Sec-WebSocket-Protocol', '')
        if self.options.generation == 2 and protocol not in offered:
            return web.Response(status=400)
        silent_peer = self.options.generation == 2
        socket = web.WebSocketResponse(protocols=(protocol,), heartbeat=None if silent_peer else PING_S, autoping=not silent_peer)
        try:
            await socket.prepare(request)
        except ConnectionError:  # cut while it was being opened
            return web.Response(status=503)
        group.sockets.append(socket)
        try:
            await self._listen_to(socket, request, silent_peer)
        finally:
            if socket in group.sockets:
                group.sockets.remove(socket)
        return socket

    async def _listen_to(self, socket: web.WebSocketResponse, request: web.Request, silent_peer: bool) -> None:
        while True:
            message = await socket.receive()
            if message.type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR):
                return
            if silent_peer:
                await socket.close(code=WSCloseCode.POLICY_VIOLATION, message=b'Client cannot send data.')
                return

    def silence_websockets(self, silent: bool) -> None:
        """Stop or resume reading and writing of every WebSocket, the TCP connections staying up."""
        self.faults.websocket_silent = silent
        for group in self.subscriptions.groups.values():
            for socket in group.sockets:
                if socket._req is not None and socket._req.transport is not None:
                    (socket._req.transport.pause_reading if silent else socket._req.transport.resume_reading)()

    async def close_websockets(self, code: int, text: str) -> None:
        """Close every WebSocket from this side."""
        for group in list(self.subscriptions.groups.values()):
            for socket in list(group.sockets):
                await socket.close(code=code, message=text.encode())

    def _send(self, socket: web.WebSocketResponse, text: str) -> None:
        if self.faults.silent or self.faults.websocket_silent:
            return
        self._keep(_send_text(socket, text))


async def _send_text(socket: web.WebSocketResponse, text: str) -> None:
    with contextlib.suppress(ConnectionError):  # the client is gone; its handler notices by itself
        await socket.send_str(text)
