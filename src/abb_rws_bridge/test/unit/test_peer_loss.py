"""Detection of a killed or frozen controller, which runs in a separate process (T7, T17)."""

import os
import signal
import threading
import time
from contextlib import contextmanager

import pytest

from abb_rws_bridge.controller import Controller
from abb_rws_bridge.dialect import RWS1
from abb_rws_bridge.errors import InternalError, Unreachable
from abb_rws_bridge.link import Link
from abb_rws_bridge.monitor import LOST, UP
from abb_rws_bridge.session import Endpoint
from rws_testing.cell import USER
from rws_testing.emulator_process import EmulatorProcess

pytestmark = [pytest.mark.steady_clock, pytest.mark.watchdogs]

DETECT_S = 1.0


@pytest.fixture
def peer():
    running = EmulatorProcess()
    yield running
    running.end()


@contextmanager
def linked(port: int):
    changed = threading.Condition()

    def on_change(_name):
        with changed:
            changed.notify_all()

    link = Link(lambda: Controller(Endpoint('127.0.0.1', port), USER, RWS1), on_change)
    link.open(60.0)

    def wait(condition, deadline_s):
        began_s = time.monotonic()
        with changed:
            assert changed.wait_for(condition, deadline_s), f'{link.known.link}: {link.known.error}'
        return time.monotonic() - began_s

    try:
        yield link, wait
    finally:
        link.close()


def test_a_frozen_controller_is_reported_within_a_second(peer):
    with linked(peer.port) as (link, wait):
        os.kill(peer.process.pid, signal.SIGSTOP)
        took_s = wait(lambda: link.known.link == LOST, 60.0)
        last = link.known.joints
        os.kill(peer.process.pid, signal.SIGCONT)
        assert last.age_s > 0.5  # the last value is kept, and its age grows
        wait(lambda: link.known.link == UP and link.known.joints.age_s < 0.3, 60.0)
        assert took_s < DETECT_S
        assert peer.state()['sessions_opened'] == 1


def test_a_killed_controller_is_reported_and_found_again(peer):
    with linked(peer.port) as (link, wait):
        peer.end()
        assert wait(lambda: link.known.link == LOST, 60.0) < DETECT_S
        successor = EmulatorProcess(peer.port)
        try:
            wait(lambda: link.known.link == UP and link.known.ready, 60.0)
            assert link.sessions_used == 2
        finally:
            link.close()
            successor.end()


def test_opening_without_a_controller_fails_and_leaves_no_thread(peer):
    peer.end()
    link = Link(
        lambda: Controller(Endpoint('127.0.0.1', peer.port), USER, RWS1), lambda _name: None
    )
    with pytest.raises(Unreachable, match='cannot be reached'):
        link.open(0.5)
    with pytest.raises(Unreachable, match='configure first'):
        link.submit(lambda controller, _monitor: controller.system())
    link.close()


def test_a_defect_in_a_command_reaches_the_caller_as_an_rws_error(peer):
    async def broken(_controller, _monitor):
        raise UnicodeEncodeError('utf-8', '\ud800', 0, 1, 'surrogates not allowed')

    with linked(peer.port) as (link, _), pytest.raises(InternalError, match='UnicodeEncodeError'):
        link.submit(broken).future.result(60.0)
