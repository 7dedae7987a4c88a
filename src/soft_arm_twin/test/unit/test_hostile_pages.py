"""Hostile pages: invalid messages, floods, unread answers. Other pages must not be affected."""

import asyncio
import json
from contextlib import asynccontextmanager, suppress

import numpy as np
import pytest
from aiohttp import WSServerHandshakeError

from soft_arm_twin.server import page as page_module
from soft_arm_twin.server import twin_server
from soft_arm_twin.server.serve import serving
from soft_arm_twin.source import Answer, Cloud
from twin_testing.raw_page import raw_page
from twin_testing.waving_tube import WavingTube

POLICY, TOO_BIG = 1008, 1009


class Observed(WavingTube):
    def command(self, control, value, owner):
        if control == 'name':
            raise ZeroDivisionError('of the source')
        return super().command(control, value, owner)


@pytest.fixture
def source():
    return Observed()


@pytest.fixture
def url(source):
    with serving(source, port=0) as url:
        yield url


@asynccontextmanager
async def hostile_page(url):
    """Open a hostile page next to a second one, which must go on: frames, panel and vent."""
    async with raw_page(url) as victim, raw_page(url) as page:
        before = (await victim.hear('panel', start=0)).content['controls']
        await page.hear('panel', start=0)
        yield page
        await victim.hear(1)
        assert (await victim.command('vent'))['accepted']
        assert (await victim.hear('panel')).content['controls'] == before
        kinds = [m.kind for m in victim.heard]
        assert kinds.count('hello') == kinds.count('scene') == kinds.count('answer') == 1
        assert victim.closed is None


# Values of the right JSON type are tested in test_controls.py.
VALUES = {
    'pressure': ['1e9', '-1e400', 'NaN', 'Infinity', '{"value": 30}', '1' + 400 * '0'],
    'target': ['[0, 0, NaN]', '"000"', '{"x": 0}'],
    'wave': ['1', 'null'],
    'plane': ['"z"'],
    'name': ['"\\u001b[2J"'],
    'vent': ['true', '{"removed": true}'],
}
NAMES = ['', 'x', '__class__', 'command', '_values', 'scene', 'vent ', 'Vent', '\u202e']
COMMAND = '{"type": "command", "id": %s, "control": %s, "value": null}'
NO_MESSAGES = [
    '', 'x', '[]', '{}', 'null', '1', '"take"', '{"type": "take"', '[' * 50_000,
    '{"type": "__class__"}', '{"type": ["take"]}', '{"type": "take", "page": "page 1"}',
    COMMAND % ('"1"', '"vent"'), COMMAND % ('-1', '"vent"'), COMMAND % ('1e300', '"vent"'),
    COMMAND % ('1', '["vent"]'), COMMAND % ('1', '{"__class__": "vent"}'),
    '{"type": "command", "control": "vent"}', '{"type": "shown"}',
    '{"type": "shown", "number": -1}', '{"type": "shown", "number": 4294967295}',
    '{"type": "shown", "number": NaN}', '{"type": "shown", "number": true}',
]  # fmt: skip


async def refused(page, text):
    """Send a text; return the text of the refusal."""
    start = len(page.heard)
    await page.socket.send_str(text)
    answer = (await page.hear('answer', start=start)).content
    assert not answer['accepted']
    assert answer['text'] and '\n' not in answer['text'] and len(answer['text']) < 300
    return answer['text']


async def take_control(page):
    await page.send(type='take')
    await page.hear('owner', lambda c: c['you'], start=0)


async def test_values_that_are_none_are_refused(url, source):
    async with hostile_page(url) as page:
        await take_control(page)
        for control, values in VALUES.items():
            for value in values:
                await refused(page, (COMMAND % (1, f'"{control}"')).replace('null', value))
        await page.send(type='release')
    assert source.asked == [('vent', None, False)]  # the other page's


async def test_names_of_no_control_are_refused(url, source):
    async with hostile_page(url) as page:
        for name in NAMES:
            assert 'not a control' in await refused(page, COMMAND % (1, json.dumps(name)))
    assert len(source.asked) == 1


