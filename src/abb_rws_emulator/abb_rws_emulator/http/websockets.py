"""WebSockets over which groups of subscriptions send their events."""

import contextlib
from collections.abc import Callable, Coroutine

from aiohttp import WSCloseCode, WSMsgType, web

from abb_rws_emulator.faults import Faults
from abb_rws_emulator.http.subscriptions import Subscriptions, transport_of

PING_S = 30.0
MAX_BACKLOG_SIZE = 1 << 20
"""Bytes of queued events above which a WebSocket is aborted."""


class WebSockets:
    """WebSockets of all groups.

    Args:
        generation: 1 for RWS 1.0; 2 for RWS 2.0, which forbids the client to send.
        subscriptions: Groups.
        faults: Faults that are switched on.
        run: Runs a coroutine as a task.
    """

    def __init__(
        self,
        generation: int,
        subscriptions: Subscriptions,
        faults: Faults,
        run: Callable[[Coroutine[None, None, None]], None],
    ):
        self._generation, self._subscriptions = generation, subscriptions
        self._faults, self._run = faults, run

    async def serve(
        self, request: web.Request, user: str, session: str | None = None
    ) -> web.StreamResponse:
        """Serve the WebSocket of a group to its session or, without a session, to its user.

        Return when the WebSocket has ended.
        """
        group = self._subscriptions.find(request.path.rpartition('/')[2])
        if group is None or group.user != user or session not in (None, group.session):
            return web.Response(status=404)
        forbids_sending = self._generation == 2
        protocol = 'rws_subscription' if forbids_sending else 'robapi2_subscription'
        offered = request.headers.get('Sec-WebSocket-Protocol', '')
        if forbids_sending and protocol not in offered:
            return web.Response(status=400)
        socket = web.WebSocketResponse(
            protocols=(protocol,),
            heartbeat=None if forbids_sending else PING_S,
            autoping=not forbids_sending,
            autoclose=False,
            compress=False,
        )
        try:
            await socket.prepare(request)
        except ConnectionError:  # connection lost during the handshake
            return web.Response(status=503)
        group.sockets.append(socket)
        try:
            closed_by_client = await self._receive(socket, forbids_sending)
        finally:
            group.sockets.remove(socket)
        if closed_by_client:  # after a broken connection the group stays and can be polled again
            if not group.sockets and self._subscriptions.groups.get(group.number) is group:
                self._subscriptions.remove(group.number)
            await socket.close()
        return socket

    async def _receive(self, socket: web.WebSocketResponse, forbids_sending: bool) -> bool:
        """Wait for the end of a WebSocket; return whether the client sent a close frame."""
        while True:
            message = await socket.receive()
            if message.type == WSMsgType.CLOSE:
                return True
            if message.type in (WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR):
                return False
            if forbids_sending:
                await socket.close(
                    code=WSCloseCode.POLICY_VIOLATION, message=b'Client cannot send data.'
                )
                return False

    def silence(self, silent: bool) -> None:
        """Stop or resume reading and writing of every WebSocket; TCP connections stay up."""
        self._faults.websocket_silent = silent
        for group in self._subscriptions.groups.values():
            for transport in filter(None, map(transport_of, group.sockets)):
                (transport.pause_reading if silent else transport.resume_reading)()

    async def close(self, code: int, text: str) -> None:
        """Close every WebSocket."""
        for group in list(self._subscriptions.groups.values()):
            for socket in list(group.sockets):
                await socket.close(code=code, message=text.encode())

    def send(self, socket: web.WebSocketResponse, text: str) -> None:
        """Send an event unless a fault suppresses it; abort a client that does not read."""
        if self._faults.silent or self._faults.websocket_silent:
            return
        transport = transport_of(socket)
        if transport is not None and transport.get_write_buffer_size() > MAX_BACKLOG_SIZE:
            transport.abort()
            return
        self._run(_send_text(socket, text))


async def _send_text(socket: web.WebSocketResponse, text: str) -> None:
    with contextlib.suppress(ConnectionError):  # the handler of the WebSocket ends it
        await socket.send_str(text)
