"""Emulated controller and client in one event loop."""

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import replace

from abb_rws_bridge.controller import Controller
from abb_rws_bridge.credentials import Credentials
from abb_rws_bridge.dialect import RWS1, RWS2
from abb_rws_bridge.monitor import UP, Monitor
from abb_rws_bridge.session import Endpoint
from abb_rws_emulator.http.server import Emulator, Options

USER = Credentials('operator one', 'a:b "c"')
DIALECTS = {1: RWS1, 2: RWS2}
FAST = {'interval_s': 0.0, 'timeout_s': 0.8}


@asynccontextmanager
async def emulator(generation: int = 1, **options):
    async with Emulator(
        Options({USER.user: USER.password}, generation=generation, **options), clock=time.monotonic
    ) as running:
        yield running


def client(running: Emulator, credentials: Credentials = USER, **endpoint) -> Controller:
    where = replace(Endpoint(running.options.host, running.port), **(FAST | endpoint))
    return Controller(where, credentials, DIALECTS[running.options.generation])


@asynccontextmanager
async def cell(generation: int = 1, endpoint: dict | None = None, **options):
    """Emulator and client; check at the end that the client has logged out."""
    async with emulator(generation, **options) as running:
        async with client(running, **(endpoint or {})) as controller:
            yield running, controller
        assert running.sessions.table == {} or running.faults != type(running.faults)(), (
            'a session was left behind'
        )


@asynccontextmanager
async def watched(controller: Controller, **options):
    """Running monitor with the link up and live events."""
    monitor = Monitor(controller, **options)
    running = asyncio.create_task(monitor.run())
    try:
        assert await monitor.wait_for(
            lambda known: known.link == UP and known.ready and monitor.subscription.live, 5.0
        ), monitor.known
        yield monitor
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def until(condition, deadline_s: float = 5.0) -> float:
    """Wait for a condition; return the elapsed time [s]."""
    clock = asyncio.get_running_loop().time
    began_s = clock()
    while not condition():
        assert clock() - began_s < deadline_s, f'not within {deadline_s} s'
        await asyncio.sleep(0.005)
    return clock() - began_s
