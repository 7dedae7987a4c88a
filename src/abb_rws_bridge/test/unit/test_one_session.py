"""At most one session and one subscription group after losses and malformed responses."""

import asyncio

import pytest

from abb_rws_bridge.cookies import SessionCookies
from abb_rws_bridge.monitor import UP, Monitor
from rws_testing.cell import cell, client, emulator, until, watched
from rws_testing.spoiler import spoiler

pytestmark = pytest.mark.steady_clock

FAST = {'timeout_s': 0.3, 'interval_s': 0.005}


@pytest.mark.parametrize('location', [b'http://[', b''])
async def test_a_malformed_location_leaves_no_group_behind(location):
    async with emulator() as running, spoiler(running.port) as between:

        def garble(whole: bytes) -> bytes:
            most.append(len(running.subscriptions.groups))
            head = b'HTTP/1.1 201 Created\r\nContent-Length: 0\r\nLocation: '
            return head + location + b'\r\n\r\n'

        most: list[int] = []
        between.garbage, between.only = garble, b'POST /subscription'
        async with client(running, port=between.port, **FAST) as controller:
            monitor = Monitor(controller)
            task = asyncio.create_task(monitor.run())
            await until(lambda: len(most) >= 4)
            between.garbage = None
            await until(lambda: monitor.subscription.live)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert max(most) == 1 and not running.subscriptions.groups


async def test_a_session_lost_while_the_websocket_reconnects_gives_one_session():
    async with (
        cell(endpoint={'interval_s': 0.005}) as (running, controller),
        watched(controller) as monitor,
    ):
        handshakes, digest_user = [], running.sessions.digest_user

        def watched_user(method, target, header):
            handshakes.extend([header] if target.startswith('/poll') else [])
            return digest_user(method, target, header)

        running.sessions.digest_user = watched_user
        running.faults.only, running.faults.busy = '/rw', True  # only the WebSocket connects
        running.sessions.end_all()  # aborts the WebSocket, too
        await until(lambda: handshakes)
        running.faults.clear()
        await until(lambda: monitor.subscription.live)
        assert set(handshakes) == {''}  # a controller would open a session for credentials
        assert running.sessions.opened == 2
        assert len(running.sessions.table) == len(running.subscriptions.groups) == 1


async def test_two_requests_that_each_open_a_session_leave_one():
    async with cell() as (running, controller):
        await controller.system()
        running.sessions.end_all()
        running.faults.latency_s = 0.02  # both are sent with the lost session
        await asyncio.gather(controller.joints(), controller.stop())
        running.faults.clear()
        assert running.sessions.opened == 3
        await controller.settle()
        await controller.joints()
        assert len(running.sessions.table) == 1 and running.sessions.opened == 3


async def test_a_group_is_not_replaced_until_its_deletion_is_confirmed():
    async with (
        emulator() as running,
        spoiler(running.port) as between,
        client(running, port=between.port, **FAST) as controller,
        watched(controller) as seen,
    ):
        between.garbage, between.only = b'HTTP/1.1 500 Oh\r\n\r\n', b'DELETE /subscription'
        await seen.subscription.suspect()
        await until(lambda: between.spoilt >= 2)
        assert seen.subscription.registrations == 1 and seen.known.link == UP
        between.garbage = None
        await until(lambda: seen.subscription.live)
        assert seen.subscription.registrations == 2
        assert len(running.subscriptions.groups) == 1


@pytest.mark.parametrize(
    ('lines', 'sent'),
    [
        (['-http-session-=5::http.session::a=; path=/nowhere; max-age=0'], '5::http.session::a='),
        (['-http-session-=1; secure; domain=example.com', 'other=2'], '1'),
        (['-http-session-=1', '-http-session-="a\\015\\012X: y"'], '1'),
        (['-http-session-=1', '-http-session-=\udcff', '-http-session-=', 'x'], '1'),
        (['-http-session-=1', '-http-session-=' + 'x' * 5000], '1'),
    ],
)
def test_a_session_cookie_is_sent_back_whatever_its_attributes(lines, sent):
    cookies = SessionCookies()
    cookies.take(lines)
    assert cookies.header == {'Cookie': f'-http-session-={sent}'}
    assert cookies.generation == 1 and cookies.replaced == []


def test_replaced_sessions_never_include_the_current_one():
    cookies = SessionCookies()
    for value in 'abab':
        cookies.take([f'-http-session-={value}'])
    assert cookies.replaced == ['a'] and cookies.generation == 4
    for value in range(100):
        cookies.take([f'-http-session-={value}'])
    assert len(cookies.replaced) < 10 and '99' not in cookies.replaced
