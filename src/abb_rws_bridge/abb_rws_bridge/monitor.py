"""Monitor of a controller by polling and events.

Two of three reads are joint angles, the third the next due status value. The age of a value grows
until it is refreshed. A status value is queued at most once, so that a flood of events cannot delay
the others.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from abb_rws_bridge import mapping
from abb_rws_bridge.controller import Controller
from abb_rws_bridge.errors import (
    BadResponse,
    Busy,
    NotAuthorised,
    Rejected,
    RwsError,
    defect,
)
from abb_rws_bridge.subscription import MEDIUM, Event, Subscription
from abb_rws_bridge.values import (
    Aged,
    Execution,
    LogEntry,
    Signal,
    Task,
    control_state,
    operation_mode,
    running,
)

CONNECTING, UP, LOST, BUSY, REFUSED = 'connecting', 'up', 'lost', 'busy', 'refused'
_MAX_RETRY_DELAY_S = {LOST: 0.5, BUSY: 4.0, REFUSED: 4.0}
_ELOG = '/rw/elog/0'
_RESOURCES = (
    '/rw/panel/opmode',
    '/rw/panel/speedratio',
    '/rw/rapid/execution;ctrlexecstate',
    _ELOG,
)

_log = logging.getLogger(__name__)


@dataclass
class Knowledge:
    """Latest values; None before the first read."""

    link: str = CONNECTING
    error: str = ''
    joints: Aged[np.ndarray] | None = None
    control_state: Aged[str] | None = None
    operation_mode: Aged[str] | None = None
    speed_ratio: Aged[float] | None = None
    execution: Aged[Execution] | None = None
    tasks: Aged[tuple[Task, ...]] | None = None
    signals: Aged[dict[str, Signal]] | None = None
    event_log: Aged[tuple[LogEntry, ...]] | None = None
    joint_ages_s: list[float] = field(default_factory=list)

    @property
    def ready(self) -> bool:
        """True if the link is up and the controller has RAPID tasks (none while booting)."""
        return self.link == UP and self.tasks is not None and bool(self.tasks.value)


class Monitor:
    """Monitor that updates `known` until `run` is cancelled.

    Args:
        on_change: Called in the event loop with the name of each refreshed value ('joints',
            'link', ...).
    """

    def __init__(
        self,
        controller: Controller,
        on_change: Callable[[str], None] = lambda _name: None,
        ping_s: float = 2.0,
    ):
        self.known = Knowledge()
        self.subscription = Subscription(
            controller.session,
            controller.dialect,
            dict.fromkeys((controller.dialect.control_state_path, *_RESOURCES), MEDIUM),
            self._on_event,
            self._enqueue_all,
            ping_s,
        )
        self._controller, self._on_change = controller, on_change
        self._changed = asyncio.Event()
        self._unannounced: dict[str, object] = {}
        self._due: list[str] = []
        self._rounds = 1
        self._reads: dict[str, Callable[[], Awaitable[Aged]]] = {
            'control_state': controller.control_state,
            'operation_mode': controller.operation_mode,
            'execution': controller.execution,
            'speed_ratio': controller.speed_ratio,
            'signals': controller.signals,
            'tasks': controller.tasks,
        }
        self._slow_reads: dict[str, Callable[[], Awaitable[Aged]]] = {
            'event_log': controller.event_log
        }

    async def run(self) -> None:
        """Poll until cancelled, with an increasing delay while the controller does not respond."""
        events, delay_s = asyncio.create_task(self._events()), 0.1
        try:
            while True:
                try:
                    await self._poll()
                except Exception as error:
                    link, reason = self._explain(error)
                delay_s = (
                    0.1 if self.known.link == UP else min(2 * delay_s, _MAX_RETRY_DELAY_S[link])
                )
                self._set_link(link, reason)
                await asyncio.sleep(delay_s)
        finally:
            events.cancel()
            await asyncio.gather(events, return_exceptions=True)

    def _explain(self, error: Exception) -> tuple[str, str]:
        """Return link state and error message of an exception, which never ends the polling."""
        if not isinstance(error, RwsError):
            error = defect(error, 'polling')
        link = (
            BUSY
            if isinstance(error, Busy)
            else REFUSED
            if isinstance(error, NotAuthorised)
            else LOST
        )
        return link, str(error)

    async def _events(self) -> None:
        await self.wait_for(lambda known: known.link == UP, None)
        await self.subscription.run()

    async def _poll(self) -> NoReturn:
        """Read all values once, then in turn, until a read fails with a link error."""
        await self._refresh('joints', self._controller.joints)
        for name, read in (self._reads | self._slow_reads).items():
            await self._refresh(name, read)
        while True:
            for _ in range(2):
                await self._refresh('joints', self._controller.joints)
            if not self._due:
                self._enqueue(*self._reads, *(self._slow_reads if self._rounds % 10 == 0 else ()))
                self._rounds += 1
            await self._settle()
            name = self._due.pop(0)
            await self._refresh(name, (self._reads | self._slow_reads)[name])

    async def _settle(self) -> None:
        try:
            await self._controller.settle()
        except RwsError as error:  # the next read determines the link state
            _log.warning('mastership or session not released: %s', error)

    async def _refresh(self, name: str, read: Callable[[], Awaitable[Aged]]) -> None:
        before = getattr(self.known, name)
        try:
            value = await read()
        except (Rejected, BadResponse) as error:  # the link is up; only this value ages
            self._set_link(UP, f'{name}: {error}')
            return
        if name == 'joints' and before is not None:
            self.known.joint_ages_s = [*self.known.joint_ages_s[-999:], before.age_s]
        self._check_announced(name, before, value)
        setattr(self.known, name, value)
        still_failing = self.known.link == UP and not self.known.error.startswith(f'{name}:')
        self._set_link(UP, self.known.error if still_failing else '')
        self._notify(name)

    def _check_announced(self, name: str, before: Aged | None, now: Aged) -> None:
        """Renew the subscription if two consecutive polls show a change without an event."""
        if (
            name not in ('control_state', 'operation_mode', 'speed_ratio')
            or before is None
            or not self.subscription.live
        ):
            self._unannounced.pop(name, None)
        elif self._unannounced.get(name) == now.value:
            self._unannounced.clear()
            asyncio.get_running_loop().create_task(self.subscription.suspect())
        elif now.value != before.value:
            self._unannounced[name] = now.value

    def _set_link(self, link: str, error: str) -> None:
        changed = link != self.known.link
        self.known.link, self.known.error = link, error
        if changed:
            _log.info('link %s %s', link, error)
            self._notify('link')

    def _notify(self, name: str) -> None:
        self._changed.set()
        self._on_change(name)

    def _enqueue(self, *names: str) -> None:
        """Append values to the queue of reads."""
        self._due += [name for name in names if name not in self._due]

    def _enqueue_all(self) -> None:
        self._enqueue(*self._reads, *self._slow_reads)

    def _on_event(self, event: Event) -> None:
        """Store the value of an event.

        Raises:
            BadResponse: If the value violates the protocol.
        """
        if event.resource.startswith(_ELOG):
            self._enqueue(*self._reads, 'event_log')  # states before the log
            return
        for name, kind, convert in (
            ('control_state', 'ctrlstate', control_state),
            ('operation_mode', 'opmode', operation_mode),
            ('speed_ratio', 'speedratio', mapping.ratio),
            ('execution', 'ctrlexecstate', self._execution),
        ):
            if kind in event.fields:
                value = Aged(convert(event.fields[kind]), event.arrived_s)
                self._unannounced.pop(name, None)
                setattr(self.known, name, value)
                self._notify(name)

    def _execution(self, text: str) -> Execution:
        before = self.known.execution
        return Execution(running(text), '' if before is None else before.value.cycle)

    async def wait_for(
        self, condition: Callable[[Knowledge], bool], timeout_s: float | None
    ) -> bool:
        """Wait for a condition; return False after the time limit."""
        try:
            async with asyncio.timeout(timeout_s):
                while not condition(self.known):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True
