"""Emulated controller under load: bounded memory, no blocked event loop, no replays."""

import time

import pytest

from abb_rws_emulator.controller.virtual_controller import VirtualController
from abb_rws_emulator.http import forms, server
from abb_rws_emulator.refusals import Refused
from emulator_testing.plain_client import authorization, nonce_of, served

pytestmark = pytest.mark.steady_clock

MAX_BLOCK_S = 0.2
"""Limit of the CPU time of one request, during which the event loop is blocked [s]."""
FORMS = {
    'too large': b'a=1&' * 2_500_000,
    'many fields': b'a=1&' * 60_000,
    'escaped': b'value=' + b'%41' * 80_000,
    'a long literal': b'value=[' + b'1,' * 120_000,
    'an open literal': b'value=' + b'[' * 250_000,
    'an open string': b'value="' + b'""' * 100_000,
}


@pytest.mark.parametrize('case', FORMS)
def test_no_form_blocks_the_event_loop(case):
    controller, began_s = VirtualController(), time.process_time()
    with pytest.raises(Refused):
        values = forms.parsed(FORMS[case])
        controller.set_symbol('a', 'T_ROB1/test_array', values['value'][0])
    assert time.process_time() - began_s <= MAX_BLOCK_S


async def test_memory_of_requests_is_bounded():
    async with served() as (emulator, ask):
        first = nonce_of((await ask.http.get(ask.base + '/rw/system')).headers['WWW-Authenticate'])
        for _ in range(server.MAX_RECORDED_WRITES + 20):
            assert (await ask('POST', '/rw/rapid/execution?action=stop', ''))[0] == 204
        assert (
            len(emulator.writes) == server.MAX_RECORDED_WRITES
            and emulator.written == server.MAX_RECORDED_WRITES + 20
        )
        for _ in range(20):
            await ask.http.get(ask.base + '/rw/system')
        assert len(emulator.sessions._counts) <= 2 and not any(
            first in str(value) for value in vars(emulator.sessions).values()
        )


async def test_a_digest_response_is_accepted_once():
    async with served(keep_cookies=False) as (emulator, ask):
        target = '/rw/system'

        async def get(answer):
            async with ask.http.get(ask.base + target, headers={'Authorization': answer}) as got:
                return got.status, got.headers.get('WWW-Authenticate', '')

        nonce = nonce_of((await get('Digest x'))[1])
        assert (await get(authorization('GET', target, nonce)))[0] == 200
        status, challenge = await get(authorization('GET', target, nonce))  # a replay
        assert status == 401 and 'stale=TRUE' in challenge
        assert (await get(authorization('GET', target, nonce_of(challenge))))[0] == 200
        for count in (2, 4, 3):  # requests sent at once overtake each other
            assert (await get(authorization('GET', target, nonce, count)))[0] == 200
        for count in (2, 3, 4):
            assert (await get(authorization('GET', target, nonce, count)))[0] == 401
        wrong = authorization('GET', target, nonce, 1001).replace('response="', 'response="0')
        assert 'stale=FALSE' in (await get(wrong))[1]
