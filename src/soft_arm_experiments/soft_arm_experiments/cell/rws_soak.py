"""Make random faults against a client of the emulated ABB controller, for any duration."""

import asyncio
import gc
import os
import random
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from abb_rws_bridge.controller import Controller
from abb_rws_bridge.errors import RwsError
from abb_rws_bridge.monitor import Monitor
from abb_rws_bridge.values import Aged
from abb_rws_emulator.http.server import Emulator

MEMORY_DRIFT_MIB = 50.0  # client and emulator together; the first requests take less than 10
_T = TypeVar('_T')
_CALLS = ('stop', 'start', 'reset_pointer')


@dataclass
class SoakReport:
    """Result of a soak test.

    Attributes:
        duration_s: Duration of the test [s].
        faults: Number of faults by name.
        calls: Number of calls of the client.
        refusals: Number of refused calls by error type.
        recovered_s: Time until the client's state was right again after the last fault [s].
        held: Client tasks, threads and open files before and after.
        resident_mib: Memory of client and emulator together after a tenth of the time and at the
            end [MiB].
        sessions_opened: Sessions that the client opened on the controller, one after the other.
        most_sessions: Largest number of sessions open at one time.
        leaks: What was left behind, and states that differ; empty if all is well.
    """

    duration_s: float
    faults: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    refusals: dict[str, int] = field(default_factory=dict)
    recovered_s: float = 0.0
    held: dict[str, tuple[int, int]] = field(default_factory=dict)
    resident_mib: tuple[float, float] = (0.0, 0.0)
    sessions_opened: int = 0
    most_sessions: int = 0
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
    report = SoakReport(duration_s)
    random_ = random.Random(seed)
    before = _held()
    opened = emulator.sessions.opened
    warm_mib: float | None = None
    monitor = Monitor(controller, ping_s=0.5)
    running = asyncio.create_task(monitor.run())
    loop = asyncio.get_running_loop()
    warm_s, end_s = loop.time() + 0.1 * duration_s, loop.time() + duration_s
    while loop.time() < end_s:
        if warm_mib is None and loop.time() > warm_s:
            warm_mib = _resident_mib()
        report.most_sessions = max(report.most_sessions, len(emulator.sessions.table))
        name = random_.choice(sorted(_FAULTS))
        report.faults[name] = report.faults.get(name, 0) + 1
        await _FAULTS[name](emulator, random_)
        await _command(controller, random_, report)
        emulator.faults.clear()
        emulator.websockets.silence(False)
        await asyncio.sleep(random_.uniform(0.0, 0.3))
    began_s = loop.time()
    emulator.controller.emergency_stop(False)
    emulator.controller.set_operation_mode('AUTO')
    emulator.controller.guard_stop(False)
    for domain in emulator.controller.access.masters:
        if emulator.controller.access.masters[domain] == 'FlexPendant':
            emulator.controller.access.steal_mastership(domain, None)
    settled = await monitor.wait_for(
        lambda known: known.ready and monitor.subscription.live and _agree(emulator, monitor), 10.0
    )
    report.recovered_s = loop.time() - began_s
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
    gc.collect()
    report.held = {name: (before[name], after) for name, after in _held().items()}
    report.leaks += [
        f'{name}: {was} before, {now} after'
        for name, (was, now) in report.held.items()
        if now > was
    ]
    before_mib, after_mib = warm_mib or _resident_mib(), _resident_mib()
    report.resident_mib = (before_mib, after_mib)
    if after_mib - before_mib > MEMORY_DRIFT_MIB:
        report.leaks.append(f'memory: {before_mib:.0f} MiB before, {after_mib:.0f} MiB after')
    report.sessions_opened = emulator.sessions.opened - opened
    if report.most_sessions > 2:  # a silent one may still be open beside its successor
        report.leaks.append(f'{report.most_sessions} sessions at one time')
    if emulator.sessions.table:
        report.leaks.append(f'{len(emulator.sessions.table)} sessions left on the controller')
    if any(emulator.controller.access.masters.values()):
        report.leaks.append(f'mastership left behind: {emulator.controller.access.masters}')
    return report


def _held() -> dict[str, int]:
    tasks = [
        t
        for t in asyncio.all_tasks()
        if 'Controller' in repr(t) or 'Monitor' in repr(t) or 'Subscription' in repr(t)
    ]
    return {
        'client tasks': len(tasks),
        'threads': threading.active_count(),
        'open files': len(os.listdir('/proc/self/fd')),
    }


def _resident_mib() -> float:
    with open('/proc/self/statm', encoding='ascii') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 2**20


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
    """Make a random call of the client; it may be refused with an `RwsError`, nothing else."""
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
    except RwsError as error:
        kind = type(error).__name__
        report.refusals[kind] = report.refusals.get(kind, 0) + 1


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
    'mastership stolen': lambda e, r: _now(
        lambda: e.controller.access.steal_mastership(
            sorted(e.controller.access.masters)[-1], 'FlexPendant'
        )
    ),
    'mastership back': lambda e, r: _now(
        lambda: (
            e.controller.access.steal_mastership(sorted(e.controller.access.masters)[-1], None)
            if e.controller.access.masters[sorted(e.controller.access.masters)[-1]] == 'FlexPendant'
            else None
        )
    ),
    'emergency stop': lambda e, r: _now(lambda: e.controller.emergency_stop(r.random() < 0.5)),
    'guard stop': lambda e, r: _now(lambda: e.controller.guard_stop(r.random() < 0.5)),
    'rate limited': lambda e, r: _set(e, r, maximum_rate_hz=5.0),
    'flood of log entries': lambda e, r: _now(partial(_flood, e)),
    'manual mode': lambda e, r: _now(
        lambda: e.controller.set_operation_mode(r.choice(('AUTO', 'AUTO', 'MANR')))
    ),
    'restart': lambda e, r: e.restart(r.uniform(0.0, 0.3), r.uniform(0.0, 0.3)),
    'connections cut': lambda e, r: _now(e.connections.cut),
}
