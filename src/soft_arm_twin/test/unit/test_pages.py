"""Data and control of well-behaved pages."""

import asyncio
import base64
import struct
import threading
from contextlib import asynccontextmanager

import numpy as np
import pytest

from soft_arm_twin.errors import SceneError
from soft_arm_twin.scene import Scene
from soft_arm_twin.server import twin_server
from soft_arm_twin.server.newest import Taker
from soft_arm_twin.server.serve import serve, serving
from soft_arm_twin.source import Answer, Snapshot
from twin_testing.raw_page import raw_page
from twin_testing.waving_tube import WavingTube


@pytest.fixture
def source():
    return WavingTube()


@pytest.fixture
def url(source):
    with serving(source, port=0) as url:
        yield url


@asynccontextmanager
async def server_task(source):
    """Serve a source in this loop; yield the task and a page."""
    address = asyncio.get_running_loop().create_future()
    server = asyncio.create_task(serve(source, port=0, ready=address.set_result))
    async with raw_page(await address) as page:
        await page.hear(1, start=0)
        yield server, page


async def test_a_page_gets_everything_and_the_scene_before_its_frames(url, source):
    async with raw_page(url, keep=True) as page:
        for kind in (1, 2, 3, 'events'):
            await page.hear(kind, start=0)
    order = list(dict.fromkeys(message.kind for message in page.heard))
    assert order[:2] == ['hello', 'owner']
    assert set(order) == {'hello', 'owner', 'scene', 'panel', 'events', 1, 2, 3}
    assert order.index('scene') < order.index(1)
    first = {message.kind: message.content for message in reversed(page.heard)}
    frames = np.frombuffer(first[1]['payload'], '<f4').reshape(first['scene']['n_frames'], 3, 4)
    assert np.isfinite(frames).all()
    assert 0 <= first[1]['age_s'] < 5
    assert first[2]['payload'].startswith(b'\xff\xd8')
    n = struct.unpack_from('<I', first[3]['payload'])[0]
    assert len(first[3]['payload']) == 4 + n * (12 + 3)
    sent, part = first['scene']['parts'][0], source.scene().parts[0]
    for name, dtype in (
        ('frame_a', '<u2'), ('frame_b', '<u2'), ('share_b', '<f4'),
        ('local_a_m', '<f4'), ('local_b_m', '<f4'), ('triangles', '<u4'),
    ):  # fmt: skip
        array = getattr(part, name)
        decoded = np.frombuffer(base64.b64decode(sent[name]), dtype).reshape(array.shape)
        np.testing.assert_allclose(decoded, array, atol=1e-7)


async def test_events_are_sent_once_and_a_new_page_gets_them_all(url):
    async with raw_page(url) as page:
        await page.hear('events', start=0)
        await page.command('wave', False)
        await page.hear('events')
        async with raw_page(url) as other:
            late = (await other.hear('events', start=0)).content['events']
    mine = [e for m in page.heard if m.kind == 'events' for e in m.content['events']]
    numbers = [event['number'] for event in mine]
    assert numbers == list(range(len(mine))) == [event['number'] for event in late]


async def test_a_new_scene_reaches_pages_before_frames_of_it(url, source):
    before, after = source.scene(), Scene(source.scene().parts, source.scene().n_frames + 1)
    async with raw_page(url, keep=True) as page:
        await page.hear(1, start=0)
        source.scene = lambda: after
        source.snapshot = lambda: Snapshot(0.0, np.zeros((after.n_frames, 3, 4), np.float32))
        new = await page.hear('scene', lambda c: c['n_frames'] == after.n_frames)
        await page.hear(1, lambda c: len(c['payload']) == 48 * after.n_frames)
    for message in page.heard:
        if message.kind == 1:
            scene = after if page.heard.index(message) > page.heard.index(new) else before
            assert len(message.content['payload']) == 48 * scene.n_frames


def test_a_snapshot_that_never_fits_the_scene_is_an_error(source):
    source.snapshot = lambda: Snapshot(0.0, np.zeros((1, 3, 4), np.float32))
    taker = Taker(source)
    taker.tick()  # may be in the middle of a change
    with pytest.raises(SceneError, match='shape'):
        for _ in range(100):
            taker.tick()


async def test_a_number_that_is_not_finite_is_null_for_the_page(url, source):
    source._values['pressure'] = float('nan')
    async with raw_page(url) as page:
        panel = (await page.hear('panel', start=0)).content
    assert [value['value'] for value in panel['values'][:2]] == [None, 1.2]


