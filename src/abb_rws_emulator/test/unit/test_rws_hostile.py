"""The emulated controller under requests that no client should send.

It answers as a controller does, goes on, and does not grow.
"""

import asyncio
import json
import re
import socket
import urllib.parse

import aiohttp
import pytest

from abb_rws_emulator.controller.rapid_literals import InvalidLiteral, parse, shape_of, text
from abb_rws_emulator.controller.symbol_pattern import InvalidPattern, SymbolPattern
from abb_rws_emulator.http import server, sessions
from abb_rws_emulator.http.connections import MOST_CONNECTIONS
from abb_rws_emulator.http.routing import ROUTES
from emulator_testing.plain_client import START, PlainClient, authorization, nonce_of, serve, until
from emulator_testing.stall_meter import StallMeter

pytestmark = pytest.mark.real_time

FORM = {'Content-Type': 'application/x-www-form-urlencoded'}
SIGNAL = {'resources': '1', '1': '/rw/iosystem/signals/DO_01;state', '1-p': '2'}
LONGEST_STALL_S = 0.2


def refusal_code(body: str) -> int:
    """The controller's code in the body of a refusal, JSON or XHTML."""
    if body.startswith('{'):
        return json.loads(body)['_embedded']['status']['code']
    return int(re.search(r'<span class="code">(-\d+)</span><span class="msg">[^<]', body).group(1))


# subscriptions


@pytest.mark.parametrize('generation', [1, 2])
def test_a_group_ends_with_a_clean_close_and_outlives_a_broken_connection(generation):
    protocol = {1: 'robapi2_subscription', 2: 'rws_subscription'}[generation]

    async def work(emulator, ask):
        for _ in range(4):  # each frees its place, so the third is as good as the first
            status, headers, _ = await ask(
                'POST', '/subscription', urllib.parse.urlencode(SIGNAL), **FORM
            )
            assert status == 201
            async with ask.http.ws_connect(headers['Location'], protocols=(protocol,)) as watch:
                assert not watch.closed
        assert not emulator.subscriptions.groups
        _, headers, _ = await ask('POST', '/subscription', urllib.parse.urlencode(SIGNAL), **FORM)
        broken = await ask.http.ws_connect(
            headers['Location'], protocols=(protocol,), autoclose=False
        )
        broken._response.connection.transport.abort()
        (group,) = emulator.subscriptions.groups.values()
        await until(lambda: not group.sockets)
        async with ask.http.ws_connect(headers['Location'], protocols=(protocol,)) as again:
            emulator.controller.signals.put('DeviceNet/d652/DO_01', 1.0)
            assert 'DO_01' in await again.receive_str(timeout=2.0)

    serve(work, generation)


def test_a_group_is_known_to_its_own_session_only():
    async def work(emulator, ask):
        _, headers, _ = await ask('POST', '/subscription', SIGNAL)
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
            other = PlainClient(emulator.port, http)
            more = SIGNAL | {'1': '/rw/iosystem/signals/DO_02;state'}
            for method, target, form in (
                ('GET', '/subscription/1', None),
                ('PUT', '/subscription/1', more),
                ('DELETE', '/subscription/1', None),
                ('DELETE', '/subscription/1/rw/iosystem/signals/DO_01;state', None),
            ):
                assert (await other(method, target, form))[0] == 404, (method, target)
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await http.ws_connect(headers['Location'], protocols=('robapi2_subscription',))
        assert list(emulator.subscriptions.groups[1].priorities) == [SIGNAL['1']]
        assert (await ask('GET', '/subscription/1'))[0] == 200 and (
            await ask('DELETE', '/subscription/1')
        )[0] == 200

    serve(work)


def test_what_was_subscribed_may_vanish():
    async def work(emulator, ask):
        form = SIGNAL | {'1': '/rw/rapid/symbol/data/RAPID/T_ROB1/user/reg1;value'}
        assert (await ask('POST', '/subscription', form))[0] == 201
        emulator.controller.unload_module('', 'user')
        assert (await ask('PUT', '/subscription/1', SIGNAL))[0] == 200
        assert (await ask('DELETE', '/subscription/1'))[
            0
        ] == 200 and not emulator.subscriptions._listeners

    serve(work)


# inputs

DIGITS = ['²', '9' * 5000, '-1', '１', '1e3', '0x1', '']


