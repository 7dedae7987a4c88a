"""Access control of the server, by raw requests."""

import asyncio
import http.client
import socket
from urllib.parse import urlsplit

import pytest

from soft_arm_twin.errors import AddressError
from soft_arm_twin.server import serve as module
from soft_arm_twin.server.access import token_for
from soft_arm_twin.server.serve import serve, serving
from twin_testing.raw_page import raw_page
from twin_testing.waving_tube import WavingTube

TOKEN = 'a-token-that-was-printed'


@pytest.fixture(scope='module', autouse=True)
def page(tmp_path_factory):
    """A page of one file, with a secret file outside of its folder."""
    folder = tmp_path_factory.mktemp('twin') / 'web'
    folder.mkdir()
    (folder / 'index.html').write_text('the page')
    (folder.parent / 'secret.txt').write_text('the secret')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, 'PAGE', folder)
        yield


@pytest.fixture(scope='module')
def url():
    with serving(WavingTube(), port=0) as url:
        yield url


@pytest.fixture(scope='module')
def guarded():
    with serving(WavingTube(), port=0, token=TOKEN) as url:
        yield url


def ask(url, path='/', method='GET', **headers):
    """Status, headers and body of an answer; `Host` is as given, even if there is none."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
    connection.putrequest(method, path, skip_host=True)
    headers = {'Host': address.netloc} | {k.replace('_', '-'): v for k, v in headers.items()}
    for name, value in headers.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read().decode(errors='replace')


def upgrade(url, **headers):
    """Status of an attempt to open the socket."""
    key = {'Sec_WebSocket_Key': 'dGhlIHNhbXBsZSBub25jZQ==', 'Sec_WebSocket_Version': '13'}
    return ask(url, '/socket', Connection='Upgrade', Upgrade='websocket', **key, **headers)[0]


def origin(url):
    address = urlsplit(url)
    return f'{address.scheme}://{address.netloc}'


def test_the_page_of_the_server_itself_is_let_in(url):
    port = urlsplit(url).port
    assert upgrade(url, Origin=origin(url)) == 101
    assert upgrade(url, Origin=f'http://localhost:{port}', Host=f'localhost:{port}') == 101


@pytest.mark.parametrize(
    'given', [None, '', 'null', 'https://{own}', 'http://{own}.evil.example', 'http://evil.{own}']
)
def test_another_origin_opens_no_socket(url, given):
    own = urlsplit(url).netloc
    assert upgrade(url, Origin=given and given.format(own=own)) == 403


@pytest.mark.parametrize('host', ['evil.example', 'evil.example:{port}', '127.0.0.1:1', '', None])
def test_a_name_that_was_bound_to_our_address_is_refused(url, host):
    host = host and host.format(port=urlsplit(url).port)
    assert ask(url, Host=host)[0] in (400, 403)
    assert upgrade(url, Host=host, Origin=f'http://{host}') in (400, 403)


def test_the_address_of_a_forwarded_port_is_let_in_where_it_is_named(url):
    status, _, text = ask(url, Host='localhost:9000')
    assert status == 403 and '--allow-host localhost:9000' in text
    with serving(WavingTube(), port=0, further_hosts=['localhost:9000']) as forwarded:
        assert ask(forwarded, Host='localhost:9000')[0] == 200
        assert upgrade(forwarded, Host='localhost:9000', Origin='http://localhost:9000') == 101
        assert upgrade(forwarded, Host='localhost:9000', Origin='http://evil.example') == 403
        assert ask(forwarded, Host='localhost:9001')[0] == 403


@pytest.mark.parametrize('method', ['POST', 'OPTIONS', 'HEAD'])
def test_nothing_but_get(url, method):
    assert ask(url, method=method)[0] == 405


@pytest.mark.parametrize(
    'path',
    ['/../secret.txt', '/%2e%2e/secret.txt', '/..%2fsecret.txt', '//etc/passwd', '/secret.txt'],
)
def test_only_files_of_the_page_are_served(url, path):
    status, _, body = ask(url, path)
    assert status in (403, 404)
    assert 'secret' not in body
    assert ask(url, '/index.html')[2] == ask(url, '/')[2] == 'the page'


def test_the_browser_is_told_to_load_nothing_from_elsewhere(url):
    for path in ('/', '/missing'):
        policy = ask(url, path)[1]['Content-Security-Policy']
        assert policy.startswith("default-src 'self';")
        assert 'unsafe' not in policy
        assert '*' not in policy


@pytest.mark.parametrize('cookie', [None, 'soft_arm_twin_{port}=wrong', 'token=' + TOKEN])
def test_without_the_token_nothing_is_served(guarded, cookie):
    cookie = cookie and cookie.format(port=urlsplit(guarded).port)
    assert upgrade(guarded, Origin=origin(guarded), Cookie=cookie) == 403
    for path in ('/', '/index.html', '/?token=wrong', '/?token=', f'/socket?token={TOKEN}'):
        assert ask(guarded, path, Cookie=cookie)[0] == 403


async def test_the_printed_address_opens_the_page(guarded):
    status, headers, _ = ask(guarded, '/?token=' + TOKEN)
    assert (status, headers['Location']) == (303, '/')
    assert {'HttpOnly', 'SameSite=Strict'} <= set(headers['Set-Cookie'].split('; '))
    cookie = headers['Set-Cookie'].partition(';')[0]
    assert ask(guarded, Cookie=cookie)[0] == 200
    assert upgrade(guarded, Origin=origin(guarded), Cookie=cookie) == 101
    assert upgrade(guarded, Origin='http://evil.example', Cookie=cookie) == 403
    async with raw_page(guarded) as page:
        assert (await page.hear('hello', start=0)).content['title'] == 'Waving tube'


def test_an_address_that_others_reach_needs_a_token():
    assert token_for('192.168.1.5', None) != token_for('192.168.1.5', None)
    assert len(token_for('fe80::1', None)) >= 32
    assert token_for('127.0.0.1', None) is token_for('localhost', None) is None
    assert token_for('127.0.0.1', 'given') == 'given'


@pytest.mark.parametrize(
    ('host', 'port', 'why'),
    [
        ('0.0.0.0', 0, 'one of them'),
        ('::', 0, 'one of them'),
        ('example.org', 0, 'IP address'),
        ('192.0.2.1', 0, 'cannot listen'),
        ('127.0.0.1', 70000, 'port 70000'),
    ],
)
async def test_an_address_that_is_none_is_refused_in_one_line(host, port, why):
    with pytest.raises(AddressError, match=why) as refused:
        await asyncio.wait_for(serve(WavingTube(), host, port), 10)
    assert '\n' not in str(refused.value)


def test_a_busy_port_is_an_error():
    with socket.create_server(('127.0.0.1', 0)) as other:
        port = other.getsockname()[1]
        taken = f'port {port} of 127.0.0.1 is taken'
        with pytest.raises(AddressError, match=taken), serving(WavingTube(), port=port):
            pass