async def test_a_page_that_lags_gets_fewer_frames_and_the_newest(url):
    async with raw_page(url) as page, raw_page(url) as other:
        page.acknowledges = False
        held = await page.hear(1)
        for _ in range(30):
            await other.hear(1)
        await page.command('wave', False)  # answers do not wait
        assert not [m for m in page.heard if m.kind == 1 and m.at_s > held.at_s]
        start, newest = len(page.heard), other.heard[-1].content.get('number', 0)
        await page.send(type='shown', number=held.content['number'])
        released = await page.hear(1, start=start)
    assert released.content['number'] >= newest


async def test_one_page_has_control_until_it_gives_it_back_or_goes(url, source):
    async with raw_page(url) as first:
        async with raw_page(url) as second:
            await second.hear('owner', lambda c: c['owner'] is None, start=0)
            await first.send(type='take')
            name = (await second.hear('owner', lambda c: c['owner'], start=0)).content
            assert name['owner'] == 'page 1' and not name['you']
            await second.send(type='take')
            refused = (await second.hear('answer', start=0)).content
            assert not refused['accepted'] and 'page 1 has had control' in refused['text']
            assert (await first.command('pressure', 20))['accepted']
            assert 'take control' in (await second.command('pressure', 30))['text']
            await second.send(type='release')  # without control: changes nothing
            assert (await first.command('pressure', 21))['accepted']
            await first.send(type='release')
            await second.hear('owner', lambda c: c['owner'] is None)
            await second.send(type='take')
            assert (await second.command('pressure', 22))['accepted']
        await first.hear('owner', lambda c: c['owner'] is None)  # the second is gone
        await first.send(type='take')
        assert (await first.command('pressure', 23))['accepted']
        assert [a for a in source.asked if a[0] == 'pressure'] == [
            ('pressure', p, True) for p in (20, 21, 22, 23)
        ]
        assert source.releases == 2


async def test_an_owner_that_falls_silent_loses_control(url, source, monkeypatch):
    monkeypatch.setattr(twin_server, 'OWNER_TIMEOUT_S', 0.3)
    async with raw_page(url) as page, raw_page(url) as other:
        await page.hear('panel', start=0)
        await page.send(type='take')
        taken = await other.hear('owner', lambda c: c['owner'], start=0)
        page.acknowledges = False
        await other.hear('owner', lambda c: c['owner'] is None, other.heard.index(taken))
        assert source.releases == 1


async def test_vent_works_from_every_page_even_while_another_has_control(url, source):
    async with raw_page(url) as page, raw_page(url) as owner:
        await owner.send(type='take')
        await page.hear('owner', lambda c: c['owner'], start=0)
        assert (await page.command('vent'))['accepted']
    assert source.asked == [('vent', None, False)]


async def test_a_command_that_takes_long_holds_nothing_up(url, source):
    at_once, done = source.command, threading.Event()

    def command(control, value, owner):
        if control != 'wave':
            return at_once(control, value, owner)

        async def later():
            while not done.is_set():
                await asyncio.sleep(0.01)
            return Answer(True, 'arrived')

        return later()

    source.command = command
    async with raw_page(url) as page:
        await page.hear('panel', start=0)
        for number in range(20):
            await page.send(type='command', id=1000 + number, control='wave', value=True)
        busy = await page.hear('answer', lambda c: not c['accepted'], start=0)
        assert 'under way' in busy.content['text']
        assert (await page.command('vent'))['accepted']  # always
        done.set()
        answer = await page.hear('answer', lambda c: c['id'] == 1000, start=0)
        assert answer.content['text'] == 'arrived'


async def test_pages_are_notified_when_the_server_ends(source):
    async with server_task(source) as (server, page):
        server.cancel()
        assert await page.end() == (1001, 'the twin has ended')
    with pytest.raises(asyncio.CancelledError):
        await server


async def test_an_error_of_the_source_ends_the_server(source):
    def broken():
        raise ZeroDivisionError

    async with server_task(source) as (server, page):
        source.snapshot = broken
        assert (await page.end())[0] == 1001
    with pytest.raises(ZeroDivisionError):
        await server


async def test_no_page_no_work(source):
    asked = []
    source.snapshot = lambda: asked.append(1)
    server = asyncio.create_task(serve(source, port=0))
    await asyncio.sleep(0.2)
    server.cancel()
    assert not asked
