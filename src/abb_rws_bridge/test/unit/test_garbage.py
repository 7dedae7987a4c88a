"""Recovery from malformed responses, with one session and one group (T6)."""

import asyncio

import pytest

from abb_rws_bridge.errors import RwsError
from abb_rws_bridge.monitor import UP
from rws_testing.cell import client, emulator, until, watched
from rws_testing.garbage import FRAMES, GARBAGE
from rws_testing.spoiler import spoiler

pytestmark = pytest.mark.steady_clock

RECOVER_S = 5.0
SYMBOL = 'T_ROB1/Module1/test_var_num'


async def spoilt_cell(spoil):
    """Run `spoil(between, controller, monitor)`, then wait for the recovery."""
    async with emulator() as running, spoiler(running.port) as between:
        fast = {'timeout_s': 0.2, 'interval_s': 0.005}
        async with (
            client(running, port=between.port, **fast) as controller,
            watched(controller) as monitor,
        ):
            await spoil(between, controller, monitor)
            between.garbage, good_s = None, asyncio.get_running_loop().time()
            await until(
                lambda: (
                    monitor.known.link == UP
                    and not monitor.known.error
                    and monitor.subscription.live
                    and monitor.known.joints.asked_s > good_s
                    and len(running.sessions.table) == 1
                ),
                RECOVER_S,
            )
            assert len(running.subscriptions.groups) == 1
        assert running.sessions.table == {}


@pytest.mark.parametrize('name', GARBAGE)
def test_recovery_from_malformed_responses(name):
    async def spoil(between, controller, monitor):
        between.garbage = GARBAGE[name]
        between.inject(b'\x88\x00')  # closes the WebSocket, which reconnects
        for command in (controller.stop(), controller.symbol(SYMBOL)):
            try:
                await command
            except RwsError as error:
                assert str(error).isprintable() and len(str(error)) <= 300
        await until(lambda: between.spoilt >= 5 and not monitor.subscription.live)

    asyncio.run(spoilt_cell(spoil))


@pytest.mark.parametrize('name', FRAMES)
def test_recovery_from_malformed_frames(name):
    async def spoil(between, controller, monitor):
        between.inject(FRAMES[name])
        await asyncio.sleep(0.05)

    asyncio.run(spoilt_cell(spoil))
