"""The emulated controller under requests that no client should send.

It answers as a controller does, and goes on.
"""

import asyncio
import re
import urllib.parse

import aiohttp
import pytest

from abb_rws_emulator.http import server
from abb_rws_emulator.http.routing import ROUTES
from emulator_testing.plain_client import FORM, START, PlainClient, refusal_code, serve, until

pytestmark = pytest.mark.steady_clock

SIGNAL = {'resources': '1', '1': '/rw/iosystem/signals/DO_01;state', '1-p': '2'}


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
