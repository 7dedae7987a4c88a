"""TCP connections of the emulated controller with their deadlines.

Who is slow, silent or one too many is cut off.
"""

import asyncio
from collections.abc import Callable

REQUEST_S, IDLE_S, TAKE_S = 20.0, 75.0, 20.0
"""Time limits [s]: from the first byte of a request to its last; of a connection without a request;
an answer or an event must be taken within so long [s]."""
MOST_CONNECTIONS, LARGEST_REQUEST, LARGEST_BACKLOG = 256, 16 << 20, 1 << 20
"""Connections at one time; bytes sent before an answer.

Bytes of events that wait for a WebSocket.
"""
SWEEP_S = 0.25


class Connection(asyncio.Protocol):
    """One connection.

    Passes on what comes to the HTTP protocol behind it, and knows until when what must have come.
    """

    def __init__(self, http: asyncio.Protocol, peers: 'Connections'):
        self._http, self._peers = http, peers
        self.transport: asyncio.Transport | None = None
        self.deadline_s: float | None = None
        self.stuck_s: float | None = None
        self._idle, self._bytes, self._counting = False, 0, True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        self.transport = transport
        self.deadline_s = self._peers.clock() + self._peers.request_s
        self._http.connection_made(transport)
        self._peers.add(self)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request, or of a WebSocket."""
        if self._idle:
            self._idle, self.deadline_s = False, self._peers.clock() + self._peers.request_s
        self._bytes += len(data)
        if self._counting and self._bytes > LARGEST_REQUEST:
            self.abort()
            return
        self._http.data_received(data)

    def request_received(self, *, endless: bool = False) -> None:
        """From now on we are waited for; `endless` is a WebSocket, which may send for ever."""
        self.deadline_s, self._counting = None, not endless

    def response_sent(self) -> None:
        """From now on another request is waited for."""
        self._idle, self._bytes, self.deadline_s = True, 0, self._peers.clock() + self._peers.idle_s

    def abort(self) -> None:
        """Break the connection without a goodbye."""
        if self.transport is not None:
            self.transport.abort()

    def is_late(self, now_s: float) -> bool:
        """Has it missed a deadline."""
        stuck = self.stuck_s is not None and now_s - self.stuck_s > self._peers.take_s
        return stuck or (self.deadline_s is not None and now_s > self.deadline_s)

    def pause_writing(self) -> None:
        """It takes no more for now."""
        self.stuck_s = self._peers.clock()
        self._http.pause_writing()

    def resume_writing(self) -> None:
        """It takes more."""
        self.stuck_s = None
        self._http.resume_writing()

    def eof_received(self) -> bool | None:
        """It sends no more."""
        return self._http.eof_received()

    def connection_lost(self, exception: Exception | None) -> None:
        """It is gone."""
        self._peers.discard(self)
        self._http.connection_lost(exception)


class Connections:
    """All connections of a server."""

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        request_s: float = REQUEST_S,
        idle_s: float = IDLE_S,
        take_s: float = TAKE_S,
    ):
        self.clock = clock
        self.request_s, self.idle_s, self.take_s = request_s, idle_s, take_s
        self._open: dict[Connection, None] = {}

    def add(self, peer: Connection) -> None:
        """A new connection; where there are too many, the one whose deadline comes first goes."""
        self._open[peer] = None
        if len(self._open) > MOST_CONNECTIONS:
            waiting = [
                other for other in self._open if other.deadline_s is not None and other is not peer
            ]
            min(waiting, key=lambda other: other.deadline_s or 0.0, default=peer).abort()

    def discard(self, peer: Connection) -> None:
        """A connection is gone."""
        self._open.pop(peer, None)

    def cut(self) -> None:
        """Abort every connection."""
        for peer in list(self._open):
            peer.abort()

    async def sweep(self) -> None:
        """Abort who is late, until cancelled."""
        while True:
            now_s = self.clock()
            for peer in [peer for peer in self._open if peer.is_late(now_s)]:
                peer.abort()
            await asyncio.sleep(SWEEP_S)
