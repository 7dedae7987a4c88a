"""Random faults against a client for as long as asked.

What the short test and the long run share.
"""

import asyncio
import gc
import os
import random
import threading
from dataclasses import dataclass, field

from abb_rws_bridge.controller import Controller
from abb_rws_bridge.errors import RwsError
from abb_rws_bridge.monitor import Monitor
from abb_rws_emulator.http.server import Emulator

MEMORY_DRIFT_MIB = (
    50.0  # client and emulator together; allocation by the first requests stays below 10
)
_CALLS = ('stop', 'start', 'reset_pointer')


@dataclass
class SoakReport:
    """What happened.

    Faults by name, calls and their refusals by type, what was left behind (empty is good).

    Attributes:
        held: Client tasks, threads and open files before and after.
        resident_mib: Memory of client and emulator together when the first tenth was over and at
            the end [MiB].
        sessions_opened: Sessions that the client took from the controller, one after the other.
        most_sessions: The most it held at one time.
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
    """Disturb and command for a time, then compare the client's state with the controller's.

    Args:
        controller: A client that is open; it is closed at the end, to see what is left.
    """
    report, random_ = SoakReport(duration_s), random.Random(seed)
    before, warm_mib, opened = _held(), None, emulator.sessions.opened
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
        emulator.silence_websockets(False)
        await asyncio.sleep(random_.uniform(0.0, 0.3))
    began_s = loop.time()
    emulator.controller.emergency_stop(False)
    emulator.controller.set_operation_mode('AUTO')
    emulator.controller.guard_stop(False)
    for domain in emulator.controller.masters:
        if emulator.controller.masters[domain] == 'FlexPendant':
            emulator.controller.steal_mastership(domain, None)
    settled = await monitor.wait_for(
        lambda known: known.ready and monitor.subscription.live and _agree(emulator, monitor), 10.0
    )
    report.recovered_s = loop.time() - began_s
    known = monitor.known
    if not settled:
        report.leaks.append(
            f'state differs from the controller: link {known.link} {known.error}, events '
            f'{monitor.subscription.live}, '
            f'ready {known.ready}, control state {known.control_state}, speed '
            f'{known.speed_ratio}, program {known.execution}'
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
    report.resident_mib = (warm_mib or _resident_mib(), _resident_mib())
    if report.resident_mib[1] - report.resident_mib[0] > MEMORY_DRIFT_MIB:
        report.leaks.append(
            f'memory: {report.resident_mib[0]:.0f} MiB before, {report.resident_mib[1]:.0f} MiB '
            'after'
        )
    report.sessions_opened = emulator.sessions.opened - opened
    if report.most_sessions > 2:  # one that fell silent may still stand while the next is taken
        report.leaks.append(f'{report.most_sessions} sessions at one time')
    if emulator.sessions.table:
        report.leaks.append(f'{len(emulator.sessions.table)} sessions left on the controller')
    if any(emulator.controller.masters.values()):
        report.leaks.append(f'mastership left behind: {emulator.controller.masters}')
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
    told = (
        known.control_state.value,
        known.operation_mode.value,
        known.speed_ratio.value,
        known.execution.value.running,
    )
    return told == (real.control_state, real.operation_mode, real.speed_percent / 100, real.running)


async def _command(controller: Controller, random_: random.Random, report: SoakReport) -> None:
    """One call of a user; every outcome but an unknown exception is fine."""
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


async def _set(emulator: Emulator, random_: random.Random, **values) -> None:
    for name, value in values.items():
        setattr(emulator.faults, name, value)
    await asyncio.sleep(random_.uniform(0.0, 0.2))


async def _silent(emulator: Emulator, random_: random.Random) -> None:
    emulator.silence_websockets(True)
    await _set(emulator, random_, silent=True)


async def _now(action) -> None:
    action()


_FAULTS = {
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
    'socket closed': lambda e, r: e.close_websockets(1001, ''),
    'mastership stolen': lambda e, r: _now(
        lambda: e.controller.steal_mastership(sorted(e.controller.masters)[-1], 'FlexPendant')
    ),
    'mastership back': lambda e, r: _now(
        lambda: (
            e.controller.steal_mastership(sorted(e.controller.masters)[-1], None)
            if e.controller.masters[sorted(e.controller.masters)[-1]] == 'FlexPendant'
            else None
        )
    ),
    'emergency stop': lambda e, r: _now(lambda: e.controller.emergency_stop(r.random() < 0.5)),
    'guard stop': lambda e, r: _now(lambda: e.controller.guard_stop(r.random() < 0.5)),
    'rate limited': lambda e, r: _set(e, r, maximum_rate_hz=5.0),
    'flood of log entries': lambda e, r: _now(lambda: [e.controller.log(10012) for _ in range(50)]),
    'manual mode': lambda e, r: _now(
        lambda: e.controller.set_operation_mode(r.choice(('AUTO', 'AUTO', 'MANR')))
    ),
    'restart': lambda e, r: e.restart(r.uniform(0.0, 0.3), r.uniform(0.0, 0.3)),
    'connections cut': lambda e, r: _now(e.cut_connections),
}
