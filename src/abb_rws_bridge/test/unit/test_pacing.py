"""Minimum interval between requests, and priority of a stop (T4)."""

import asyncio
from types import SimpleNamespace

import pytest

from abb_rws_bridge import errors, pacing
from abb_rws_bridge.pacing import Pacer
from rws_testing.cell import cell, until

pytestmark = pytest.mark.steady_clock


@pytest.fixture
def clock(monkeypatch):
    """Simulated time of the pacer [s]: a sleep advances it."""
    clock = SimpleNamespace(now_s=0.0)

    async def sleep(duration_s):
        clock.now_s += duration_s
        await asyncio.sleep(0)

    monkeypatch.setattr(pacing, 'time', SimpleNamespace(monotonic=lambda: clock.now_s))
    monkeypatch.setattr(pacing, 'asyncio', SimpleNamespace(Lock=asyncio.Lock, sleep=sleep))
    return clock


def test_queued_requests_keep_the_interval_and_a_stop_overtakes_them(clock):
    starts = []

    async def request(pacer, name, urgent=False):
        async with pacer.lane(urgent):
            await pacer.start(urgent)
            starts.append((clock.now_s, name))

    async def run():
        pacer = Pacer(interval_s=0.01)
        queue = [asyncio.create_task(request(pacer, i)) for i in range(60)]
        while len(starts) < 20:
            await asyncio.sleep(0)
        await request(pacer, 'stop', urgent=True)
        await asyncio.gather(*queue)

    asyncio.run(run())
    names = [name for _, name in starts]
    assert names.index('stop') in (20, 21)
    assert [name for name in names if name != 'stop'] == list(range(60))
    gaps = [later - earlier for (earlier, _), (later, _) in zip(starts, starts[1:], strict=False)]
    assert min(gaps) >= 0.01 - 1e-9


async def test_a_hanging_read_does_not_delay_a_stop():
    async with cell() as (emulator, controller):
        await controller.system()
        emulator.faults.silent, emulator.faults.only = True, '/rw/motionsystem'
        hanging = asyncio.create_task(controller.joints())
        await until(lambda: emulator.requests >= 3)
        await controller.stop()
        assert not hanging.done()
        result = await asyncio.gather(hanging, return_exceptions=True)
        assert isinstance(result[0], errors.TimedOut)
        emulator.faults.clear()
