"""Client of an ABB controller (RWS 1.0 or 2.0): timestamped reads, checked writes, mastership."""

import asyncio
import logging
import math
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np

from abb_rws_bridge import mapping
from abb_rws_bridge.body import Item
from abb_rws_bridge.credentials import Credentials
from abb_rws_bridge.dialect import Dialect
from abb_rws_bridge.errors import (
    BadResponse,
    ConfigurationError,
    MastershipMissing,
    NotFound,
    OutcomeUnknown,
    RwsError,
)
from abb_rws_bridge.request import Request, Response
from abb_rws_bridge.session import Endpoint, Session
from abb_rws_bridge.values import (
    Aged,
    Execution,
    LogEntry,
    Signal,
    System,
    Task,
    control_state,
    operation_mode,
    running,
)

_SYMBOL = re.compile(r'^[A-Za-z]\w*(/[A-Za-z]\w*){1,2}(\{\d+(,\d+)*\})?$', re.ASCII)
_SIGNAL = re.compile(r'^\w[\w.-]*(/\w[\w.-]*){0,2}$', re.ASCII)
_LOG_KINDS = {'1': 'info', '2': 'warning', '3': 'error'}
_MAX_PAGES = 50
MAX_TITLE_LENGTH = 500
MAX_NAME_LENGTH, MAX_LITERAL_LENGTH, MAX_SIGNAL = 120, 20_000, 1e9
_WRITE_ACCESS = '/rw/controlstation/writeaccess'
"""Path that replaces the masterships on RobotWare 8, which answers them with status 410."""

_log = logging.getLogger(__name__)


