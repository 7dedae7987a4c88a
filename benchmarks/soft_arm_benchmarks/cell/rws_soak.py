"""Make random faults against a client of the emulated ABB controller, for any duration."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from abb_rws_bridge.controller import Controller
from abb_rws_bridge.errors import RwsError
from abb_rws_bridge.monitor import Monitor
from abb_rws_bridge.values import Aged
from abb_rws_emulator.http.server import Emulator
from soft_arm_benchmarks.cell.leaks import held, leaks, resident_mib

_T = TypeVar('_T')
_CALLS = ('stop', 'start', 'reset_pointer')


@dataclass
class SoakReport:
    """Result of a soak test.

    Attributes:
        faults: Number of faults by name.
        calls: Number of calls of the client.
        leaks: Resources that were left behind, and states that differ.
    """

    faults: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    leaks: list[str] = field(default_factory=list)


async def soak(
    emulator: Emulator, controller: Controller, duration_s: float, seed: int
) -> SoakReport:
    """Make faults and send commands for a time, then compare client and controller.

    Args:
        emulator: The emulated controller.
        controller: An open client; it is closed at the end, to look for leaks.
        duration_s: Duration of the test [s].
        seed: Seed of the random faults.
    """
    report, random_ = SoakReport(), random.Random(seed)
    before, tasks_before, most_sessions = held(), _client_tasks(), 0
    warm_mib: float | None = None
    monitor = Monitor(controller, ping_s=0.5)
    running = asyncio.create_task(monitor.run())
    loop = asyncio.get_running_loop()
    warm_s, end_s = loop.time() + 0.1 * duration_s, loop.time() + duration_s
    while loop.time() < end_s:
        if warm_mib is None and loop.time() > warm_s:
            warm_mib = resident_mib()
        most_sessions = max(most_sessions, len(emulator.sessions.table))
        name = random_.choice(sorted(_FAULTS))
        report.faults[name] = report.faults.get(name, 0) + 1
        await _FAULTS[name](emulator, random_)
        await _command(controller, random_, report)
        emulator.faults.clear()
        emulator.websockets.silence(False)
        await asyncio.sleep(random_.uniform(0.0, 0.3))
    emulator.controller.emergency_stop(False)
    emulator.controller.set_operation_mode('AUTO')
    emulator.controller.guard_stop(False)
    for domain in emulator.controller.access.masters:
        if emulator.controller.access.masters[domain] == 'FlexPendant':
            emulator.controller.access.steal_mastership(domain, None)
    settled = await monitor.wait_for(
        lambda known: known.ready and monitor.subscription.live and _agree(emulator, monitor), 10.0
    )
    known = monitor.known
    if not settled:
        report.leaks.append(
            f'state differs from the controller: link {known.link} {known.error}, '
            f'events {monitor.subscription.live}, ready {known.ready}, '
            f'control state {known.control_state}, speed {known.speed_ratio}, '
            f'program {known.execution}'
        )
    running.cancel()
    ended = (await asyncio.gather(running, return_exceptions=True))[0]
    if not isinstance(ended, asyncio.CancelledError):
        report.leaks.append(f'the monitor ended by itself: {ended!r}')
    await controller.session.close()
    await asyncio.sleep(0.2)  # the server sees the sockets close
    report.leaks += leaks(before, warm_mib or resident_mib())
    if _client_tasks() > tasks_before:
        report.leaks.append(f'client tasks: {tasks_before} before, {_client_tasks()} after')
    if most_sessions > 2:  # a silent one may still be open next to its successor
        report.leaks.append(f'{most_sessions} sessions at one time')
    if emulator.sessions.table:
        report.leaks.append(f'{len(emulator.sessions.table)} sessions left on the controller')
    if any(emulator.controller.access.masters.values()):
        report.leaks.append(f'mastership left behind: {emulator.controller.access.masters}')
    return report


def _client_tasks() -> int:
    names = 'Controller', 'Monitor', 'Subscription'
    return sum(any(name in repr(task) for name in names) for task in asyncio.all_tasks())


def _agree(emulator: Emulator, monitor: Monitor) -> bool:
    known, real = monitor.known, emulator.controller
    execution = _value(known.execution)
    return execution is not None and (
        _value(known.control_state),
        _value(known.operation_mode),
        _value(known.speed_ratio),
        execution.running,
    ) == (real.control_state, real.operation_mode, real.speed_percent / 100, real.running)


def _value(aged: Aged[_T] | None) -> _T | None:
    return None if aged is None else aged.value


async def _command(controller: Controller, random_: random.Random, report: SoakReport) -> None:
    """Make a random call of the client; any exception but an `RwsError` ends the soak."""
    choice = random_.randrange(6)
    report.calls += 1
    try:
        if choice == 0:
            await controller.set_motors(random_.random() < 0.7)
        elif choice == 1:
            await controller.set_speed_ratio(random_.choice((0.1, 0.5, 1.0)))
        elif choice == 2:
            await controller.set_signal('DO_01', random_.randrange(2))
        elif choice == 3:
            async with controller.mastership():
                await controller.set_symbol(
                    'T_ROB1/Module1/test_var_num', str(random_.randrange(100))
                )
        else:
            await getattr(controller, random_.choice(_CALLS))()
    except RwsError:
        pass  # expected under faults


async def _set(emulator: Emulator, random_: random.Random, **values: object) -> None:
    for name, value in values.items():
        setattr(emulator.faults, name, value)
    await asyncio.sleep(random_.uniform(0.0, 0.2))


async def _silent(emulator: Emulator, random_: random.Random) -> None:
    emulator.websockets.silence(True)
    await _set(emulator, random_, silent=True)


def _flood(emulator: Emulator) -> None:
    for _ in range(50):
        emulator.controller.log(10012)


def _pass_mastership(emulator: Emulator, owner: str | None, new_owner: str | None) -> None:
    """Give the last domain to a new owner; with `owner`, only if that one holds it."""
    access = emulator.controller.access
    domain = max(access.masters)
    if owner is None or access.masters[domain] == owner:
        access.steal_mastership(domain, new_owner)


async def _now(action: Callable[[], object]) -> None:
    action()


_FAULTS: dict[str, Callable[[Emulator, random.Random], Awaitable[None]]] = {
    'none': lambda e, r: asyncio.sleep(0.1),
    'latency': lambda e, r: _set(e, r, latency_s=r.uniform(0.0, 1.2)),
    'silent': _silent,
    'truncated body': lambda e, r: _set(e, r, truncate=True),
    'stalled body': lambda e, r: _set(e, r, stall=True),
    'web page 500': lambda e, r: _set(e, r, html_500=True),
    'wrong type': lambda e, r: _set(e, r, wrong_type=True),
    'busy': lambda e, r: _set(e, r, busy=True),
    'session expired': lambda e, r: _now(
        lambda: e.sessions.end_all(forget_nonces=r.random() < 0.5)
    ),
    'registration lost': lambda e, r: _now(e.subscriptions.remove_all),
    'socket closed': lambda e, r: e.websockets.close(1001, ''),
    'mastership stolen': lambda e, r: _now(partial(_pass_mastership, e, None, 'FlexPendant')),
    'mastership back': lambda e, r: _now(partial(_pass_mastership, e, 'FlexPendant', None)),
    'emergency stop': lambda e, r: _now(lambda: e.controller.emergency_stop(r.random() < 0.5)),
    'guard stop': lambda e, r: _now(lambda: e.controller.guard_stop(r.random() < 0.5)),
    'rate limited': lambda e, r: _set(e, r, maximum_rate_hz=5.0),
    'flood of log entries': lambda e, r: _now(partial(_flood, e)),
    'manual mode': lambda e, r: _now(
        lambda: e.controller.set_operation_mode(r.choice(('AUTO', 'AUTO', 'MANR')))
    ),
    'restart': lambda e, r: e.restart(r.uniform(0.0, 0.3), r.uniform(0.0, 0.3)),
    'connections cut': lambda e, r: _now(e.cut_connections),
}
