"""Plain HTTP client for tests of the emulator: raw responses to authenticated requests."""

import asyncio
import json
import re
import time
from contextlib import asynccontextmanager

import aiohttp
from yarl import URL

from abb_rws_emulator.http.server import Emulator, Options
from abb_rws_emulator.http.sessions import REALM, _md5

USER, PASSWORD = 'Default User', 'robotics'
FORM = {'Content-Type': 'application/x-www-form-urlencoded'}
START = {
    'regain': 'continue',
    'execmode': 'continue',
    'cycle': 'once',
    'condition': 'none',
    'stopatbp': 'disabled',
    'alltaskbytsp': 'false',
}


class PlainClient:
    """Answer the digest challenge of every request; the session may keep cookies."""

    def __init__(self, port: int, http: aiohttp.ClientSession):
        self.base, self.http = f'http://127.0.0.1:{port}', http

    async def __call__(self, method: str, target: str, form=None, **headers):
        url = URL(self.base + target, encoded=True)
        async with self.http.request(method, url, data=form, headers=headers) as first:
            if first.status != 401:
                return first.status, first.headers, await first.text(errors='replace')
            nonce = nonce_of(first.headers['WWW-Authenticate'])
        headers['Authorization'] = authorization(method, target, nonce)
        async with self.http.request(method, url, data=form, headers=headers) as second:
            return second.status, second.headers, await second.text(errors='replace')


def nonce_of(challenge: str) -> str:
    return re.search('nonce="(.*?)"', challenge).group(1)


def refusal_code(body: str) -> int:
    """The controller's code in the body of a refusal, JSON or XHTML."""
    if body.startswith('{'):
        return json.loads(body)['_embedded']['status']['code']
    return int(re.search(r'<span class="code">(-\d+)</span><span class="msg">[^<]', body).group(1))


def authorization(method: str, target: str, nonce: str, count: int = 1) -> str:
    nc = f'{count:08x}'
    answer = _md5(
        f'{_md5(f"{USER}:{REALM}:{PASSWORD}")}:{nonce}:{nc}:c:auth:{_md5(f"{method}:{target}")}'
    )
    return (
        f'Digest username="{USER}", realm="{REALM}", nonce="{nonce}", uri="{target}", qop=auth, '
        f'nc={nc}, cnonce="c", response="{answer}"'
    )


@asynccontextmanager
async def served(generation: int = 1, keep_cookies: bool = True, **options):
    """Running emulator and a client of it."""
    async with Emulator(
        Options({USER: PASSWORD}, generation=generation, **options), clock=time.monotonic
    ) as emulator:
        jar = aiohttp.CookieJar(unsafe=True) if keep_cookies else aiohttp.DummyCookieJar()
        headers = {
            'Authorization': 'Basic RGVmYXVsdCBVc2VyOnJvYm90aWNz',
            'Accept': 'application/hal+json;v=2.0',
        }
        async with aiohttp.ClientSession(
            cookie_jar=jar, headers=headers if generation == 2 else {}
        ) as http:
            yield emulator, PlainClient(emulator.port, http)


async def until(condition, deadline_s: float = 5.0) -> None:
    """Wait for a condition that another task makes true."""
    clock = asyncio.get_running_loop().time
    end_s = clock() + deadline_s
    while not condition():
        assert clock() < end_s, f'not within {deadline_s} s'
        await asyncio.sleep(0.005)
