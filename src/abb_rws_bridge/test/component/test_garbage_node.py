"""Bridge node connected to a controller with malformed responses."""

import itertools
import json
import os

import pytest
from std_srvs.srv import Trigger

from rws_testing.bridge_operator import Operator
from rws_testing.emulator_process import EmulatorProcess
from rws_testing.garbage import GARBAGE, answer
from rws_testing.spoiler import spoiler_thread
from soft_arm_msgs.action import MoveJoints

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


def test_lone_surrogates_are_replaced_before_publication(operator, between):
    sequence = itertools.count(900_000_000)  # a new entry in every read

    def log(_answer: bytes) -> bytes:
        title = f'/rw/elog/0/{next(sequence)}'
        entry = {'_title': title, 'code': '10012', 'title': 'stop \ud800'}
        return answer(json.dumps({'_embedded': {'_state': [entry]}}))

    between.garbage, between.only = log, b'/rw/elog'
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
