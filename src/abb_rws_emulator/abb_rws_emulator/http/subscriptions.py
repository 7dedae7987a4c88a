"""Groups of subscriptions: registration, WebSockets and the rate limit of each priority."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web

from abb_rws_emulator import refusals
from abb_rws_emulator.controller.rapid_literals import size_of
from abb_rws_emulator.controller.virtual_controller import VirtualController
from abb_rws_emulator.http.addresses import canonical
from abb_rws_emulator.http.rendering import Item, list_item, page
from abb_rws_emulator.request_numbers import whole
from abb_rws_emulator.resources.rapid import execution_text

PERIOD_S = {0: 5.2, 1: 0.4, 2: 0.05}
"""Minimum period of the events of a resource by priority [s], measured on an IRC5 (RobotWare 6).
"""
GROUPS_A_SESSION = 2
HIGH_PRIORITY_LIMIT = 64
RESOURCE_LIMIT = 1000
SPELLINGS_A_RESOURCE = 4
LARGEST_SYMBOL = 1000


@dataclass
class Group:
    """A group: resources as subscribed with priorities and RWS 1.0 paths; WebSockets."""

    number: int
    session: str
    user: str
    priorities: dict[str, int]
    paths: dict[str, str]
    sockets: list[web.WebSocketResponse] = field(default_factory=list)
    sent_s: dict[str, float] = field(default_factory=dict)
    waiting: dict[str, asyncio.TimerHandle] = field(default_factory=dict)


class Subscriptions:
    """All groups of the emulator."""

    def __init__(
        self, controller: VirtualController, send: Callable[[web.WebSocketResponse, str], None]
    ):
        self.groups: dict[int, Group] = {}
        self.events_sent = 0
        self._listeners: dict[str, dict[tuple[int, str], None]] = {}
        self._controller, self._send, self._number = controller, send, 0

    def register(self, session: str, user: str, form: dict[str, list[str]]) -> Group:
        """Register a group by its form: repeated `resources=`, or one with their count."""
        priorities, paths = self._wanted(form)
        if sum(group.session == session for group in self.groups.values()) >= GROUPS_A_SESSION:
            raise refusals.limit_reached('Max number of subscription groups reached')
        self._check_limits(priorities, paths)
        self._number += 1
        group = self.groups[self._number] = Group(self._number, session, user, priorities, paths)
        self._listen(group, paths)
        return group

    def find(self, number: str) -> Group | None:
        """Return the group whose number stands in an address, or None if there is none."""
        key = whole(number)
        return None if key is None else self.groups.get(key)

    def _listen(self, group: Group, paths: dict[str, str]) -> None:
        for asked, path in paths.items():
            self._listeners.setdefault(path, {})[group.number, asked] = None

    def _ignore(self, group: Group, asked: str) -> None:
        path = group.paths.pop(asked)
        del self._listeners[path][group.number, asked], group.priorities[asked]
        if not self._listeners[path]:
            del self._listeners[path]
        group.sent_s.pop(asked, None)
        timer = group.waiting.pop(asked, None)
        if timer is not None:
            timer.cancel()

    def add(self, group: Group, form: dict[str, list[str]]) -> None:
        """Add resources to a group, or change their priorities."""
        priorities, paths = self._wanted(form)
        self._check_limits(group.priorities | priorities, group.paths | paths, group)
        group.priorities |= priorities
        group.paths |= paths
        self._listen(group, paths)

    def drop(self, group: Group, resource: str) -> None:
        """Remove a resource by the text that was subscribed; the group goes with its last."""
        if resource not in group.priorities:
            raise refusals.invalid()
        self._ignore(group, resource)
        if not group.priorities:
            self.remove(group.number)

    def overview(self, session: str, base: str) -> str:
        """Return the page with the groups of a session."""
        items = ''.join(
            list_item(
                Item(
                    'subscription-group-li',
                    str(number),
                    {'group-id': str(number)},
                    {'self': f'subscription/{number}'},
                )
            )
            for number, group in self.groups.items()
            if group.session == session
        )
        return page(
            'Subscriptions',
            base,
            f'<div class="state"><a href="subscription" rel="self"></a><ul>{items}</ul></div>',
        )

    def _wanted(self, form: dict[str, list[str]]) -> tuple[dict[str, int], dict[str, str]]:
        """Return priority and RWS 1.0 path by resource as it was subscribed."""
        listed = form.get('resources', [])
        count = whole(listed[0]) if len(listed) == 1 else None
        if count is not None:  # the count of resources, or the only name, which need not be 1
            counted = [str(i) for i in range(1, min(count, RESOURCE_LIMIT) + 1)]
            listed = counted if counted and all(number in form for number in counted) else listed
        if len(listed) > RESOURCE_LIMIT:
            raise refusals.limit_reached('Max number of subscription resources reached')
        priorities, paths = {}, {}
        for number in listed:
            resource, priority = form.get(number, [''])[0], form.get(f'{number}-p', ['1'])[0]
            path = self._canonical(resource)
            if path is None:
                raise refusals.no_resource()
            fast = path.startswith(('/rw/iosystem/signals/', '/rw/rapid/symbol/data/'))
            if priority not in ('0', '1', '2') or (priority == '2' and not fast):
                raise refusals.invalid('Invalid priority')
            priorities[resource], paths[resource] = int(priority), path
        if not priorities:
            raise refusals.invalid()
        return priorities, paths

    def _check_limits(
        self, priorities: dict[str, int], paths: dict[str, str], instead_of: Group | None = None
    ) -> None:
        """Refuse too many resources, high priorities in all groups, or spellings of a resource."""
        others = [group for group in self.groups.values() if group is not instead_of]
        high = sum(list(group.priorities.values()).count(2) for group in others) + list(
            priorities.values()
        ).count(2)
        spellings = max(Counter(paths.values()).values())
        if (
            high > HIGH_PRIORITY_LIMIT
            or len(priorities) > RESOURCE_LIMIT
            or spellings > SPELLINGS_A_RESOURCE
        ):
            raise refusals.limit_reached('Max number of subscription resources reached')

    def remove(self, number: int) -> None:
        """Remove a group; abort its WebSockets without a close frame, as the controller does."""
        group = self.groups.pop(number)
        for asked in list(group.paths):
            self._ignore(group, asked)
        for socket in group.sockets:
            cut(socket)

    def remove_of(self, session: str) -> None:
        """Remove the groups of a session."""
        for number in [n for n, group in self.groups.items() if group.session == session]:
            self.remove(number)

    def remove_all(self) -> None:
        """Remove every group."""
        for number in list(self.groups):
            self.remove(number)

    def changed(self, resource: str) -> None:
        """Send an event to the groups of a resource, no faster than its priority allows."""
        loop = asyncio.get_running_loop()
        bare = resource.partition(';')[0]
        for number, asked in self._listeners.get(bare, ()):
            group = self.groups[number]
            if asked in group.waiting or (
                ';' in asked and ';' in resource and _param(asked) != _param(resource)
            ):
                continue
            due_s = group.sent_s.get(asked, -1e9) + PERIOD_S[group.priorities[asked]]
            if bare.startswith('/rw/elog') or due_s <= loop.time():
                self._emit(group, asked)
            else:
                group.waiting[asked] = loop.call_at(due_s, self._emit, group, asked)

    def _emit(self, group: Group, asked: str) -> None:
        group.waiting.pop(asked, None)
        group.sent_s[asked] = asyncio.get_running_loop().time()
        if not group.sockets:
            return
        text = page('Event', 'http://localhost/', self._content(group, asked))
        for socket in group.sockets:
            if not socket.closed:
                self.events_sent += 1
                self._send(socket, text)

    def initial(self, group: Group, base: str, poll_url: str) -> str:
        """Return the response to a registration: addresses and present values."""
        links = (
            f'<a href="subscription/{group.number}" rel="group"></a><a href="{poll_url}" '
            'rel="self"></a>'
            f'<a href="subscription/{group.number}?action=show" rel="action"></a>'
        )
        items = ''.join(
            self._items(asked, path)
            for asked, path in list(group.paths.items())
            if path != '/rw/elog/0'
        )
        return page('Event', base, f'<div class="state">{links}<ul>{items}</ul></div>')

    def _content(self, group: Group, asked: str) -> str:
        link = f'<a href="subscription/{group.number}" rel="group"></a>'
        return f'<div class="state">{link}<ul>{self._items(asked, group.paths[asked])}</ul></div>'

    def _canonical(self, asked: str) -> str | None:
        """Return the RWS 1.0 path without parameter; None if it cannot be subscribed."""
        path = canonical('GET', asked.partition(';')[0])[0].rstrip('/')
        controller = self._controller
        if path.startswith('/rw/iosystem/signals/'):
            signal = controller.signals.find(path[len('/rw/iosystem/signals/') :])
            return None if signal is None else f'/rw/iosystem/signals/{signal.path}'
        if path.startswith('/rw/rapid/symbol/data/RAPID/'):
            symbol = controller.memory.find_symbol(path[len('/rw/rapid/symbol/data/RAPID/') :])
            if (
                symbol is None
                or size_of(controller.memory.declarations[symbol].shape) > LARGEST_SYMBOL
            ):
                return None
            return f'/rw/rapid/symbol/data/RAPID/{symbol}'
        if path.startswith('/rw/dipc/'):
            return path if path[len('/rw/dipc/') :] in controller.queues else None
        if path.startswith('/rw/mastership/'):
            return path if path.rpartition('/')[2] in controller.access.masters else None
        known = (
            '/rw/panel/ctrlstate',
            '/rw/panel/opmode',
            '/rw/panel/speedratio',
            '/rw/panel/coldetstate',
            '/rw/rapid/execution',
            '/rw/elog/0',
            '/rw/rapid/tasks/T_ROB1',
            '/rw/rapid/tasks/T_ROB1/pcp',
            '/users/rmmp',
            '/rw/cfg',
            '/rw/rapid/taskselection',
            '/rw/system/energy',
            '/rw/rapid/uiinstr',
            '/rw/motionsystem/errorstate',
        )
        return path if path in known else None

    def _items(self, asked: str, path: str) -> str:
        """Return the <li> of a resource with its address as subscribed; empty if it is gone."""
        controller, me = self._controller, {'self': asked}
        panel = {
            '/rw/panel/ctrlstate': controller.control_state,
            '/rw/panel/opmode': controller.operation_mode,
            '/rw/panel/speedratio': str(controller.speed_percent),
            '/rw/panel/coldetstate': 'INIT',
        }
        if path in panel:
            name = path.rpartition('/')[2]
            return list_item(Item(f'pnl-{name}-ev', name, {name: panel[path]}, me))
        if path == '/rw/rapid/execution':
            if _param(asked) == 'rapidexeccycle':
                return list_item(
                    Item(
                        'rap-execcycle-ev',
                        'rapidexeccycle',
                        {'rapidexeccycle': controller.cycle},
                        me,
                    )
                )
            return list_item(
                Item(
                    'rap-ctrlexecstate-ev',
                    'ctrlexecstate',
                    {'ctrlexecstate': execution_text(controller)},
                    me,
                )
            )
        if path.startswith('/rw/iosystem/signals/'):
            signal = controller.signals.by_path[path[len('/rw/iosystem/signals/') :]]
            state = 'simulated' if signal.simulated else 'not simulated'
            return list_item(
                Item(
                    'ios-signalstate-ev', signal.path, {'lvalue': signal.text, 'lstate': state}, me
                )
            )
        if path.startswith(
            '/rw/rapid/symbol/data/RAPID/'
        ):  # two items: the address, then the value
            symbol = path[len('/rw/rapid/symbol/data/RAPID/') :]
            if controller.memory.find_symbol(symbol) is None:
                return ''
            value = controller.memory.read(symbol)
            asked_symbol = asked.partition(';')[0].partition('/RAPID/')[2].removesuffix('/data')
            return list_item(Item('rap-value-ev', 'value', {}, me)) + list_item(
                Item('rap-data', f'RAPID/{asked_symbol}', {'value': value})
            )
        if path == '/rw/elog/0':
            last = controller.event_log[-1][0] if controller.event_log else 0
            return list_item(
                Item(
                    'elog-message-ev',
                    str(last),
                    {'seqnum': str(last)},
                    {'self': f'/rw/elog/0/{last}'},
                )
            )
        if path.startswith('/rw/dipc/'):
            queue = controller.queues.get(path[len('/rw/dipc/') :])
            return (
                list_item(Item('dipc-msg-ev', path, queue.messages[-1], me))
                if queue is not None and queue.messages
                else ''
            )
        if path.startswith('/rw/mastership/'):
            holder = controller.access.masters[path.rpartition('/')[2]]
            return list_item(
                Item(
                    'msh-resource-ev',
                    path,
                    {'mastership': 'nomaster' if holder is None else 'remote'},
                    me,
                )
            )
        return list_item(
            Item(
                'rap-execstate-ev',
                'excstate',
                {'excstate': 'started' if controller.running else 'stopped'},
                me,
            )
        )


def _param(asked: str) -> str:
    return asked.partition(';')[2]


def cut(socket: web.WebSocketResponse) -> None:
    """Abort the TCP connection without a close frame."""
    # aiohttp has no public way to abort.
    transport = socket._req.transport if socket._req is not None else None
    if transport is not None:
        transport.abort()
