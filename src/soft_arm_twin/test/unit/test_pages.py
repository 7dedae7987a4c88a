"""Data and control of well-behaved pages."""

import asyncio
import base64
import struct
import threading

import numpy as np
import pytest

from soft_arm_twin.bench.raw_page import raw_page
from soft_arm_twin.errors import SceneError
from soft_arm_twin.scene import Scene
from soft_arm_twin.server import twin_server
from soft_arm_twin.server.newest import Taker
from soft_arm_twin.server.serve import serve, serving
from soft_arm_twin.source import Answer, Snapshot
from twin_testing.waving_tube import WavingTube


def with_page(tell, source=None, **options):
    """Result of `tell(page, url)` with one page open on a source."""

    async def run(url):
        async with raw_page(url, keep=True) as page:
            return await tell(page, url)

    with serving(source or WavingTube(), port=0, **options) as url:
        return asyncio.run(run(url))


def test_a_page_gets_everything_and_the_scene_before_its_frames():
    async def tell(page, url):
        for kind in (1, 2, 3, 'events'):
            await page.hear(kind, start=0)
        return page.heard

    heard = with_page(tell)
    order = list(dict.fromkeys(message.kind for message in heard))
    assert order[:2] == ['hello', 'owner']
    assert set(order) == {'hello', 'owner', 'scene', 'panel', 'events', 1, 2, 3}
    assert order.index('scene') < order.index(1)
    first = {message.kind: message.content for message in reversed(heard)}
    n_frames = first['scene']['n_frames']
    frames = np.frombuffer(first[1]['payload'], '<f4').reshape(n_frames, 3, 4)
    assert np.isfinite(frames).all()
    assert 0 <= first[1]['age_s'] < 5
    assert first[2]['payload'].startswith(b'\xff\xd8')
    n = struct.unpack_from('<I', first[3]['payload'])[0]
    assert len(first[3]['payload']) == 4 + n * (12 + 3)


def test_the_drawn_tube_is_the_scenes_tube():
    async def tell(page, url):
        return (await page.hear('scene', start=0)).content

    sent = with_page(tell)['parts'][0]
    part = WavingTube().scene().parts[0]
    for name, dtype in (
        ('frame_a', '<u2'), ('frame_b', '<u2'), ('share_b', '<f4'),
        ('local_a_m', '<f4'), ('local_b_m', '<f4'), ('triangles', '<u4'),
    ):  # fmt: skip
        array = getattr(part, name)
        decoded = np.frombuffer(base64.b64decode(sent[name]), dtype).reshape(array.shape)
        np.testing.assert_allclose(decoded, array, atol=1e-7)


def test_events_are_sent_once_and_a_new_page_gets_them_all():
    async def tell(page, url):
        await page.hear('events', start=0)
        await page.command('wave', False)
        await page.hear('events')
        async with raw_page(url) as other:
            late = (await other.hear('events', start=0)).content['events']
        mine = [e for m in page.heard if m.kind == 'events' for e in m.content['events']]
        return [e['number'] for e in mine], [e['number'] for e in late]

    mine, late = with_page(tell)
    assert mine == list(range(len(mine)))
    assert late == mine


def test_a_new_scene_reaches_pages_before_frames_of_it():
    source = WavingTube()
    before, after = source.scene(), Scene(source.scene().parts, source.scene().n_frames + 1)

    async def tell(page, url):
        await page.hear(1, start=0)
        source.scene = lambda: after
        source.snapshot = lambda: Snapshot(0.0, np.zeros((after.n_frames, 3, 4), np.float32))
        new = await page.hear('scene', lambda c: c['n_frames'] == after.n_frames)
        await page.hear(1, lambda c: len(c['payload']) == 48 * after.n_frames)
        return page.heard, new

    heard, new = with_page(tell, source)
    for message in heard:
        if message.kind == 1:
            scene = after if heard.index(message) > heard.index(new) else before
            assert len(message.content['payload']) == 48 * scene.n_frames


def test_a_snapshot_that_never_fits_the_scene_is_an_error():
    source = WavingTube()
    source.snapshot = lambda: Snapshot(0.0, np.zeros((1, 3, 4), np.float32))
    taker = Taker(source)
    taker.tick()  # may be in the middle of a change
    with pytest.raises(SceneError, match='shape'):
        for _ in range(100):
            taker.tick()


def test_a_number_that_is_not_finite_is_no_number_to_the_page():
    source = WavingTube()
    source._values['pressure'] = float('nan')

    async def tell(page, url):
        return (await page.hear('panel', start=0)).content

    panel = with_page(tell, source)
    assert panel['values'][0]['value'] is None
    assert panel['values'][1]['value'] == 1.2


