"""HTTP session: authentication, limits, deadlines, retries and error types (T1 to T3, T5, T6)."""

import asyncio
import ssl
import time

import pytest

from abb_rws_bridge import errors
from abb_rws_bridge.controller import Controller
from abb_rws_bridge.credentials import Credentials
from abb_rws_bridge.dialect import RWS1, RWS2
from abb_rws_bridge.monitor import BUSY, UP
from abb_rws_bridge.session import Endpoint
from rws_testing.cell import USER, cell, client, emulator, watched
from rws_testing.garbage import answer
from rws_testing.spoiler import spoiler

pytestmark = pytest.mark.steady_clock

ALL = pytest.mark.parametrize('generation', [1, 2])


@ALL
async def test_a_thousand_requests_use_one_session_and_one_challenge(generation):
    async with cell(generation) as (running, controller):
        for _ in range(500):
            await controller.joints()
            await controller.execution()
        assert running.sessions.opened == 1
        assert running.sessions.challenges == (1 if generation == 1 else 0)
        assert len(running.sessions.table) == 1
    assert running.sessions.table == {}


async def test_an_expired_session_is_renewed_without_a_new_challenge_and_a_lost_nonce_with_one():
    async with cell() as (running, controller):
        await controller.system()
        running.sessions.end_all()
        await controller.system()
        assert (
            running.sessions.opened,
            running.sessions.challenges,
            controller.session.generation,
        ) == (2, 1, 2)
        running.sessions.end_all(forget_nonces=True)
        # a write refused with 401 was not executed and is sent again
        await controller.set_motors(True)
        assert (running.sessions.opened, running.sessions.challenges) == (3, 2)
        assert [path for path in running.writes] == ['/rw/panel/ctrlstate?setctrlstate']


@ALL
async def test_wrong_credentials_are_reported_without_repeated_requests(generation):
    async with (
        emulator(generation) as running,
        client(running, Credentials(USER.user, 'wrong')) as controller,
    ):
        with pytest.raises(errors.NotAuthorised, match='check the credentials'):
            await controller.system()
        assert running.requests <= 2 and running.sessions.opened == 0


async def test_a_full_session_table_is_busy_until_a_session_is_free():
    async with emulator(session_limit=70) as running:
        taken = [running.sessions.open(USER.user) for _ in range(70)]
        async with client(running) as controller:
            with pytest.raises(errors.Busy):
                await controller.system()
            running.sessions.end(taken.pop())
            await controller.system()
            assert len(running.sessions.table) == 70
        assert len(running.sessions.table) == 69  # logged out


async def test_a_monitor_reports_busy_backs_off_and_recovers():
    async with cell() as (running, controller), watched(controller) as monitor:
        running.faults.busy = True
        assert await monitor.wait_for(lambda known: known.link == BUSY, 1.0)
        before = running.requests
        await asyncio.sleep(1.0)
        assert running.requests - before <= 12  # joints and events, each with a growing pause
        running.faults.clear()
        assert await monitor.wait_for(lambda known: known.link == UP, 3.0)


@pytest.mark.parametrize('fault', ['silent', 'stall'])
def test_a_read_times_out_even_if_only_the_body_is_missing(fault):
    async def run():
        async with cell(endpoint={'timeout_s': 0.4}) as (running, controller):
            await controller.system()
            setattr(running.faults, fault, True)
            began_s = time.monotonic()
            with pytest.raises(errors.TimedOut):
                await controller.joints()
            took_s = time.monotonic() - began_s
            running.faults.clear()
            await controller.joints()
            return took_s

    assert 0.39 < asyncio.run(run()) < 0.8


