"""Bridge node connected to a controller with malformed responses."""

import json
import os

import pytest
from std_srvs.srv import Trigger

from rws_testing.bridge_operator import Operator
from rws_testing.emulator_process import EmulatorProcess
from rws_testing.garbage import GARBAGE, answer
from rws_testing.spoiler import spoiler_thread
from soft_arm_msgs.action import MoveJoints
from soft_arm_msgs.srv import GetRapidData

pytestmark = pytest.mark.watchdogs

SYMBOL = 'T_ROB1/Module1/test_var_num'
RECOVER_S = 5.0


@pytest.fixture(scope='module')
def peer():
    running = EmulatorProcess()
    yield running
    running.end()


@pytest.fixture(scope='module')
def between(peer):
    with spoiler_thread(peer.port) as running:
        yield running


@pytest.fixture(scope='module')
def operator(between):
    running = Operator(f'/spoilt_{os.getpid()}', between.port)
    running.start()
    yield running
    running.close()


@pytest.fixture(autouse=True)
def good_again(between):
    yield
    between.garbage, between.only = None, b''


@pytest.mark.parametrize('name', ['code_list', 'fields_surrogates', '401_not_utf8', 'binary'])
def test_the_node_recovers_from_malformed_responses(operator, peer, between, name):
    between.garbage, before = GARBAGE[name], between.spoilt
    assert not operator.call(Trigger, 'stop').success
    read = operator.call(GetRapidData, 'get_rapid_data', symbol=SYMBOL)
    assert not read.success or read.literal.isprintable()
    operator.wait(lambda: between.spoilt >= before + 8, what='garbage')
    between.garbage = None
    operator.joints.clear()
    operator.wait(
        lambda: operator.joints and operator.age_s(operator.joints[-1].header.stamp) < 0.5,
        RECOVER_S,
    )
    assert operator.call(Trigger, 'stop').success
    assert peer.state()['sessions'] == 1 and peer.state()['groups'] <= 1


def test_lone_surrogates_are_replaced_before_publication(operator, between):
    entry = {'_title': '/rw/elog/0/900000000', 'code': '10012', 'title': 'stop \ud800'}
    between.garbage = answer(json.dumps({'_embedded': {'resources': [entry]}, 'state': [entry]}))
    between.only = b'/rw/elog'
    operator.wait(lambda: any(event.title == 'stop \ufffd' for event in operator.events))


def test_an_unconfirmed_stop_is_reported_on_rosout(operator, peer, between):
    between.garbage, between.only = GARBAGE['redirect'], b'action=stop'
    _, result = operator.begin_slow_move(peer)
    answered = operator.call(Trigger, 'stop')
    assert not answered.success and '302' in answered.message
    operator.wait(lambda: any('stop was not confirmed' in text for text in operator.logs))
    between.garbage = None
    operator.wait(result.done)
    assert result.result().result.error_code != MoveJoints.Result.NONE
    operator.wait(lambda: not peer.state()['running'])
    assert operator.call(Trigger, 'stop').success