async def test_what_is_no_message_is_refused(url, source):
    async with hostile_page(url) as page:
        for text in NO_MESSAGES:
            await refused(page, text)
        start = len(page.heard)
        await page.socket.send_bytes(b'{"type": "take"}')
        await page.hear('answer', lambda c: not c['accepted'], start)
    assert len(source.asked) == 1


async def test_a_control_that_is_switched_off_stays_off(url, source):
    async with hostile_page(url) as page:
        assert 'take control' in (await page.command('pressure', 20))['text']
        await take_control(page)
        assert 'no gripper' in (await page.command('grasp'))['text']
        await page.send(type='release')
    assert len(source.asked) == 1


async def test_a_source_that_fails_at_a_command_goes_on(url):
    async with hostile_page(url) as page:
        answer = await page.command('name', 'run 1')
        assert not answer['accepted'] and 'see the twin' in answer['text']


@pytest.mark.parametrize('reads', [True, False])
async def test_a_flood_is_closed_with_a_reason(url, source, reads):
    async with hostile_page(url) as page:
        if not reads:
            page.reads.clear()
        with suppress(ConnectionError):
            for _ in range(10_000):
                await page.socket.send_str(COMMAND % (1, '"wave"'))
        page.reads.set()
        assert await page.end() == (POLICY, 'more than 200 messages in 1 s')
    assert len(source.asked) <= 201


async def test_who_asks_on_without_reading_the_answers_is_closed(url, source, monkeypatch):
    monkeypatch.setattr(page_module, 'MAX_UNSENT_NOTES', 10)
    large = Answer(True, 'a table', 'table.csv', 'x' * 3_000_000)
    at_once = source.command
    source.command = lambda *asked: large if asked[0] == 'pose' else at_once(*asked)
    async with hostile_page(url) as page:
        page.reads.clear()
        with suppress(ConnectionError):
            for number in range(40):
                await page.send(type='command', id=number, control='pose', value=None)
                await asyncio.sleep(0.01)
        page.reads.set()
        assert await page.end() == (POLICY, 'answers are not read')


async def test_a_message_of_1_mib_is_closed(url):
    async with hostile_page(url) as page:
        with suppress(ConnectionError):
            await page.socket.send_str('x' * 2**20)
        assert (await page.end())[0] in (TOO_BIG, 1006)  # 1006: closed before the rest was sent


async def test_who_stops_reading_costs_little_memory_and_then_gets_what_is_new(url, source):
    points_m, colours = np.zeros((300_000, 3)), np.zeros((300_000, 3), np.uint8)  # 4.5 MB
    count = iter(range(10**9))
    source.cloud = lambda: Cloud(next(count), 0.0, points_m, colours)
    async with raw_page(url) as other, raw_page(url) as page:
        await page.hear(1, start=0)
        page.reads.clear()
        before, start = memory_mb(), len(page.heard)
        for _ in range(25):  # clouds of 110 MB
            await other.hear(3)
        assert memory_mb() - before < 60
        newest = max(m.content['number'] for m in other.heard if m.kind == 1)
        page.reads.set()
        await page.hear(1, lambda c: c['number'] > newest, start)
        frames = [m.content for m in page.heard[start:] if m.kind == 1]
    old = [f for f in frames if f['number'] < newest]
    assert len(old) <= 2  # on the way when it stopped


def memory_mb():
    """Resident memory of this process, which is the server's too [MB]."""
    with open('/proc/self/statm') as statm:
        return int(statm.read().split()[1]) * 4096 / 1e6


async def test_pages_are_counted(url, monkeypatch):
    monkeypatch.setattr(twin_server, 'MAX_PAGES', 2)
    async with raw_page(url) as one, raw_page(url):
        await one.hear(1, start=0)
        with pytest.raises(WSServerHandshakeError, match='503'):
            async with raw_page(url):
                pass
        assert (await one.command('vent'))['accepted']
