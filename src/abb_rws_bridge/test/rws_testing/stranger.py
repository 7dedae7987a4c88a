"""A client that is not ours: plain requests with credentials, answers as they come."""

import asyncio
import re

import aiohttp

from soft_arm_sim.rws.server import Emulator, Options
from soft_arm_sim.rws.sessions import REALM, _md5

USER, PASSWORD = 'Default User', 'robotics'
START = {
    'regain': 'continue',
    'execmode': 'continue',
    'cycle': 'once',
    'condition': 'none',
    'stopatbp': 'disabled',
    'alltaskbytsp': 'false',
}


class Stranger:
    """Answers the digest challenge of every request by itself and keeps no cookie unless told."""

    def __init__(self, emulator: Emulator, http: aiohttp.ClientSession):
        self.base, self.http = f'http://127.0.0.1:{emulator.port}', http

    async def __call__(self, method: str, target: str, form=None, **headers):
        async with self.http.request(method, self.base + target, data=form, headers=headers) as first:
            if first.status != 401:
                return first.status, first.headers, await first.text()
            nonce = re.search('nonce="(.*?)"', first.headers['WWW-Authenticate']).group(1)
        answer = _md5(f'{_md5(f"{USER}:{REALM}:{PASSWORD}")}:{nonce}:00000001:c:auth:{_md5(f"{method}:{target}")}')
        headers['Authorization'] = (
            f'Digest username="{USER}", realm="{REALM}", nonce="{nonce}", uri="{target}", qop=auth, nc=00000001, cnonce="c", '
            f'response="{answer}"'
        )
        async with self.http.request(method, self.base + target, data=form, headers=headers) as second:
            return second.status, second.headers, await second.text()


def serve(work, generation: int = 1, keep_cookies: bool = True, **options):
    async def run():
        async with Emulator(Options({USER: PASSWORD}, generation=generation, **options)) as emulator:
            jar = aiohttp.CookieJar(unsafe=True) if keep_cookies else aiohttp.DummyCookieJar()
            auth = (
                {} if generation == 1 else {'Authorization': 'Basic RGVmYXVsdCBVc2VyOnJvYm90aWNz', 'Accept': 'application/hal+json;v=2.0'}
            )
            async with aiohttp.ClientSession(cookie_jar=jar, headers=auth) as http:
                await work(emulator, Stranger(emulator, http))

    asyncio.run(run())