@pytest.mark.parametrize('number', DIGITS)
def test_a_number_that_is_none_is_refused_with_the_controllers_code(number):
    quoted = urllib.parse.quote(number)

    async def work(emulator, ask):
        queue = {'dipc-queue-name': 'q', 'dipc-queue-size': number}
        clock = {
            f'sys-clock-{part}': number for part in ('year', 'month', 'day', 'hour', 'min', 'sec')
        }
        subscription = {'resources': number, number: SIGNAL['1'], f'{number}-p': number}
        cursor = {'module': 'Module1', 'line': number}
        refused = [
            ('GET', f'/subscription/{quoted or "x"}', None),
            ('GET', f'/progress/{quoted or "x"}', None),
            ('GET', f'/rw/elog/{quoted or "x"}', None),
            (
                'GET',
                f'/rw/rapid/modules/user?task=T_ROB1&startrow={quoted}&startcol=1&endrow=1&endcol=1',
                None,
            ),
            ('POST', '/rw/dipc?action=dipc-create', queue),
            ('PUT', '/ctrl/clock', clock),
            ('POST', '/subscription', subscription),
            ('POST', '/rw/panel/opmode?action=lock', {'pin': number, 'permanent': '0'}),
        ]
        taken = [
            ('GET', f'/rw/elog/0?start={quoted}&limit={quoted}&elogseqnum={quoted}', None),
            ('GET', f'/rw/iosystem/signals?start={quoted}', None),
            ('POST', '/rw/rapid/tasks/T_ROB1/pcp?action=set-pp-cursor', cursor),
        ]
        for method, target, form in refused:
            status, _, body = await ask(method, target, form)
            assert status in (400, 404) and refusal_code(body) < 0, (method, target[:60], status)
        for method, target, form in taken:
            assert (await ask(method, target, form))[0] < 500, (method, target[:60])
        assert (await ask('GET', f'/poll/{quoted or "x"}'))[0] == 404
        assert emulator.failures == 0

    serve(work)


@pytest.mark.parametrize(
    'body',
    [b'\xff\xfe', b'value=\xff', b'value=%ff', b'&' * 5000, b'a=1&' * 5000, b'x' * (2 << 20)],
)
@pytest.mark.parametrize(
    'target',
    [
        '/subscription',
        '/rw/rapid/symbol/data/RAPID/T_ROB1/reg1?action=set',
        '/rw/panel?action=setlang',
    ],
)
def test_a_form_that_is_none_is_refused_with_the_controllers_code(target, body):
    async def work(emulator, ask):
        status, _, told = await ask('POST', target, body, **FORM)
        assert status in (400, 413) and refusal_code(told) < 0 and emulator.failures == 0

    serve(work)


NASTY = [
    '',
    '²',
    '9' * 400,
    '-1',
    'nan',
    '1e999',
    '\0',
    '\r\n',
    '%',
    '../..',
    '💥',
    '"',
    '<&>',
    "'",
    '[[[[',
    '{',
    '{9,9}',
    '\x1b[0m',
]
NASTY += ['a' * 1500]
FIELDS = re.compile(r"form(?:\.get\(|\[)'([\w-]+)'")


def fields_of(module) -> set[str]:
    with open(module.__file__, encoding='utf-8') as file:
        return set(FIELDS.findall(file.read()))


@pytest.mark.parametrize('nasty', NASTY)
@pytest.mark.parametrize('generation', [1, 2])
def test_every_address_survives_every_input(generation, nasty, caplog):
    """Each route with nasty parts, query and fields; every action that the sources name."""
    names = (
        set().union(*map(fields_of, server.RESOURCES))
        | set(START)
        | {f'axis{i}' for i in range(1, 7)}
        | {'ccount', 'inc-mode'}
    )
    form = urllib.parse.urlencode(dict.fromkeys(sorted(names), nasty))
    quoted = urllib.parse.quote(nasty, safe='')
    fields = ('resource', 'start', 'limit', 'action', 'code', 'tool', 'coordinate')
    queries = [f'?{urllib.parse.urlencode(dict.fromkeys(fields, nasty))}']
    queries += [
        f'?json=1&action={action}'
        for action in ('set', 'set-mode', 'clear', 'saveas', 'jog', 'validate', 'dipc-send', 'comp')
    ]

    async def work(emulator, ask):
        headers = dict(FORM)
        if generation == 2:
            headers['Content-Type'] += ';v=2.0'
        assert (await ask('GET', '/rw/system'))[0] == 200
        for method, pattern, _ in list(ROUTES):
            path = re.sub(
                r'\(\?P<\w+>[^)]*\)',
                quoted or 'x',
                pattern.pattern.removeprefix('^').removesuffix('/?$').replace('\\', ''),
            )
            for query in queries if method == 'POST' else queries[:1]:
                body = None if method == 'GET' else form
                status, _, told = await ask(method, path + query, body, **headers)
                assert status < 500, (method, path[:80], query[:80], told)
        assert emulator.failures == 0

    serve(work, generation)