class Controller:
    """Controller over one session; use it as an async context.

    Every method raises a subclass of RwsError. A read may be sent twice, a write never.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        credentials: Credentials,
        dialect: Dialect,
        mechanical_unit: str = 'ROB_1',
    ):
        self.dialect = dialect
        self.session = Session(
            endpoint,
            credentials,
            basic=dialect.basic,
            headers=dialect.headers,
            form_type=dialect.form_type,
        )
        self._unit = mechanical_unit
        self._holds_mastership = self._owes_release = False
        self._edit_path = f'/rw/mastership/{dialect.edit_domain}'

    async def __aenter__(self) -> 'Controller':
        await self.session.__aenter__()
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.session.close()

    async def _get(self, path: str, **query: str) -> Response:
        return await self.session.request(self.dialect.get(path, **query))

    # reads

    async def system(self) -> Aged[System]:
        """Return name, version and identifier of the system."""
        response = await self._get('/rw/system')
        fields = {
            name: value
            for item in reversed(response.document.items)
            for name, value in item.fields.items()
        }
        return Aged(
            System(fields.get('name', ''), fields.get('rwversion', ''), fields.get('sysid', '')),
            response.asked_s,
        )

    async def control_state(self) -> Aged[str]:
        """Return the controller state, one of values.CONTROL_STATES."""
        response = await self._get(self.dialect.control_state_path)
        return Aged(control_state(response.document.first().text('ctrlstate')), response.asked_s)

    async def operation_mode(self) -> Aged[str]:
        """Return the operation mode, one of values.OPERATION_MODES."""
        response = await self._get('/rw/panel/opmode')
        return Aged(operation_mode(response.document.first().text('opmode')), response.asked_s)

    async def speed_ratio(self) -> Aged[float]:
        """Return the speed override, 0..1."""
        response = await self._get('/rw/panel/speedratio')
        return Aged(mapping.ratio(response.document.first().text('speedratio')), response.asked_s)

    async def execution(self) -> Aged[Execution]:
        """Return execution state and cycle mode of the RAPID program."""
        response = await self._get('/rw/rapid/execution')
        item = response.document.first()
        return Aged(
            Execution(running(item.text('ctrlexecstate')), item.fields.get('cycle', '')[:20]),
            response.asked_s,
        )

    async def tasks(self) -> Aged[tuple[Task, ...]]:
        """Return the RAPID tasks; none while the controller is booting."""
        response = await self._get('/rw/rapid/tasks')
        tasks = tuple(
            Task(
                i.text('name'),
                i.fields.get('active', '').lower() == 'on',
                i.fields.get('excstate', '').startswith('star'),
                i.fields.get('motiontask', '').upper() == 'TRUE',
            )
            for i in response.document.items
            if 'name' in i.fields
        )
        return Aged(tasks, response.asked_s)

    async def joints(self) -> Aged[np.ndarray]:
        """Return the joint angles [rad], shape (6,)."""
        response = await self._get(f'/rw/motionsystem/mechunits/{self._unit}/jointtarget')
        return Aged(mapping.joints_rad(response.document.first().fields), response.asked_s)

    async def signals(self) -> Aged[dict[str, Signal]]:
        """Return every I/O signal by name.

        RWS 2.0 sends pages of 100; the age refers to the first page.
        """
        request, asked_s = self.dialect.get('/rw/iosystem/signals'), math.inf
        found: dict[str, Signal] = {}
        for _page in range(_MAX_PAGES):
            response = await self.session.request(request)
            asked_s = min(asked_s, response.asked_s)
            found |= {s.name: s for s in map(_signal, response.document.items) if s is not None}
            following = response.document.links.get('next')
            if following is None:
                return Aged(found, asked_s)
            request = _page_request(request, following)
        raise BadResponse(f'more than {_MAX_PAGES} pages of signals')

    async def signal(self, path: str) -> Aged[Signal]:
        """Return one I/O signal, by name or `network/device/name`."""
        _check_name(_SIGNAL, path, 'signal')
        response = await self._get(f'/rw/iosystem/signals/{path}')
        signal = _signal(response.document.first())
        if signal is None:
            raise BadResponse(f'signal {path!r} has no value in the response')
        return Aged(signal, response.asked_s)

    async def symbol(self, symbol: str) -> Aged[str]:
        """Return the RAPID literal of a variable `task/[module/]name`."""
        _check_name(_SYMBOL, symbol, 'RAPID symbol')
        response = await self._get(self.dialect.symbol_path(symbol))
        return Aged(response.document.first().text('value'), response.asked_s)

    async def event_log(self) -> Aged[tuple[LogEntry, ...]]:
        """Return the entries of the common event log, oldest first."""
        response = await self._get('/rw/elog/0', lang='en', order='lifo')
        entries = [e for e in map(_log_entry, response.document.items) if e is not None]
        return Aged(tuple(sorted(entries, key=lambda e: e.sequence)), response.asked_s)

    # writes

    async def set_motors(self, on: bool) -> None:
        """Switch the motors on or off; switching off overtakes queued requests."""
        state = 'motoron' if on else 'motoroff'
        await self.session.request(self.dialect.set_control_state(state, urgent=not on))

    async def set_speed_ratio(self, speed_ratio: float) -> None:
        """Set the speed override, 0..1."""
        await self._edit(self.dialect.set_speed_ratio(mapping.percent(speed_ratio)))

    async def start(self, cycle: str = 'once') -> None:
        """Start the program at its pointer; `cycle` is once, forever or asis."""
        if cycle not in ('once', 'forever', 'asis'):
            raise ConfigurationError(f'cycle {cycle!r}: use once, forever or asis')
        form = {
            'regain': 'continue',
            'execmode': 'continue',
            'cycle': cycle,
            'condition': 'none',
            'stopatbp': 'disabled',
            'alltaskbytsp': 'false',
        }
        await self.session.request(self.dialect.post('/rw/rapid/execution', 'start', form))

    async def stop(self) -> None:
        """Stop the program; overtakes queued requests."""
        form = {'stopmode': 'stop', 'usetsp': 'normal'}
        await self.session.request(
            self.dialect.post('/rw/rapid/execution', 'stop', form, urgent=True)
        )

    async def reset_pointer(self) -> None:
        """Set the program pointer to main; refused while a program runs."""
        await self._edit(self.dialect.post('/rw/rapid/execution', 'resetpp'))

    async def set_symbol(self, symbol: str, literal: str) -> None:
        """Write a RAPID variable after a syntax check of the literal."""
        if len(literal) > MAX_LITERAL_LENGTH:
            raise ConfigurationError(
                f'a value of {len(literal)} characters is over the limit of {MAX_LITERAL_LENGTH}: '
                'nothing was sent'
            )
        mapping.check_literal(literal)
        _check_name(_SYMBOL, symbol, 'RAPID symbol')
        await self._edit(self.dialect.set_symbol(symbol, literal))

    async def set_signal(self, path: str, value: float) -> None:
        """Write an I/O signal by name or `network/device/name`."""
        _check_name(_SIGNAL, path, 'signal')
        if not abs(value) <= MAX_SIGNAL:  # false for NaN too
            raise ConfigurationError(
                f'signal {path} = {value} must be from -{MAX_SIGNAL:g} to {MAX_SIGNAL:g}: '
                'nothing was sent'
            )
        await self.session.request(self.dialect.set_signal(path, f'{value:.9g}'))

    async def _edit(self, request: Request) -> None:
        """Send a write that requires the mastership of the program.

        OmniCore requires an explicit request; IRC5 takes a free mastership implicitly.
        """
        if self.dialect.takes_free_mastership or self._holds_mastership:
            await self.session.request(request)
            return
        async with self.mastership():
            await self.session.request(request)

    @asynccontextmanager
    async def mastership(self) -> AsyncIterator[None]:
        """Hold the mastership of the program for the block; release it however the block ends.

        Raises:
            MastershipHeld: If another client holds it.
        """
        response = await self._request_mastership()
        self._holds_mastership, self._owes_release = True, False
        try:
            yield
        finally:
            self._holds_mastership = False
            # a lost session has lost its mastership
            if self.session.generation == response.generation:
                await asyncio.shield(self._release())

    async def _request_mastership(self) -> Response:
        try:
            return await self.session.request(self.dialect.post(self._edit_path, 'request'))
        except NotFound as error:
            if error.status != 410 or self._edit_path == _WRITE_ACCESS:
                raise
        except (OutcomeUnknown, asyncio.CancelledError):
            await asyncio.shield(self._release())  # it may have been granted
            raise
        self._edit_path = _WRITE_ACCESS
        return await self._request_mastership()

    async def settle(self) -> None:
        """End replaced sessions and release a mastership whose release failed.

        The monitor calls this while the link is up.
        """
        await self.session.end_replaced()
        if self._owes_release:
            await self._release_once()

    async def _release(self) -> None:
        """Release the mastership in up to three attempts.

        A repeated release is harmless; a mastership that stays held locks out other clients.
        """
        self._owes_release = True
        for attempt in range(3):
            try:
                await self._release_once()
                return
            except RwsError as error:
                _log.warning(
                    '%s not released (attempt %d): %s', self._edit_path, attempt + 1, error
                )

    async def _release_once(self) -> None:
        try:
            await self.session.request(self.dialect.post(self._edit_path, 'release'))
        except MastershipMissing:
            _log.info('%s was not held', self._edit_path)
        self._owes_release = False


def _check_name(pattern: re.Pattern, text: str, kind: str) -> None:
    if len(text) > MAX_NAME_LENGTH or not pattern.fullmatch(text):
        raise ConfigurationError(
            f'{text[:40]!r} is not a {kind} name (at most {MAX_NAME_LENGTH} letters, digits, /): '
            'nothing was sent'
        )


def _signal(item: Item) -> Signal | None:
    if 'lvalue' not in item.fields or 'name' not in item.fields:
        return None
    path = item.title if item.title.endswith(item.fields['name']) else item.fields['name']
    return Signal(
        item.fields['name'],
        path,
        item.fields.get('type', ''),
        mapping.number(item.fields['lvalue']),
        item.fields.get('lstate', '') == 'simulated',
    )


def _log_entry(item: Item) -> LogEntry | None:
    sequence = item.title.rpartition('/')[2]
    if not re.fullmatch(r'[0-9]{1,9}', sequence) or 'code' not in item.fields:
        return None
    code = mapping.number(item.fields['code'])
    stamp = ' '.join(item.fields.get('tstamp', '').split())
    return LogEntry(
        int(sequence),
        _LOG_KINDS.get(item.fields.get('msgtype', ''), 'info'),
        int(code) if abs(code) < 2**31 else 0,
        stamp[:40],
        item.fields.get('title', '')[:MAX_TITLE_LENGTH],
    )


def _page_request(request: Request, following: str) -> Request:
    query = dict(
        pair.partition('=')[::2]
        for pair in following.partition('?')[2].replace('&amp;', '&').split('&')
        if pair
    )
    return Request('GET', request.path, request.query | query)
