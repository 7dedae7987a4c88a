"""Events, and recovery from every way of losing them (T8)."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from aiohttp import WSCloseCode

from abb_rws_bridge.monitor import UP
from abb_rws_bridge.subscription import HIGH, LOW, Subscription, events_of
from rws_testing.cell import cell, until, watched

pytestmark = pytest.mark.steady_clock

ALL = pytest.mark.parametrize('generation', [1, 2])
PING_S = 0.4
SIGNAL, SYMBOL = (
    '/rw/iosystem/signals/DO_01;state',
    '/rw/rapid/symbol/data/RAPID/T_ROB1/Module1/test_var_num;value',
)
RESOURCES = {SIGNAL: HIGH, SYMBOL: HIGH, '/rw/elog/0': LOW}
PAGE = (
    '<html xmlns="http://www.w3.org/1999/xhtml"><body><div class="state"><ul>{}</ul></div>'
    '</body></html>'
)


@asynccontextmanager
async def subscribed(controller, resources):
    """Running subscription, its events and gaps."""
    events, gaps = [], []
    mine = Subscription(
        controller.session,
        controller.dialect,
        resources,
        events.append,
        lambda: gaps.append(1),
        PING_S,
    )
    task = asyncio.create_task(mine.run())
    await until(lambda: mine.live, 2.0)
    try:
        yield mine, events, gaps
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@ALL
async def test_events_arrive_in_order_with_the_path_as_subscribed(generation):
    async with (
        cell(generation) as (running, controller),
        subscribed(controller, RESOURCES) as (_mine, events, gaps),
    ):
        assert gaps == [1]
        for value in (1.0, 0.0, 1.0):
            running.controller.signals.put('DeviceNet/d652/DO_01', value)
            await asyncio.sleep(0.08)
        await controller.set_symbol('T_ROB1/Module1/test_var_num', '7')
        running.controller.log(10011)
        await until(lambda: len(events) >= 5, 1.0)
        assert [e.fields['lvalue'] for e in events if e.resource == SIGNAL] == ['1', '0', '1']
        assert [e.fields['value'] for e in events if e.resource == SYMBOL] == ['7']
        assert [e.fields['seqnum'] for e in events if e.kind == 'elog-message-ev'] == ['3']


async def test_a_broken_socket_reconnects_to_the_same_group():
    async with (
        cell() as (running, controller),
        subscribed(controller, {SIGNAL: HIGH}) as (mine, events, gaps),
    ):
        await running.websockets.close(WSCloseCode.GOING_AWAY, '')
        await until(lambda: len(gaps) == 2, 1.0)
        assert mine.registrations == 1
        running.controller.signals.put('DeviceNet/d652/DO_01', 1.0)
        await until(lambda: len(events) == 1, 1.0)


@ALL
async def test_a_lost_registration_is_renewed(generation):
    async with (
        cell(generation) as (running, controller),
        subscribed(controller, {SIGNAL: HIGH}) as (mine, events, gaps),
    ):
        running.subscriptions.remove_all()
        await until(lambda: len(gaps) == 2, 1.5)
        assert mine.registrations == 2
        running.controller.signals.put('DeviceNet/d652/DO_01', 1.0)
        await until(lambda: len(events) == 1, 1.0)


async def test_a_half_open_socket_is_detected_by_its_missing_pong():
    async with (
        cell() as (running, controller),
        subscribed(controller, {SIGNAL: HIGH}) as (mine, _, gaps),
    ):
        running.websockets.silence(True)
        await until(lambda: not mine.live, 1.5 * PING_S + 0.6)
        running.websockets.silence(False)
        await until(lambda: len(gaps) == 2, 2.0)


async def test_the_client_sends_no_frames_to_omnicore():
    async with (
        cell(2) as (running, controller),
        subscribed(controller, {SIGNAL: HIGH}) as (mine, _, gaps),
    ):
        await asyncio.sleep(4 * PING_S)
        assert gaps == [1]
        await running.websockets.close(WSCloseCode.POLICY_VIOLATION, 'Client cannot send data.')
        await until(lambda: not mine.live, 1.0)
        await until(lambda: mine.live, 1.0)


@ALL
async def test_values_are_read_again_after_a_gap(generation):
    async with (
        cell(generation, endpoint={'interval_s': 0.03}) as (running, controller),
        watched(controller, ping_s=PING_S) as monitor,
    ):
        await monitor.wait_for(lambda known: known.event_log is not None, 2.0)
        running.faults.only, running.faults.busy = '/poll', True
        await running.websockets.close(WSCloseCode.GOING_AWAY, '')
        await until(lambda: not monitor.subscription.live, 1.0)
        running.controller.log(10012)  # the log is polled every few seconds only
        running.faults.clear()
        await monitor.wait_for(lambda known: monitor.subscription.live, 3.0)
        assert await monitor.wait_for(lambda known: known.event_log.value[-1].code == 10012, 1.5)


async def test_duplicate_and_late_events_are_corrected_by_the_next_read():
    async with (
        cell(endpoint={'interval_s': 0.02}) as (running, controller),
        watched(controller) as monitor,
    ):
        changed = []
        monitor._on_change = changed.append
        state = '/rw/panel/ctrlstate;ctrlstate'
        late = (
            f'<li class="pnl-ctrlstate-ev"><a href="{state}" rel="self"/>'
            '<span class="ctrlstate">motoron</span></li>'
        )
        event = PAGE.format(late)
        (socket,) = [s for group in running.subscriptions.groups.values() for s in group.sockets]
        for _ in range(3):
            await socket.send_str(event)
        await until(lambda: changed.count('control_state') >= 3, 1.0)
        assert await monitor.wait_for(
            lambda known: known.control_state.value == 'motoroff', 1.5
        )  # the actual state
        assert not running.writes and monitor.known.link == UP

        running.controller.log(10012)
        await monitor.wait_for(
            lambda known: known.event_log is not None and known.event_log.value[-1].code == 10012,
            2.0,
        )
        entries = [entry.sequence for entry in monitor.known.event_log.value]
        running.controller.on_change('/rw/elog/0')
        running.controller.on_change('/rw/elog/0')
        await until(lambda: changed.count('event_log') >= 2, 2.0)
        assert [entry.sequence for entry in monitor.known.event_log.value] == entries


async def test_a_change_without_its_event_renews_the_subscription():
    async with cell(2) as (running, controller), watched(controller) as monitor:
        running.websockets.silence(True)  # without pings only the missing event shows it
        running.controller.set_operation_mode('MANR')
        assert await monitor.wait_for(lambda known: known.operation_mode.value == 'MANR', 1.0)
        await until(lambda: monitor.subscription.registrations == 2, 2.0)


def test_the_value_of_a_variable_is_in_the_second_item():
    items = (
        '<li class="rap-value-ev"><a href="/x;value" rel="self"/></li>'
        '<li class="rap-data"><span class="value">[1,2]</span></li>'
    )
    text = PAGE.format(items)
    assert [(e.resource, e.fields) for e in events_of(text, 0.0)] == [
        ('/x;value', {'value': '[1,2]'})
    ]


async def test_recovery_after_a_restart_of_the_controller():
    """No tasks while booting, then ready with a new session and registration (T14)."""

    async with cell() as (running, controller), watched(controller) as monitor:
        restarting = asyncio.create_task(running.restart(down_s=0.3, boot_s=0.6))
        assert await monitor.wait_for(lambda known: known.link != UP, 1.0)
        assert not monitor.known.ready
        assert await monitor.wait_for(
            lambda known: known.link == UP and known.tasks.value == (), 2.0
        )
        assert not monitor.known.ready
        assert await monitor.wait_for(lambda known: known.ready and monitor.subscription.live, 4.0)
        assert controller.session.generation == 2 and len(running.sessions.table) == 1
        await restarting