def test_a_page_that_lags_gets_fewer_frames_and_the_newest():
    async def tell(page, url):
        async with raw_page(url) as other:
            page.acknowledges = False
            held = await page.hear(1)
            for _ in range(30):
                await other.hear(1)
            await page.command('wave', False)  # answers do not wait
            at_most = [m for m in page.heard if m.kind == 1 and m.at_s > held.at_s]
            start, newest = len(page.heard), other.heard[-1].content.get('number', 0)
            await page.send(type='shown', number=held.content['number'])
            released = await page.hear(1, start=start)
            return at_most, newest, released.content

    at_most, newest, released = with_page(tell)
    assert not at_most
    assert released['number'] >= newest


def test_one_page_has_control_until_it_gives_it_back_or_goes():
    source = WavingTube()

    async def tell(first, url):
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
            await second.send(type='release')  # not its own: changes nothing
            assert (await first.command('pressure', 21))['accepted']
            await first.send(type='release')
            await second.hear('owner', lambda c: c['owner'] is None)
            await second.send(type='take')
            assert (await second.command('pressure', 22))['accepted']
        await first.hear('owner', lambda c: c['owner'] is None)  # the second is gone
        await first.send(type='take')
        assert (await first.command('pressure', 23))['accepted']

    with_page(tell, source)
    assert [a for a in source.asked if a[0] == 'pressure'] == [
        ('pressure', p, True) for p in (20, 21, 22, 23)
    ]
    assert source.releases == 3


def test_an_owner_that_falls_silent_loses_control(monkeypatch):
    monkeypatch.setattr(twin_server, 'OWNER_SILENT_S', 0.3)
    source = WavingTube()

    async def tell(page, url):
        async with raw_page(url) as other:
            await page.send(type='take')
            taken = await other.hear('owner', lambda c: c['owner'] == 'page 1', start=0)
            page.acknowledges = False
            await other.hear('owner', lambda c: c['owner'] is None, other.heard.index(taken))
            assert source.releases == 1

    with_page(tell, source)


def test_vent_works_from_every_page_even_while_another_has_control():
    source = WavingTube()

    async def tell(page, url):
        async with raw_page(url) as owner:
            await owner.send(type='take')
            await page.hear('owner', lambda c: c['owner'], start=0)
            return await page.command('vent')

    assert with_page(tell, source)['accepted']
    assert source.asked == [('vent', None, False)]


def test_a_command_that_takes_long_holds_nothing_up():
    source, done = WavingTube(), threading.Event()
    at_once = source.command

    def command(control, value, owner):
        if control != 'wave':
            return at_once(control, value, owner)

        async def later():
            while not done.is_set():
                await asyncio.sleep(0.01)
            return Answer(True, 'arrived')

        return later()

    source.command = command

    async def tell(page, url):
        await page.hear('panel', start=0)
        for number in range(20):
            await page.send(type='command', id=1000 + number, control='wave', value=True)
        busy = await page.hear('answer', lambda c: not c['accepted'], start=0)
        assert 'under way' in busy.content['text']
        assert (await page.command('vent'))['accepted']  # always
        done.set()
        answer = await page.hear('answer', lambda c: c['id'] == 1000, start=0)
        assert answer.content['text'] == 'arrived'

    with_page(tell, source)


def test_pages_are_told_when_the_server_ends():
    async def tell():
        address = asyncio.get_running_loop().create_future()
        server = asyncio.create_task(serve(WavingTube(), port=0, ready=address.set_result))
        async with raw_page(await address) as page:
            await page.hear(1, start=0)
            server.cancel()
            code, reason = await page.end()
        with pytest.raises(asyncio.CancelledError):
            await server
        return code, reason

    threads = threading.active_count()
    assert asyncio.run(tell()) == (1001, 'the twin has ended')
    assert threading.active_count() <= threads


def test_an_error_of_the_source_ends_the_server():
    source = WavingTube()

    def broken():
        raise ZeroDivisionError

    async def tell():
        address = asyncio.get_running_loop().create_future()
        server = asyncio.create_task(serve(source, port=0, ready=address.set_result))
        async with raw_page(await address) as page:
            await page.hear(1, start=0)
            source.snapshot = broken
            assert (await page.end())[0] == 1001
        await server

    with pytest.raises(ZeroDivisionError):
        asyncio.run(tell())


def test_no_page_no_work():
    source = WavingTube()
    asked = []
    source.snapshot = lambda: asked.append(1)

    async def tell():
        server = asyncio.create_task(serve(source, port=0))
        await asyncio.sleep(0.2)
        server.cancel()

    asyncio.run(tell())
    assert not asked
