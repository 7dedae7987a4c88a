"""TCP connections of the emulated controller, aborted when slow, idle or too many."""

import asyncio
from collections.abc import Callable

REQUEST_S, IDLE_S, WRITE_S = 20.0, 75.0, 20.0
"""Time limits [s]: transfer of a request, idle connection, blocked write to the client."""
MAX_CONNECTIONS, MAX_REQUEST_SIZE, MAX_BACKLOG_SIZE = 256, 16 << 20, 1 << 20
"""Limits: connections; bytes of a request; bytes of queued events of a WebSocket."""
SWEEP_S = 0.25


class Connection(asyncio.Protocol):
    """Connection with deadlines, wrapped around the HTTP protocol."""

    def __init__(self, http: asyncio.Protocol, peers: 'Connections'):
        self._http, self._peers = http, peers
        self.transport: asyncio.Transport | None = None
        self.deadline_s: float | None = None
        self.stuck_s: float | None = None
        self._idle, self._bytes, self._counting = False, 0, True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline of the first request."""
        self.transport = transport
        self.deadline_s = self._peers.clock() + self._peers.request_s
        self._http.connection_made(transport)
        self._peers.add(self)

    def data_received(self, data: bytes) -> None:
        """Pass on bytes of a request or of a WebSocket."""
        if self._idle:
            self._idle, self.deadline_s = False, self._peers.clock() + self._peers.request_s
        self._bytes += len(data)
        if self._counting and self._bytes > MAX_REQUEST_SIZE:
            self.abort()
            return
        self._http.data_received(data)

    def request_received(self, *, endless: bool = False) -> None:
        """Cancel the deadline of the request; `endless` (WebSocket) also lifts the size limit."""
        self.deadline_s, self._counting = None, not endless

    def response_sent(self) -> None:
        """Start the deadline of the next request."""
        self._idle, self._bytes, self.deadline_s = True, 0, self._peers.clock() + self._peers.idle_s

    def abort(self) -> None:
        """Abort the TCP connection."""
        if self.transport is not None:
            self.transport.abort()

    def is_late(self, now_s: float) -> bool:
        """Return whether the connection has missed a deadline."""
        stuck = self.stuck_s is not None and now_s - self.stuck_s > self._peers.write_s
        return stuck or (self.deadline_s is not None and now_s > self.deadline_s)

    def pause_writing(self) -> None:
        """Record that the client stopped reading."""
        self.stuck_s = self._peers.clock()
        self._http.pause_writing()

    def resume_writing(self) -> None:
        """Record that the client reads again."""
        self.stuck_s = None
        self._http.resume_writing()

    def eof_received(self) -> bool | None:
        """Pass on the end of the stream."""
        return self._http.eof_received()

    def connection_lost(self, exception: Exception | None) -> None:
        """Remove the connection."""
        self._peers.discard(self)
        self._http.connection_lost(exception)


class Connections:
    """Open connections of the server, limited in number."""

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        request_s: float = REQUEST_S,
        idle_s: float = IDLE_S,
        write_s: float = WRITE_S,
    ):
        self.clock = clock
        self.request_s, self.idle_s, self.write_s = request_s, idle_s, write_s
        self._open: dict[Connection, None] = {}

    def add(self, peer: Connection) -> None:
        """Add a connection; beyond the limit, abort the one with the earliest deadline."""
        self._open[peer] = None
        if len(self._open) > MAX_CONNECTIONS:
            waiting = [
                other for other in self._open if other.deadline_s is not None and other is not peer
            ]
            late = min(waiting, key=lambda other: other.deadline_s or 0.0, default=peer)
            self.discard(late)  # at once: the loop closes it only after a burst of connections
            late.abort()

    def discard(self, peer: Connection) -> None:
        """Remove a connection."""
        self._open.pop(peer, None)

    def cut(self) -> None:
        """Abort every connection."""
        for peer in list(self._open):
            peer.abort()

    async def sweep(self) -> None:
        """Abort late connections until cancelled."""
        while True:
            now_s = self.clock()
            for peer in [peer for peer in self._open if peer.is_late(now_s)]:
                peer.abort()
            await asyncio.sleep(SWEEP_S)