@pytest.mark.parametrize(
    'headers',
    [
        {'Host': '"><b>'},
        {'Host': b'\xff\xfe'.decode('utf-8', 'surrogateescape')},
        {'Cookie': '=;;;=\x7f'},
        {'Authorization': 'Digest ' + 'a' * 8000},
        {'Authorization': 'Digest username="Default User", nonce="zz", nc=zz, response="ü"'},
        {'Authorization': 'Basic ////'},
        {'Content-Length': '-5'},
        {'Upgrade': 'websocket', 'Connection': 'upgrade'},
    ],
)
def test_headers_that_are_none_are_no_reason_to_fail(headers):
    async def work(emulator, ask):
        await ask('POST', '/subscription', SIGNAL)
        cookie = f'Cookie: -http-session-={next(iter(emulator.sessions.table))}\r\n'
        for target in ('/rw/system', '/subscription', '/poll/1', '/ü'):
            lines = ''.join(
                f'{name}: {value}\r\n' for name, value in ({'Host': 'a'} | headers).items()
            )
            for more in ('', cookie):
                reader, writer = await asyncio.open_connection('127.0.0.1', emulator.port)
                writer.write(
                    f'GET {target} HTTP/1.1\r\n{lines}{more}Connection: close\r\n\r\n'.encode(
                        'utf-8', 'surrogateescape'
                    )
                )
                status = await asyncio.wait_for(reader.readline(), 5.0)
                writer.close()
                assert re.match(rb'HTTP/1\.[01] [1-4]', status), status
        assert emulator.failures == 0

    serve(work)


def test_a_defect_of_ours_is_a_refusal_and_is_logged(monkeypatch, caplog):
    async def work(emulator, ask):
        monkeypatch.setattr(emulator.controller, 'stop', lambda: 1 / 0)
        status, _, body = await ask('POST', '/rw/rapid/execution?action=stop', '')
        assert status == 400 and refusal_code(body) == -1073445879 and emulator.failures == 1
        assert 'ZeroDivisionError' in caplog.text

    serve(work)


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


# values


@pytest.mark.parametrize(
    ('data_type', 'literal', 'told'),
    [
        ('num', '4.50', '4.5'),
        ('num', '-.5', '-0.5'),
        ('num', '9e9', '9E+09'),
        ('num', '0x1F', '31'),
        ('num', ' 123456.789 ', '123457'),
        ('dnum', '123456.789', '123456.789'),
        ('bool', 'true', 'TRUE'),
        ('string', '"a""b"', '"a""b"'),
        ('pos', '[ 1 , 2 , 3 ]', '[1,2,3]'),
        (
            'jointtarget',
            '[[0,0,0,0,30,0],[9E9,9e+9,9E09,9E9,9E9,9E9]]',
            '[[0,0,0,0,30,0],[9E+09,9E+09,9E+09,9E+09,9E+09,9E+09]]',
        ),
    ],
)
def test_a_value_is_told_as_the_controller_writes_it(data_type, literal, told):
    shape = shape_of(data_type, (), literal)
    assert text(parse(literal, shape), shape) == told


