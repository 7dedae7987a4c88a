"""Events over the WebSocket: registration, liveness, reconnection.

Events only make news arrive sooner: the owner also polls, and reads everything again after a gap.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import aiohttp
from yarl import URL

from abb_rws_bridge import body
from abb_rws_bridge.dialect import Dialect
from abb_rws_bridge.errors import BadResponse, ConnectionLost, LimitReached, Rejected, RwsError
from abb_rws_bridge.session import Request, Session

LOW, MEDIUM, HIGH = 0, 1, 2
"""Priorities: events at most every 5 s, 0.4 s, 0.05 s.

HIGH is for I/O signals and persistent variables only.
"""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Event:
    """A change: resource as it was subscribed, fields, arrival (monotonic clock [s])."""

    resource: str
    kind: str
    fields: dict[str, str]
    arrived_s: float


class Subscription:
    """Keep one group of resources subscribed until `run` is cancelled.

    Args:
        resources: Priority by resource; each event repeats the resource literally.
        on_event: Called with every event, in order.
        on_gap: Called when events may have been missed: read the resources again.
        ping_s: Period of the pings [s]; without an answer for half of it the socket is dead.
    """

    def __init__(
        self,
        session: Session,
        dialect: Dialect,
        resources: Mapping[str, int],
        on_event: Callable[[Event], None],
        on_gap: Callable[[], None],
        ping_s: float = 2.0,
        first_delay_s: float = 0.1,
        longest_delay_s: float = 2.0,
    ):
        self.live = False
        self.registrations = 0
        self._session, self._dialect, self._resources = session, dialect, dict(resources)
        self._on_event, self._on_gap = on_event, on_gap
        self._ping_s = ping_s if dialect.pings else None
        self._delays_s = first_delay_s, longest_delay_s
        self._poll_path: str | None = None
        self._generation = 0
        self._socket: aiohttp.ClientWebSocketResponse | None = None

    async def run(self) -> None:
        """Register and listen, again after every loss; when cancelled, delete the registration."""
        delay_s = self._delays_s[0]
        try:
            while True:
                try:
                    socket = await self._open()
                    delay_s = self._delays_s[0]
                    await self._listen(socket)
                except RwsError as error:
                    _log.info('subscription: %s', error)
                finally:
                    await self._close_socket()
                await asyncio.sleep(delay_s)
                delay_s = min(2 * delay_s, self._delays_s[1])
        finally:
            await self._unregister()

    async def suspect(self) -> None:
        """Drop the socket after a change that came without an event; `run` then opens another."""
        _log.warning('a change came without its event: subscribing again')
        self._poll_path = None
        await self._close_socket()

    async def _open(self) -> aiohttp.ClientWebSocketResponse:
        if self._poll_path is not None and self._generation == self._session.generation:
            try:  # IRC5 keeps the group when only the socket broke
                return await self._connect(self._poll_path)
            except (Rejected, ConnectionLost):
                await self._unregister()
        self._poll_path = None
        return await self._connect(await self._register())

    async def _register(self) -> str:
        form: list[tuple[str, str]] = []
        for number, (resource, priority) in enumerate(self._resources.items(), start=1):
            form += [
                ('resources', str(number)),
                (str(number), resource),
                (f'{number}-p', str(priority)),
            ]
        try:
            response = await self._session.request(Request('POST', '/subscription', form=form))
        except (
            LimitReached
        ):  # groups of ours whose deletion never arrived; they fall with the session
            await self._session.logout()
            raise
        location = response.headers.get('Location') or response.document.links.get('self', '')
        path = URL(location).path
        if '/poll/' not in path:
            raise BadResponse(f'subscription answered without its poll address: {location!r}')
        self._poll_path, self._generation = path, response.generation
        self.registrations += 1
        return path

    async def _connect(self, path: str) -> aiohttp.ClientWebSocketResponse:
        # the response holds the controller's own address, which is wrong behind a router
        endpoint = self._session.endpoint
        url = endpoint.url.with_scheme('wss' if endpoint.tls else 'ws').with_path(path)
        socket = self._socket = await self._session.websocket(
            url, self._dialect.websocket_protocol, self._ping_s
        )
        self.live = True
        self._on_gap()
        return socket

    async def _listen(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        while True:
            message = await socket.receive()
            if message.type == aiohttp.WSMsgType.TEXT:
                self._dispatch(message.data)
            elif message.type != aiohttp.WSMsgType.BINARY:
                raise ConnectionLost(
                    f'WebSocket closed ({socket.close_code}, {message.extra or message.data})'
                )

    def _dispatch(self, text: str) -> None:
        arrived_s = time.monotonic()
        try:
            events = events_of(text, arrived_s)
        except BadResponse as error:
            _log.warning('event dropped: %s', error)
            self._on_gap()
            return
        for event in events:
            self._on_event(event)

    async def _close_socket(self) -> None:
        self.live = False
        socket, self._socket = self._socket, None
        if socket is not None and not socket.closed:
            try:
                async with asyncio.timeout(0.2):  # a dead peer does not answer the close frame
                    await socket.close()
            except TimeoutError:
                _log.debug('WebSocket close was not answered')

    async def _unregister(self) -> None:
        path, self._poll_path = self._poll_path, None
        if path is None or self._generation != self._session.generation:
            return
        try:
            await self._session.request(
                Request('DELETE', '/subscription/' + path.rpartition('/')[2])
            )
        except RwsError as error:
            _log.info('subscription not deleted: %s', error)  # it ends with the session


def events_of(text: str, arrived_s: float) -> list[Event]:
    """Parse the events of a message; the value of a variable is in a second item.

    Raises:
        BadResponse: If the message cannot be parsed.
    """
    events: list[Event] = []
    for item in body.parse(text.encode()).items:
        if 'self' in item.links:
            events.append(Event(item.links['self'], item.kind, item.fields, arrived_s))
        elif events and item.fields:
            last = events[-1]
            events[-1] = Event(last.resource, last.kind, last.fields | item.fields, arrived_s)
    return events
