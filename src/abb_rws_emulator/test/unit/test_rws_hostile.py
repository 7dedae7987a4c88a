"""Emulated controller under malformed requests: refusals as by a controller, no failures."""

import asyncio
import re
import urllib.parse

import aiohttp
import pytest

from abb_rws_emulator.http import server
from abb_rws_emulator.http.routing import ROUTES
from emulator_testing.plain_client import FORM, START, PlainClient, refusal_code, served, until

pytestmark = pytest.mark.steady_clock

SIGNAL = {'resources': '1', '1': '/rw/iosystem/signals/DO_01;state', '1-p': '2'}


# subscriptions


@pytest.mark.parametrize('generation', [1, 2])
async def test_a_group_ends_with_a_clean_close_and_outlives_a_broken_connection(generation):
    protocol = {1: 'robapi2_subscription', 2: 'rws_subscription'}[generation]
    async with served(generation) as (emulator, ask):
        for _ in range(4):  # more than the limit of two groups: each close removes one
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


async def test_a_group_is_visible_to_its_session_only():
    async with served() as (emulator, ask):
        _, headers, _ = await ask('POST', '/subscription', SIGNAL)
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
            other = PlainClient(emulator.port, http)
            assert (await other('DELETE', '/subscription/1'))[0] == 404
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await http.ws_connect(headers['Location'], protocols=('robapi2_subscription',))
        assert list(emulator.subscriptions.groups[1].priorities) == [SIGNAL['1']]
        assert (await ask('DELETE', '/subscription/1'))[0] == 200


# inputs


@pytest.mark.parametrize(
    'body',
    [b'\xff\xfe', b'value=\xff', b'value=%ff', b'&' * 5000, b'a=1&' * 5000, b'x' * (2 << 20)],
)
@pytest.mark.parametrize(
    'target',
    [
        '/subscription',
        '/rw/rapid/symbol/data/RAPID/T_ROB1/reg1?action=set',
    ],
)
async def test_an_invalid_form_is_refused_with_a_code(target, body):
    async with served() as (emulator, ask):
        status, _, text = await ask('POST', target, body, **FORM)
        assert status in (400, 413) and refusal_code(text) < 0 and emulator.failures == 0


MALFORMED = [
    '',
    '²',
    '9' * 400,
    '1e999',
    '\0',
    '\r\n',
    '%',
    '../..',
    '💥',
    '<&>',
    '[[[[',
    '{9,9}',
    'a' * 1500,
]
FIELDS = re.compile(r"form(?:\.get\(|\[)'([\w-]+)'")


def fields_of(module) -> set[str]:
    with open(module.__file__, encoding='utf-8') as file:
        return set(FIELDS.findall(file.read()))


@pytest.mark.parametrize('malformed', MALFORMED)
@pytest.mark.parametrize('generation', [1, 2])
async def test_every_route_survives_every_input(generation, malformed, caplog):
    """Every route with malformed parts, query and fields."""
    names = set().union(*map(fields_of, server.RESOURCES)) | set(START)
    form = urllib.parse.urlencode(dict.fromkeys(sorted(names), malformed))
    quoted = urllib.parse.quote(malformed, safe='')
    fields = ('resource', 'start', 'order', 'action', 'tool', 'coordinate')
    queries = [f'?{urllib.parse.urlencode(dict.fromkeys(fields, malformed))}']
    queries += [
        f'?json=1&action={action}' for action in ('set', 'start', 'request', 'search-symbols')
    ]
    async with served(generation) as (emulator, ask):
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
                status, _, text = await ask(method, path + query, body, **headers)
                assert status < 500, (method, path[:80], query[:80], text)
        assert emulator.failures == 0


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
async def test_malformed_headers_cause_no_failure(headers):
    async with served() as (emulator, ask):
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


async def test_a_defect_becomes_a_refusal_and_is_logged(monkeypatch, caplog):
    async with served() as (emulator, ask):
        monkeypatch.setattr(emulator.controller, 'stop', lambda: 1 / 0)
        status, _, body = await ask('POST', '/rw/rapid/execution?action=stop', '')
        assert status == 400 and refusal_code(body) == -1073445879 and emulator.failures == 1
        assert 'ZeroDivisionError' in caplog.text
