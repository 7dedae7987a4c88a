"""Events over a WebSocket: registration, liveness, reconnection.

Events only reduce latency: the owner also polls, and reads all values again after a gap.
"""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import aiohttp

from abb_rws_bridge import body
from abb_rws_bridge.dialect import Dialect
from abb_rws_bridge.errors import (
    BadResponse,
    ConnectionLost,
    LimitReached,
    OutcomeUnknown,
    Rejected,
    RwsError,
    defect,
)
from abb_rws_bridge.request import Request
from abb_rws_bridge.session import Session

LOW, MEDIUM, HIGH = 0, 1, 2
"""Priorities: events at most every 5 s, 0.4 s, 0.05 s; HIGH for signals and variables only."""
_FIRST_DELAY_S, _LONGEST_DELAY_S = 0.1, 2.0
"""Delay of a reconnection, doubled after each failure [s]."""
_POLL_ADDRESS = re.compile(r'(?:[a-z]+://[^/]*)?/poll/([\w-]{1,64})', re.ASCII)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Event:
    """Change of a resource: path as subscribed, fields, arrival time (monotonic clock [s])."""

    resource: str
    kind: str
    fields: dict[str, str]
    arrived_s: float


class Subscription:
    """Subscription to one group of resources until `run` is cancelled.

    A new group is registered only after the deletion of the previous one is confirmed. A group
    whose number is unknown is ended by logging out.

    Args:
        resources: Priority by resource; events repeat the path as subscribed.
        on_event: Called with every event, in order; raises BadResponse for an invalid value, which
            counts as a gap.
        on_gap: Called when events may have been missed; read the resources again.
        ping_s: Ping period [s]; a socket without a response for half of it is closed.
    """

    def __init__(
        self,
        session: Session,
        dialect: Dialect,
        resources: Mapping[str, int],
        on_event: Callable[[Event], None],
        on_gap: Callable[[], None],
        ping_s: float = 2.0,
    ):
        self.live = False
        self.registrations = 0
        self._session, self._dialect, self._resources = session, dialect, dict(resources)
        self._on_event, self._on_gap = on_event, on_gap
        self._ping_s = ping_s if dialect.pings else None
        self._group: str | None = None
        self._generation = 0
        self._renew = self._unnamed_group = self._saw_bad_event = False
        self._socket: aiohttp.ClientWebSocketResponse | None = None

    async def run(self) -> None:
        """Register and receive, again after every loss; delete the registration when cancelled."""
        delay_s = _FIRST_DELAY_S
        try:
            while True:
                opened_s = time.monotonic()
                try:
                    await self._listen(await self._open())
                except RwsError as error:
                    _log.info('subscription: %s', error)
                except Exception as error:  # polling continues
                    defect(error, 'events')
                finally:
                    await self._close_socket()
                if time.monotonic() - opened_s > _LONGEST_DELAY_S:
                    delay_s = _FIRST_DELAY_S
                await asyncio.sleep(delay_s)
                delay_s = min(2 * delay_s, _LONGEST_DELAY_S)
        finally:
            try:
                await self._unregister()
            except RwsError as error:
                _log.info('subscription not deleted: %s', error)  # it ends with the session

    async def suspect(self) -> None:
        """Drop the group after a change without an event; `run` registers a new one."""
        _log.warning('change without an event: renewing the subscription')
        self._renew = True
        await self._close_socket()

    async def _open(self) -> aiohttp.ClientWebSocketResponse:
        if self._group is not None and self._generation == self._session.generation:
            if not self._renew:
                try:  # IRC5 keeps the group when only the socket broke
                    return await self._connect(self._group)
                except Rejected:
                    _log.info('subscription %s is lost', self._group)
            await self._unregister()
        self._group, self._renew = None, False
        await self._session.end_replaced()
        if self._unnamed_group:
            await self._session.logout()
            self._unnamed_group = False
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
            response = await self._session.request(
                Request('POST', '/subscription', form=form, success=(201,))
            )
        except (LimitReached, OutcomeUnknown):
            self._unnamed_group = True
            raise
        links = response.headers.get('location', ''), response.document.links.get('self', '')
        found = next((m for m in map(_POLL_ADDRESS.fullmatch, links) if m), None)
        if found is None:
            self._unnamed_group = True
            raise BadResponse(f'response to a subscription without a poll path: {links[0]!r}')
        self._group, self._generation = found[1], response.generation
        self.registrations += 1
        return self._group

    async def _connect(self, group: str) -> aiohttp.ClientWebSocketResponse:
        # the host in the response is wrong behind a router
        endpoint = self._session.endpoint
        scheme = 'wss' if endpoint.tls else 'ws'
        url = endpoint.url.with_scheme(scheme).with_path(f'/poll/{group}')
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
                await asyncio.sleep(0)  # let other tasks run between queued messages
            elif message.type != aiohttp.WSMsgType.BINARY:
                raise ConnectionLost(
                    f'WebSocket closed ({socket.close_code}, {message.extra or message.data})'
                )

    def _dispatch(self, text: str) -> None:
        arrived_s = time.monotonic()
        try:
            for event in events_of(text, arrived_s):
                self._on_event(event)
        except BadResponse as error:
            if not self._saw_bad_event:  # log only the first of a series
                _log.warning('event dropped: %s', error)
            self._saw_bad_event = True
            self._on_gap()
            return
        self._saw_bad_event = False

    async def _close_socket(self) -> None:
        self.live = False
        socket, self._socket = self._socket, None
        if socket is not None and not socket.closed:
            try:
                async with asyncio.timeout(0.2):  # a dead peer does not confirm the close
                    await socket.close()
            except TimeoutError:
                _log.debug('WebSocket close was not answered')

    async def _unregister(self) -> None:
        """Delete the group.

        Raises:
            RwsError: If the group may still exist.
        """
        if self._group is None or self._generation != self._session.generation:
            return
        try:
            await self._session.request(
                Request('DELETE', f'/subscription/{self._group}', success=(200, 204))
            )
        except Rejected as error:
            _log.info('subscription %s was already deleted: %s', self._group, error)
        self._group = None


def events_of(text: str, arrived_s: float) -> list[Event]:
    """Return the events of a message; the value of a variable is in a second item.

    Raises:
        BadResponse: If the message is malformed.
    """
    events: list[Event] = []
    for item in body.parse(text.encode()).items:
        if 'self' in item.links:
            events.append(Event(item.links['self'], item.kind, item.fields, arrived_s))
        elif events and item.fields:
            last = events[-1]
            events[-1] = Event(last.resource, last.kind, last.fields | item.fields, arrived_s)
    return events
