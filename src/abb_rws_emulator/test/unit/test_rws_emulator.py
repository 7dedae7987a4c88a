"""Emulated controller over plain HTTP and WebSocket."""

import json
import re

import aiohttp
import numpy as np
import pytest

from abb_rws_emulator import cli
from abb_rws_emulator.control_port import ControlPort
from abb_rws_emulator.controller.gripper_cell import IN_POSITION_SYMBOL
from abb_rws_emulator.http.sessions import Sessions
from emulator_testing.plain_client import PASSWORD, START, USER, served, until

pytestmark = pytest.mark.steady_clock


async def test_challenge_cookies_and_exact_content_types():
    async with served() as (emulator, ask):
        async with ask.http.get(ask.base + '/rw/system') as bare:
            assert bare.status == 401
            assert (
                'realm="validusers@robapi.abb"' in bare.headers['WWW-Authenticate']
                and 'qop="auth"' in bare.headers['WWW-Authenticate']
            )
        status, headers, _ = await ask('GET', '/rw/system?json=1')
        cookies = headers.getall('Set-Cookie')
        assert (
            status == 200
            and len(cookies) == 2
            and cookies[0].startswith('-http-session-=')
            and cookies[1].startswith('ABBCX=')
        )
        assert headers['Content-Type'] == 'application/json'
        _, headers, text = await ask('GET', '/rw/panel/opmode')
        assert headers['Content-Type'] == 'application/xhtml+xml'
        assert '<li class="pnl-opmode" title="opmode"><span class="opmode">AUTO</span></li>' in text
        assert 'Set-Cookie' not in headers and emulator.sessions.opened == 1


async def test_a_client_without_cookies_opens_sessions_up_to_the_limit():
    async with served(keep_cookies=False) as (emulator, ask):
        statuses = [(await ask('GET', '/rw/system'))[0] for _ in range(72)]
        assert statuses == [200] * 70 + [503] * 2
        emulator.sessions.end_all()
        assert (await ask('GET', '/rw/system'))[0] == 200


def test_sessions_expire_when_idle_and_by_age():
    now, ended = [0.0], []
    sessions = Sessions({USER: PASSWORD}, lambda: now[0], ended.append)
    idle, busy = sessions.open(USER), sessions.open(USER)
    for now[0] in np.arange(0.0, 1500.1, 100.0):
        assert sessions.known(busy) == busy
    assert ended == [idle]
    now[0] = 1500.2
    assert sessions.known(busy) is None and ended == [idle, busy]


async def test_the_requests_of_the_gripper_paper():
    """Paths of its program, and indices in the list of signals."""
    async with served() as (emulator, ask):
        _, _, text = await ask('GET', '/rw/rapid/tasks/T_ROB1/motion?resource=jointtarget&json=1')
        joints = json.loads(text)['_embedded']['_state'][0]
        assert [joints[f'j{i}'] for i in range(1, 7)] == ['0', '0', '0', '0', '30', '0']
        _, _, text = await ask('GET', '/rw/rapid/tasks/T_ROB1/motion?resource=robtarget&json=1')
        pose = json.loads(text)['_embedded']['_state'][0]
        np.testing.assert_allclose(
            [float(pose[k]) for k in ('x', 'y', 'z', 'q1', 'q2', 'q3', 'q4')],
            [364.3538, 0, 594, 0.5, 0, 0.866025, 0],
            atol=1e-3,
        )
        _, _, text = await ask('GET', '/rw/iosystem/signals?json=1')
        names = [signal['name'] for signal in json.loads(text)['_embedded']['_state']]
        assert (
            names[18:23] == ['DO_05', 'DO_04', 'DO_03', 'DO_02', 'DO_01'] and names[37] == 'DI_02'
        )
        # number in a list, string in a single response
        assert json.loads(text)['_embedded']['_state'][0]['lvalue'] == 1
        assert (
            await ask('POST', '/rw/panel/ctrlstate?action=setctrlstate', {'ctrl-state': 'motoron'})
        )[0] == 204
        assert (await ask('POST', '/rw/rapid/execution?action=resetpp', ''))[0] == 204
        target = {'value': '[[0,0,0,0,90,0],[0,0,0,0,0,0]]'}
        assert (
            await ask(
                'POST', '/rw/rapid/symbol/data/RAPID/T_ROB1/J_Orientation_Target?action=set', target
            )
        )[0] == 204
        assert (
            await ask('POST', '/rw/rapid/execution?action=start', START | {'cycle': 'forever'})
        )[0] == 204
        await until(
            lambda: (
                emulator.controller.memory.read(IN_POSITION_SYMBOL) == '1'
                and emulator.controller.robot.arrived
            )
        )
        _, _, text = await ask('GET', '/rw/rapid/symbol/data/RAPID/T_ROB1/in_position')
        assert '<span class="value">1</span>' in text
        assert (
            await ask(
                'POST', '/rw/rapid/execution?action=stop', {'stopmode': 'stop', 'usetsp': 'normal'}
            )
        )[0] == 204
        np.testing.assert_allclose(
            np.rad2deg(emulator.controller.robot.joints_rad), [0, 0, 0, 0, 90, 0], atol=1e-9
        )


