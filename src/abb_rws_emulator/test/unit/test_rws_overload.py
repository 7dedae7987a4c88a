"""The emulated controller under requests that are too large, too many or too slow.

Nobody else waits, and it does not grow.
"""

import asyncio
import socket
from unittest.mock import Mock

import aiohttp
import pytest

from abb_rws_emulator.http import server, sessions
from abb_rws_emulator.http.connections import MOST_CONNECTIONS, Connection, Connections
from emulator_testing.plain_client import FORM, PlainClient, authorization, nonce_of, serve, until
from emulator_testing.stall_meter import StallMeter

pytestmark = pytest.mark.steady_clock

LONGEST_STALL_S = 0.2


# time


@pytest.fixture(scope='module')
def pulse():
    running = StallMeter()
    yield running
    running.end()


LINES = 40_000
SYMBOL_SEARCH = '/rw/rapid/symbols?action=search-symbols'
HOSTILE = {
    'unclosed routines': ('module', 'MODULE m\n' + 'PROC a()\n' * LINES + 'ENDMODULE\n'),
    'closed routines': ('module', 'MODULE m\n' + 'PROC a()\nENDPROC\n' * LINES + 'ENDMODULE\n'),
    'blank lines': ('module', '\n' * (1 << 20)),
    'unclosed text': ('module', 'MODULE m\nPERS string s:=' + '"' * 900_001 + '\nENDMODULE\n'),
    'no semicolons': ('module', 'MODULE m\n' + 'PERS num a:=1\n' * LINES + 'ENDMODULE\n'),
    'many names': (
        'module',
        'MODULE m\n' + ''.join(f'PERS num a{i}:=1;\n' for i in range(9000)) + 'ENDMODULE\n',
    ),
    'huge arrays': (
        'module',
        'MODULE m\n' + ''.join(f'VAR num b{i}{{20000}};\n' for i in range(200)) + 'ENDMODULE\n',
    ),
    'nested alternatives': ('search', {'regexp': '(a|aa)+!'}),
    'nested repetitions': ('search', {'regexp': '((((a*b*)*c*)*d*)*e*)*!'}),
    'many repetitions': ('search', {'regexp': '.*' * 49 + '!'}),
    'all names': ('search', {'regexp': ''}),
    'a form of 10 MB': ('form', b'a=1&' * 2_500_000),
    'a field of 10 MB': ('form', b'value=' + b'%41' * 3_000_000),
    'many fields': ('form', b'a=1&' * 200_000),
    'a long literal': ('form', b'value=[' + b'1,' * 400_000),
    'an open literal': ('form', b'value=' + b'[' * 900_000),
    'a file of spaces': ('program', b'<Module>' + b' ' * (7 << 20)),
}


@pytest.mark.parametrize('case', HOSTILE)
def test_no_request_keeps_the_others_waiting(pulse, case):
    """Another client goes on asking; what counts is how long the loop had no turn."""
    kind, what = HOSTILE[case]

    async def work():
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as http:
            ask = PlainClient(pulse.port, http)
            await ask('GET', '/rw/system')
            pulse.longest_stall_s()
            if kind == 'module':
                await ask('PUT', '/fileservice/$TEMP/m.mod', what)
                await ask(
                    'POST',
                    '/rw/rapid/tasks/T_ROB1?action=loadmod',
                    {'modulepath': '$TEMP/m.mod', 'replace': 'true'},
                )
                await ask(
                    'POST', '/rw/rapid/modules/m?task=T_ROB1&action=set-module-text', {'text': what}
                )
                await ask('GET', '/rw/rapid/modules/m?task=T_ROB1&resource=module-text')
                await ask('GET', '/rw/rapid/modules/m/routine?task=T_ROB1')
            elif kind == 'search':
                await ask('POST', SYMBOL_SEARCH, what)
            elif kind == 'form':
                await ask(
                    'POST', '/rw/rapid/symbol/data/RAPID/T_ROB1/reg1?action=set', what, **FORM
                )
                await ask('POST', '/subscription', what, **FORM)
            else:
                await ask('PUT', '/fileservice/$TEMP/a.pgf', what)
                await ask(
                    'POST',
                    '/rw/rapid/tasks/T_ROB1/program?action=loadprog',
                    {'progpath': '$TEMP/a.pgf'},
                )
            assert (await ask('GET', '/rw/system'))[0] == 200
            return pulse.longest_stall_s()

    assert asyncio.run(work()) <= LONGEST_STALL_S


# memory


def test_what_is_kept_of_requests_is_bounded():
    async def work(emulator, ask):
        first = nonce_of((await ask.http.get(ask.base + '/rw/system')).headers['WWW-Authenticate'])
        for _ in range(server.WRITES_KEPT + 20):
            assert (await ask('POST', '/rw/rapid/execution?action=stop', ''))[0] == 204
        assert (
            len(emulator.writes) == server.WRITES_KEPT
            and emulator.written == server.WRITES_KEPT + 20
        )
        for _ in range(20):
            await ask.http.get(ask.base + '/rw/system')
        assert len(emulator.sessions._counts) <= 2 and not any(
            first in str(value) for value in vars(emulator.sessions).values()
        )
        for i in range(100):
            await ask('POST', '/rw/dipc?action=dipc-create', {'dipc-queue-name': f'q{i}'})
            await ask(
                'POST', '/rw/cfg/SIO/COM_APP/instances?action=create-default', {'name': f'i{i}'}
            )
            await ask(
                'POST',
                '/fileservice/$HOME',
                {'fs-action': 'create', 'fs-newname': 'a' * 240 + str(i)},
            )
            await ask(
                'POST',
                '/rw/elog?action=saveraw',
                {'path': '/'.join(['$TEMP', *'abcdefghijklmnopqrstuvwxyz' * 2])},
            )
        assert (
            len(emulator.controller.queues) < 100 and len(emulator.controller.store.folders) < 120
        )

    serve(work)