@pytest.mark.parametrize(
    ('data_type', 'literal'),
    [
        ('num', '1e999'),
        ('num', '1e39'),
        ('dnum', '1e309'),
        ('num', '07'),
        ('num', '1_000'),
        ('num', '１'),
        ('num', 'nan'),
        ('num', 'TRUE'),
        ('num', '1 2'),
        ('num', ''),
        ('num', '[1]'),
        ('bool', '1'),
        ('string', 'a'),
        ('string', '"a'),
        ('string', '"' + 'a' * 81 + '"'),
        ('string', '"\x07"'),
        ('pos', '[1,2]'),
        ('pos', '[1,2,3,4]'),
        ('pos', '[1,2,"3"]'),
        ('pos', '[1,2,3'),
        ('jointtarget', '[[1e999,0,0,0,0,0],[0,0,0,0,0,0]]'),
        ('robtarget', '[[0,0,0],[1,0,0,0],[0,0,0,0]]'),
    ],
)
def test_a_value_that_is_none_of_its_type_is_refused(data_type, literal):
    with pytest.raises(InvalidLiteral):
        parse(literal, shape_of(data_type, (), literal or '0'))


def test_values_are_checked_where_they_are_written():
    async def work(emulator, ask):
        symbol = '/rw/rapid/symbol/data/RAPID/T_ROB1/Module1/'
        for name, literal in (
            ('test_var_num', '1e999'),
            ('test_var_num', '07'),
            ('test_var_str', '"' + 'a' * 81 + '"'),
            ('J_Orientation_Target', '[[1e999,0,0,0,0,0],[0,0,0,0,0,0]]'),
        ):
            status, _, body = await ask('POST', f'{symbol}{name}?action=set', {'value': literal})
            assert status == 400 and refusal_code(body) == -1073445879, literal
        assert (await ask('POST', f'{symbol}test_var_num?action=set', {'value': '1.50'}))[0] == 204
        assert '<span class="value">1.5</span>' in (await ask('GET', f'{symbol}test_var_num'))[2]
        assert (
            await ask(
                'POST', '/rw/rapid/symbol/data?action=validate', {'value': '07', 'datatype': 'num'}
            )
        )[0] == 400

    serve(work)


def test_the_pose_of_a_tool_needs_a_tool():
    async def work(emulator, ask):
        where = '/rw/motionsystem/mechunits/ROB_1/robtarget?json=1&'
        module = (
            'MODULE m\n'
            'PERS tooldata pen:=[TRUE,[[0,0,100],[1,0,0,0]],[0.1,[0,0,1],[1,0,0,0],0,0,0]];\n'
            'ENDMODULE\n'
        )
        await ask('PUT', '/fileservice/$TEMP/m.mod', module)
        await ask('POST', '/rw/rapid/tasks/T_ROB1?action=loadmod', {'modulepath': '$TEMP/m.mod'})
        for query in ('tool=none', 'tool=wobj0', 'wobj=none', 'coordinate=Moon'):
            status, _, body = await ask('GET', where + query)
            assert status == 400 and refusal_code(body) == -1073445879, query
        assert (await ask('POST', '/rw/motionsystem/mechunits/ROB_1?action=set', {'tool': 'none'}))[
            0
        ] == 400

        async def pose(query):
            state = json.loads((await ask('GET', where + query))[2])['_embedded']['_state'][0]
            return [float(state[axis]) for axis in 'xyz']

        assert await pose('tool=tool0&wobj=wobj0&coordinate=Base') == pytest.approx(
            [364.354, 0.0, 594.0], abs=1e-3
        )
        assert await pose('tool=pen') == pytest.approx(
            [364.354 + 86.603, 0.0, 594.0 - 50.0], abs=1e-3
        )  # 100 mm along the flange

    serve(work)


# searches


@pytest.mark.parametrize(
    ('pattern', 'name', 'found'),
    [
        ('', 'any', True),
        ('^test_.*num$', 'Test_var_NUM', True),
        ('reg[1-3]', 'reg4', False),
        ('reg[^1-3]', 'reg4', True),
        (r'^\w+\d{2,}$', 'ab12', True),
        (r'^\w+\d{3}$', 'ab12', False),
        ('a|b(c|d)+', 'xbcd', True),
        ('(?:ab){2}', 'abab', True),
        (r'a\.b', 'acb', False),
    ],
)
def test_names_are_found_by_expressions(pattern, name, found):
    assert SymbolPattern(pattern).found_in(name) is found


@pytest.mark.parametrize(
    'pattern', ['(', ')', '[', '*', 'a**', '\\', r'(a)\1', '(((((a)))))', '(?=a)', 'a' * 101]
)
def test_an_expression_that_is_none_is_refused(pattern):
    with pytest.raises(InvalidPattern):
        SymbolPattern(pattern)