@pytest.mark.parametrize(
    ('generation', 'target', 'status', 'code'),
    [
        (1, '/rw/nothing', 404, -1073414146),
        (1, '/rw/rapid/symbol/data/RAPID/T_ROB1/M/x', 400, -1073414146),
        (1, '/rw/iosystem/signals/a/b/c', 404, -1073445866),
        (1, '/fileservice/$HOME/none.mod', 404, -1073414146),
        (2, '/rw/iosystem/signals/a/b/c', 404, -1073445866),
    ],
)
async def test_refusals_have_the_recorded_form(generation, target, status, code):
    async with served(generation) as (_emulator, ask):
        got, headers, text = await ask('GET', target + ('?json=1' if generation == 1 else ''))
        body = json.loads(text)
        reported = body['_embedded']['status'] if generation == 1 else body['status']
        assert (got, reported['code']) == (status, code)
        if generation == 1:
            assert body['_embedded']['_state'] == []
            _, headers, text = await ask('GET', target)
            assert headers['Content-Type'] == 'application/xhtml+xml'
            assert f'<div class="status"><span class="code">{code}</span><span class="msg">' in text


async def test_a_subscription_and_its_limits():
    async with served() as (emulator, ask):
        signal = '/rw/iosystem/signals/DO_01;state'
        form = {'resources': '1', '1': signal, '1-p': '2'}
        status, headers, text = await ask('POST', '/subscription', form)
        poll = headers['Location']
        assert status == 201 and re.fullmatch(r'ws://127\.0\.0\.1:\d+/poll/1', poll)
        assert (
            headers['Content-Type'] == 'application/xhtml+xml'
            and f'<a href="{poll}" rel="self">' in text
        )
        async with ask.http.ws_connect(poll, protocols=('robapi2_subscription',)) as socket:
            emulator.controller.signals.put('DeviceNet/d652/DO_01', 1.0)
            event = await socket.receive_str(timeout=2.0)
            # the path as subscribed
            assert f'<a href="{signal}" rel="self"></a><span class="lvalue">1</span>' in event
        # two groups per session
        assert [(await ask('POST', '/subscription', form))[0] for _ in range(3)] == [201, 201, 400]
        assert (await ask('DELETE', '/subscription/2'))[0] == 200
        assert (await ask('DELETE', '/subscription/2'))[0] == 404
        for bad in (
            {'1': '/rw/nothing', '1-p': '1'},
            {'1': '/rw/panel/opmode', '1-p': '2'},
            {'1': signal, '1-p': '3'},
            {},
        ):
            assert (await ask('POST', '/subscription', {'resources': '1'} | bad))[0] in (400, 404)
        async with ask.http.get(ask.base + '/poll/1') as gone:
            assert gone.status == 404
        async with aiohttp.ClientSession() as stranger, stranger.get(poll) as refused:
            assert refused.status == 403  # no cookie, no credentials


async def test_resources_are_listed_by_number_or_counted():
    async with served() as (emulator, ask):
        wanted = {
            '1': '/rw/panel/ctrlstate',
            '1-p': '1',
            '2': '/rw/panel/opmode;opmode',
            '2-p': '0',
        }
        assert (
            await ask(
                'POST', '/subscription', [('resources', '1'), ('resources', '2'), *wanted.items()]
            )
        )[0] == 201
        assert (await ask('POST', '/subscription', [('resources', '2'), *wanted.items()]))[0] == 201
        assert [
            list(group.priorities.values()) for group in emulator.subscriptions.groups.values()
        ] == [[1, 0], [1, 0]]
        emulator.subscriptions.remove_all()
        # numbered from 0, as by abb_librws
        zero = [('resources', '0'), ('0', '/rw/iosystem/signals/DO_01;state'), ('0-p', '2')]
        assert (await ask('POST', '/subscription', zero))[0] == 201


async def test_control_port_sets_faults_and_buttons_and_refuses_unknown_ones():
    async with served() as (emulator, ask), ControlPort(emulator, '127.0.0.1', 0) as control:
        base = f'http://127.0.0.1:{control.port}'

        async def post(path, **values):
            async with ask.http.post(base + path, json=values) as answer:
                return answer.status, await answer.text()

        assert (await post('/faults', busy=True))[0] == 204
        assert (await ask('GET', '/rw/system'))[0] == 503
        assert (await post('/faults'))[0] == 204 and emulator.faults.busy is False
        assert (await post('/actions/emergency_stop'))[
            0
        ] == 204 and emulator.controller.control_state == 'emergencystop'
        assert (await post('/actions/operation_mode', mode='MANR'))[
            0
        ] == 204 and emulator.controller.operation_mode == 'MANR'
        assert (await post('/actions/place', joints_deg=[1, 2, 3, 4, 5, 6]))[0] == 204
        async with ask.http.get(base + '/state') as state:
            assert (await state.json())['joints_deg'] == [1, 2, 3, 4, 5, 6]
        for path, values, status in [
            ('/faults', {'nope': 1}, 400),
            ('/faults', {'busy': 'yes'}, 400),
            ('/actions/nope', {}, 404),
            ('/actions/place', {'joints_deg': [999, 0, 0, 0, 0, 0]}, 400),
            ('/actions/operation_mode', {'mode': 'X'}, 400),
            ('/actions/steal_mastership', {'domain': 'x'}, 400),
            ('/actions/restart', {'wrong': 1}, 400),
        ]:
            assert (await post(path, **values))[0] == status, path


@pytest.mark.parametrize(
    'argv',
    [
        ['--user', 'x'],
        ['--user', '', '--password', ''],
        ['--tls-key', '/none.pem', '--port', '0'],
        ['--tls-certificate', '/bin/sh', '--port', '0'],
        ['--host', '203.0.113.7', '--port', '0'],
        ['--host', 'a\0b', '--port', '0'],
        ['--port', '0', '--robotware', 'six'],
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(argv, capsys):
    assert cli.main(argv) == 2
    reported = capsys.readouterr().err
    assert len(reported.strip().splitlines()) == 1 and len(reported) <= 300
