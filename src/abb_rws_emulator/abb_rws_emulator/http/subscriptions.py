"""Groups of subscriptions: registration, events and the rate limit of each priority."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web

from abb_rws_emulator import refusals
from abb_rws_emulator.controller.virtual_controller import VirtualController
from abb_rws_emulator.http.addresses import canonical
from abb_rws_emulator.http.rendering import Item, list_item, page
from abb_rws_emulator.request_numbers import whole

PERIOD_S = {0: 5.2, 1: 0.4, 2: 0.05}
"""Minimum period of the events of a resource by priority [s], measured on an IRC5 (RobotWare 6)."""
GROUPS_PER_SESSION, HIGH_PRIORITY_LIMIT, RESOURCE_LIMIT = 2, 64, 200
"""Limits: groups of a session, resources of high priority in all groups, resources of a group."""
_SIGNALS, _SYMBOLS = '/rw/iosystem/signals/', '/rw/rapid/symbol/data/RAPID/'
_OTHERS = (
    '/rw/panel/ctrlstate',
    '/rw/panel/opmode',
    '/rw/panel/speedratio',
    '/rw/rapid/execution',
    '/rw/elog/0',
)


@dataclass
class Group:
    """Group of a session: priority and RWS 1.0 path by resource as subscribed; WebSockets."""

    number: int
    session: str
    user: str
    priorities: dict[str, int]
    paths: dict[str, str]
    sockets: list[web.WebSocketResponse] = field(default_factory=list)
    sent_s: dict[str, float] = field(default_factory=dict)
    waiting: dict[str, asyncio.TimerHandle] = field(default_factory=dict)


class Subscriptions:
    """Groups of all sessions.

    Args:
        send: Sends an event over a WebSocket.
    """

    def __init__(
        self, controller: VirtualController, send: Callable[[web.WebSocketResponse, str], None]
    ):
        self.groups: dict[int, Group] = {}
        self.events_sent = 0
        self._controller, self._send, self._number = controller, send, 0

    def register(self, session: str, user: str, form: dict[str, list[str]]) -> Group:
        """Register a group by its form: repeated `resources=`, or one with their number."""
        priorities, paths = self._requested(form)
        if sum(group.session == session for group in self.groups.values()) >= GROUPS_PER_SESSION:
            raise refusals.limit_reached('Max number of subscription groups reached')
        high = [p for group in self.groups.values() for p in group.priorities.values() if p == 2]
        if len(high) + list(priorities.values()).count(2) > HIGH_PRIORITY_LIMIT:
            raise refusals.limit_reached('Max number of subscription resources reached')
        self._number += 1
        group = self.groups[self._number] = Group(self._number, session, user, priorities, paths)
        return group

    def find(self, number: str) -> Group | None:
        """Return the group with a number from a path, or None."""
        key = whole(number)
        return None if key is None else self.groups.get(key)

    def _requested(self, form: dict[str, list[str]]) -> tuple[dict[str, int], dict[str, str]]:
        """Return priority and RWS 1.0 path by resource as subscribed."""
        listed = form.get('resources', [])
        count = whole(listed[0]) if len(listed) == 1 else None
        if count is not None:  # the number of resources, or the name of the only one
            counted = [str(i) for i in range(1, min(count, RESOURCE_LIMIT) + 1)]
            listed = counted if counted and all(number in form for number in counted) else listed
        if len(listed) > RESOURCE_LIMIT:
            raise refusals.limit_reached('Max number of subscription resources reached')
        priorities, paths = {}, {}
        for number in listed:
            resource, priority = form.get(number, [''])[0], form.get(f'{number}-p', ['1'])[0]
            path = self._canonical(resource)
            fast = path.startswith((_SIGNALS, _SYMBOLS))
            if priority not in ('0', '1', '2') or (priority == '2' and not fast):
                raise refusals.invalid('Invalid priority')
            priorities[resource], paths[resource] = int(priority), path
        if not priorities:
            raise refusals.invalid()
        return priorities, paths

    def _canonical(self, resource: str) -> str:
        """Return the RWS 1.0 path of a resource, without its parameter.

        Raises:
            Refused: If it cannot be subscribed.
        """
        path = canonical('GET', resource.partition(';')[0])[0]
        if path.startswith(_SIGNALS):
            return f'{_SIGNALS}{self._controller.signals.find(path.removeprefix(_SIGNALS)).path}'
        symbol = self._controller.memory.find_symbol(path.removeprefix(_SYMBOLS))
        if path.startswith(_SYMBOLS) and symbol is not None:
            return f'{_SYMBOLS}{symbol}'
        if path in _OTHERS:
            return path
        raise refusals.no_resource()

    def remove(self, number: int) -> None:
        """Remove a group; abort its WebSockets without a close frame, as the controller does."""
        group = self.groups.pop(number)
        for timer in group.waiting.values():
            timer.cancel()
        for socket in group.sockets:
            abort(socket)

    def remove_of(self, session: str) -> None:
        """Remove the groups of a session."""
        for number in [n for n, group in self.groups.items() if group.session == session]:
            self.remove(number)

    def remove_all(self) -> None:
        """Remove every group."""
        for number in list(self.groups):
            self.remove(number)

    def changed(self, resource: str) -> None:
        """Send an event to the groups of a resource, within the rate limit of its priority."""
        loop = asyncio.get_running_loop()
        changed_path = resource.partition(';')[0]
        for group in self.groups.values():
            for subscribed, path in group.paths.items():
                if path != changed_path or subscribed in group.waiting:
                    continue
                period_s = PERIOD_S[group.priorities[subscribed]]
                due_s = group.sent_s.get(subscribed, -1e9) + period_s
                if path == '/rw/elog/0' or due_s <= loop.time():
                    self._emit(group, subscribed)
                else:
                    group.waiting[subscribed] = loop.call_at(due_s, self._emit, group, subscribed)

    def _emit(self, group: Group, subscribed: str) -> None:
        group.waiting.pop(subscribed, None)
        group.sent_s[subscribed] = asyncio.get_running_loop().time()
        link = f'<a href="subscription/{group.number}" rel="group"></a>'
        items = self._items(subscribed, group.paths[subscribed])
        content = f'<div class="state">{link}<ul>{items}</ul></div>'
        text = page('Event', 'http://localhost/', content)
        for socket in group.sockets:
            if not socket.closed:
                self.events_sent += 1
                self._send(socket, text)

    def initial(self, group: Group, base: str, poll_url: str) -> str:
        """Return the response to a registration: links and current values."""
        links = (
            f'<a href="subscription/{group.number}" rel="group"></a><a href="{poll_url}" '
            'rel="self"></a>'
            f'<a href="subscription/{group.number}?action=show" rel="action"></a>'
        )
        items = ''.join(
            self._items(subscribed, path)
            for subscribed, path in group.paths.items()
            if path != '/rw/elog/0'
        )
        return page('Event', base, f'<div class="state">{links}<ul>{items}</ul></div>')

    def _items(self, subscribed: str, path: str) -> str:
        """Return the <li> elements of a resource, linked to the path as subscribed."""
        controller, link = self._controller, {'self': subscribed}
        if path.startswith(_SIGNALS):
            signal = controller.signals.find(path.removeprefix(_SIGNALS))
            fields = {'lvalue': signal.text, 'lstate': 'not simulated'}
            return list_item(Item('ios-signalstate-ev', signal.path, fields, link))
        if path.startswith(_SYMBOLS):  # two items: the path, then the value
            symbol = subscribed.partition(';')[0].partition('/RAPID/')[2].removesuffix('/data')
            value = {'value': controller.memory.read(path.removeprefix(_SYMBOLS))}
            return list_item(Item('rap-value-ev', 'value', {}, link)) + list_item(
                Item('rap-data', f'RAPID/{symbol}', value)
            )
        if path == '/rw/elog/0':
            last = str(controller.event_log[-1][0])
            log_link = {'self': f'/rw/elog/0/{last}'}
            return list_item(Item('elog-message-ev', last, {'seqnum': last}, log_link))
        if path == '/rw/rapid/execution':
            state = {'ctrlexecstate': 'running' if controller.running else 'stopped'}
            return list_item(Item('rap-ctrlexecstate-ev', 'ctrlexecstate', state, link))
        name = path.rpartition('/')[2]
        panel = {
            'ctrlstate': controller.control_state,
            'opmode': controller.operation_mode,
            'speedratio': str(controller.speed_percent),
        }
        return list_item(Item(f'pnl-{name}-ev', name, {name: panel[name]}, link))


def abort(socket: web.WebSocketResponse) -> None:
    """Abort the TCP connection without a close frame."""
    transport = transport_of(socket)
    if transport is not None:
        transport.abort()


def transport_of(socket: web.WebSocketResponse) -> asyncio.Transport | None:
    """Return the transport of a WebSocket; aiohttp has no public accessor."""
    return socket._req.transport if socket._req is not None else None