def test_counts_of_nonces_are_forgotten_with_their_nonces():
    table = sessions.Sessions({}, lambda: 0.0, lambda _: None)
    for _ in range(sessions.COUNTED_NONCES + 10):
        nonce = nonce_of(table.challenge())
        assert table._take_count(nonce, table._given_s(nonce), 1) or table._oldest_s == 0.0
    assert len(table._counts) <= sessions.COUNTED_NONCES


# slow and repeated


SLOW = {
    'silence': b'',
    'half a head': b'GET /rw/system HTTP/1.1\r\nHost: a\r\n',
    'half a handshake': b'GET /poll/1 HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n'
    b'Connection: Upgrade\r\nSec-WebSocket-Key: ',
    'half a body': b'POST /rw/rapid/execution?action=stop HTTP/1.1\r\nHost: a\r\n'
    b'Content-Length: 9\r\nCookie: %s\r\n\r\nab',
    'idle': b'GET /rw/system HTTP/1.1\r\nHost: a\r\n\r\n',
    'never read': b'GET /fileservice/$TEMP/big HTTP/1.1\r\nHost: a\r\nCookie: %s\r\n\r\n',
}


@pytest.mark.parametrize('case', SLOW)
def test_a_slow_connection_is_closed(case):
    async def work(emulator, ask):
        emulator.connections.request_s = emulator.connections.idle_s = (
            emulator.connections.take_s
        ) = 0.2
        await ask('PUT', '/fileservice/$TEMP/big', b'x' * (8 << 20))
        emulator.connections.cut()
        cookie = f'-http-session-={next(iter(emulator.sessions.table))}'.encode()
        with socket.create_connection(('127.0.0.1', emulator.port)) as slow:
            slow.setblocking(False)
            sent = SLOW[case]
            await asyncio.get_running_loop().sock_sendall(
                slow, sent % cookie if b'%s' in sent else sent
            )
            await until(lambda: emulator.connections._open)
            await until(lambda: not emulator.connections._open, 5.0)

    serve(work)


def test_one_connection_too_many_costs_one_that_waits():
    async def work(emulator, ask):
        await ask('GET', '/rw/system')
        idle = [
            await asyncio.open_connection('127.0.0.1', emulator.port)
            for _ in range(MOST_CONNECTIONS + 20)
        ]
        assert (await ask('GET', '/rw/system'))[0] == 200
        await until(lambda: len(emulator.connections._open) <= MOST_CONNECTIONS)
        for _, writer in idle:
            writer.close()

    serve(work)


def test_a_burst_of_connections_is_limited_before_the_loop_closes_the_first():
    connections, aborted = Connections(lambda: 0.0), []
    for k in range(MOST_CONNECTIONS + 50):
        connection = Connection(Mock(), connections)
        transport = Mock()
        transport.abort = lambda k=k: aborted.append(k)
        connection.connection_made(transport)
    assert len(connections._open) == MOST_CONNECTIONS and aborted == list(range(50))


def test_an_answer_to_a_challenge_is_good_once():
    async def work(emulator, ask):
        target = '/rw/system'

        async def get(answer):
            async with ask.http.get(ask.base + target, headers={'Authorization': answer}) as got:
                return got.status, got.headers.get('WWW-Authenticate', '')

        nonce = nonce_of((await get('Digest x'))[1])
        assert (await get(authorization('GET', target, nonce)))[0] == 200
        status, challenge = await get(
            authorization('GET', target, nonce)
        )  # a replay, or a client that does not count
        assert status == 401 and 'stale=TRUE' in challenge
        assert (await get(authorization('GET', target, nonce_of(challenge))))[0] == 200
        for count in (2, 4, 3):  # requests sent at once overtake each other
            assert (await get(authorization('GET', target, nonce, count)))[0] == 200
        for count in (2, 3, 4):
            assert (await get(authorization('GET', target, nonce, count)))[0] == 401
        assert (await get(authorization('GET', target, nonce, 1000)))[0] == 200
        assert (await get(authorization('GET', target, nonce, 5)))[
            0
        ] == 401  # older than the window
        wrong = authorization('GET', target, nonce, 1001).replace('response="', 'response="0')
        assert 'stale=FALSE' in (await get(wrong))[1]

    serve(work, keep_cookies=False)


def test_a_request_that_a_restart_cuts_off_opens_no_session():
    async def work(emulator, ask):
        basic = ask.http.headers['Authorization']
        for turns in range(12):  # of the event loop, so that the restart meets every stage
            _, writer = await asyncio.open_connection('127.0.0.1', emulator.port)
            writer.write(
                f'GET /rw/system HTTP/1.1\r\nHost: a\r\nAuthorization: {basic}\r\n\r\n'.encode()
            )
            for _ in range(turns):
                await asyncio.sleep(0.0)
            await emulator.restart(0.0, 0.0)
            await asyncio.sleep(0.01)
            assert not emulator.sessions.table, turns
            writer.close()

    serve(work, generation=2)
