"""A flood of log events delays no state, and new log entries are limited (T11)."""

import asyncio

import pytest

from abb_rws_bridge.event_log import MAX_ENTRIES, NewEntries
from abb_rws_bridge.values import LogEntry
from rws_testing.cell import cell, until, watched

pytestmark = pytest.mark.steady_clock

LOG_EVENT = (
    '<html><body><div class="state"><ul><li class="elog-message-ev">'
    '<a href="/rw/elog/0" rel="self"/><span class="seqnum">9</span></li></ul></div></body></html>'
)


async def test_a_guard_stop_without_its_event_is_detected_in_a_flood_of_events():
    async with (
        cell(endpoint={'interval_s': 0.02}) as (running, controller),
        watched(controller) as monitor,
    ):
        (group,) = running.subscriptions.groups.values()
        running.controller.on_change = lambda _resource: None

        async def flood():
            while True:  # 2,000 in 20 s
                await group.sockets[0].send_str(LOG_EVENT)
                await asyncio.sleep(0.01)

        task = asyncio.create_task(flood())
        await asyncio.sleep(1.0)
        running.controller.guard_stop(True)
        seen_s = await until(lambda: monitor.known.control_state.value == 'guardstop')
        log_s = await until(lambda: monitor.known.event_log.value[-1].code == 10012)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert seen_s < 1.0 and log_s < 1.0


def entries(kind, *sequences):
    return [LogEntry(s, kind, 1, '', '') for s in sequences]


def test_new_entries_are_limited_and_errors_come_first():
    new = NewEntries()
    assert new.take(entries('info', 1, 2)) == ([], 0)
    assert new.take(entries('info', 2, 3)) == (entries('info', 3), 0)
    error = entries('error', 4)
    many = [*error, *entries('info', *range(5, 2004))]
    taken, left_out = new.take(many)
    assert taken == error + many[-MAX_ENTRIES + 1 :] and left_out == 2000 - MAX_ENTRIES
    assert new.take(many) == ([], 0)
    assert new.take([]) == ([], 0)
    assert new.take(entries('info', 1)) == (entries('info', 1), 0)
