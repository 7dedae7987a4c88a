"""The controller dies, freezes or comes back, as a process of its own: T7, T16, T17.

Detection times are asserted.
"""

import os
import signal
import threading
import time
from contextlib import contextmanager

import pytest

from abb_rws_bridge.controller import Controller
from abb_rws_bridge.errors import InternalError, RwsError, Unreachable
from abb_rws_bridge.link import Link
from abb_rws_bridge.monitor import LOST, UP, Monitor
from abb_rws_bridge.rws1 import RWS1
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


def open_sockets() -> int:
    return sum(
        'socket:' in os.readlink(f'/proc/self/fd/{fd}')
        for fd in os.listdir('/proc/self/fd')
        if os.path.exists(f'/proc/self/fd/{fd}')
    )


def test_a_frozen_controller_is_reported_within_a_second_and_its_values_grow_old(peer):
    with linked(peer.port) as (link, wait):
        os.kill(peer.process.pid, signal.SIGSTOP)
        took_s = wait(lambda: link.known.link == LOST, 60.0)
        last = link.known.joints
        os.kill(peer.process.pid, signal.SIGCONT)
        assert last.age_s > 0.5  # what was told before is still there, and says how old it is
        wait(lambda: link.known.link == UP and link.known.joints.age_s < 0.3, 60.0)
        assert took_s < DETECT_S
        assert peer.state()['sessions_opened'] == 1


def test_a_killed_controller_is_reported_at_once_and_found_again_when_it_is_back(peer):
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


def test_opening_and_closing_leaves_nothing_here_or_there(peer):
    sockets, threads = open_sockets(), threading.active_count()
    for _ in range(5):
        with linked(peer.port) as (link, _):
            assert (
                link.submit(lambda controller, _monitor: controller.system())
                .future.result(60.0)
                .value.name
            )
    assert (open_sockets(), threading.active_count()) == (sockets, threads)
    state = peer.state()
    assert (state['sessions'], state['groups'], state['sockets']) == (0, 0, 0)
    assert state['sessions_opened'] == 5


def test_opening_towards_nobody_says_so_and_leaves_no_thread(peer):
    peer.end()
    link = Link(
        lambda: Controller(Endpoint('127.0.0.1', peer.port), USER, RWS1), lambda _name: None
    )
    with pytest.raises(Unreachable, match='cannot be reached'):
        link.open(0.5)
    with pytest.raises(Unreachable, match='configure first'):
        link.submit(lambda controller, _monitor: controller.system())
    link.close()


def test_joint_angles_come_no_faster_than_is_allowed_and_are_as_old_as_they_say(peer):
    with linked(peer.port) as (link, wait):
        began, before_s = len(link.known.joint_ages_s), time.monotonic()
        wait(lambda: len(link.known.joint_ages_s) - began >= 30, 60.0)
        rate_hz = 30 / (time.monotonic() - before_s)
        endpoint = Endpoint('127.0.0.1', peer.port)
        assert rate_hz < 1.1 / endpoint.interval_s  # 12 Hz when nobody else uses the machine
        assert min(link.known.joint_ages_s[began:]) > 0.9 * endpoint.interval_s


def test_an_error_in_the_thread_reaches_the_caller(peer):
    with (
        linked(peer.port) as (link, _),
        pytest.raises(RwsError, match='no RAPID symbol|name of a RAPID symbol'),
    ):
        link.submit(lambda controller, _monitor: controller.symbol('?')).future.result(60.0)


def test_a_fault_of_our_own_does_not_look_like_a_link_that_stands(peer, monkeypatch):
    def broken(_self, _name, _before, _now):
        raise ZeroDivisionError

    with linked(peer.port) as (link, wait):
        monkeypatch.setattr(Monitor, '_check_announced', broken)
        wait(lambda: link.known.link == LOST and 'ZeroDivisionError' in link.known.error, 60.0)
        monkeypatch.undo()
        wait(lambda: link.known.link == UP and link.known.joints.age_s < 0.3, 60.0)


def test_a_defect_in_a_command_reaches_the_caller_as_an_rws_error(peer):
    async def broken(_controller, _monitor):
        raise UnicodeEncodeError('utf-8', '\ud800', 0, 1, 'surrogates not allowed')

    with linked(peer.port) as (link, _), pytest.raises(InternalError, match='UnicodeEncodeError'):
        link.submit(broken).future.result(60.0)