@pytest.mark.parametrize('fault', ['latency_s', 'truncate', 'stall'])
async def test_a_write_without_a_response_is_sent_once_with_unknown_outcome(fault):
    async with cell(endpoint={'timeout_s': 0.3}) as (running, controller):
        await controller.system()
        running.faults.only = '/rw/rapid/symbol'
        setattr(running.faults, fault, 0.6 if fault == 'latency_s' else True)
        before = running.requests
        if fault == 'latency_s':
            with pytest.raises(errors.OutcomeUnknown, match='read back'):
                await controller.set_symbol('T_ROB1/Module1/test_var_num', '5')
        else:  # only a refusal has a body that can be cut
            with pytest.raises(errors.OutcomeUnknown):
                await controller.set_symbol('T_ROB1/Module1/nosuch', '5')
        assert running.requests - before == 1
        running.faults.clear()


async def test_a_read_is_repeated_once_after_a_broken_connection():
    async with cell() as (running, controller):
        await controller.system()
        spoil = running.faults._spoil

        async def spoil_once(*arguments):
            running.faults.clear()
            return await spoil(*arguments)

        running.faults._spoil, running.faults.truncate = spoil_once, True
        before = running.requests
        await controller.joints()
        assert running.requests - before == 2


@pytest.mark.parametrize(
    ('fault', 'kind'),
    [
        ('truncate', errors.ConnectionLost),
        ('html_500', errors.BadResponse),
        ('wrong_type', errors.BadResponse),
        ('busy', errors.Busy),
    ],
)
async def test_corrupted_responses_raise_typed_errors(fault, kind):
    async with cell() as (running, controller):
        await controller.system()
        setattr(running.faults, fault, True)
        before = running.requests
        with pytest.raises(kind):
            await controller.joints()
        assert running.requests - before <= 2
        running.faults.clear()
        await controller.joints()


async def test_a_closed_port_is_unreachable():
    async with emulator() as running:
        port = running.port
    async with client(running) as controller:
        with pytest.raises(errors.Unreachable, match=f':{port} cannot be reached'):
            await controller.system()


def test_tls_certificates_are_verified_by_default(tmp_path, self_signed):
    certificate, key = self_signed
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)

    async def run():
        async with emulator(2, tls=tls) as running:
            async with client(running, tls=True) as stranger:
                with pytest.raises(errors.Unreachable, match='(?i)certificate'):
                    await stranger.system()
            assert running.requests == 0
            for trusting in ({'ca_file': str(certificate)}, {'verify_tls': False}):
                async with client(running, tls=True, **trusting) as controller:
                    assert (await controller.system()).value.version.startswith('7.')
                    async with watched(controller):
                        pass

    asyncio.run(run())
    with pytest.raises(errors.ConfigurationError, match=r'missing\.pem'):
        Endpoint('x', 443, tls=True, ca_file=str(tmp_path / 'missing.pem')).ssl()


@pytest.mark.parametrize('host', ['192.168.125.1', 'controller', '127.0.0.1.example.com', '::2'])
def test_a_password_is_not_sent_in_clear_text(host):
    with pytest.raises(errors.ConfigurationError, match='clear text: set tls:=true'):
        Controller(Endpoint(host, 80), USER, RWS2)
    Controller(Endpoint(host, 443, tls=True), USER, RWS2)
    Controller(Endpoint(host, 80), USER, RWS1)  # digest


@pytest.mark.parametrize('host', ['127.0.0.1', '127.8.8.8', 'localhost', '::1'])
def test_clear_text_is_allowed_on_loopback(host):
    Controller(Endpoint(host, 80), USER, RWS2)


@pytest.mark.parametrize(
    ('status', 'kind'),
    [
        ('302 Found', errors.BadResponse),
        ('304 Not Modified', errors.BadResponse),
        ('200 OK', errors.OutcomeUnknown),
        ('201 Created', errors.OutcomeUnknown),
        ('206 Partial Content', errors.OutcomeUnknown),
    ],
)
async def test_only_the_documented_status_is_success(status, kind):
    async with (
        emulator() as running,
        spoiler(running.port) as between,
        client(running, port=between.port) as controller,
    ):
        between.garbage = answer('', 'Location: /', status=status)
        with pytest.raises(kind, match=f'HTTP {status[:3]} instead of 204'):
            await controller.stop()
        between.garbage = None
