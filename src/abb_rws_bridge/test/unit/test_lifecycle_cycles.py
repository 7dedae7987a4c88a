"""Open and close with a fault in each cycle: nothing is left in the process or controller (T16)."""

import gc
import os
import threading
import time

import pytest

from abb_rws_bridge.controller import Controller
from abb_rws_bridge.dialect import RWS1, RWS2
from abb_rws_bridge.errors import RwsError
from abb_rws_bridge.link import Link
from abb_rws_bridge.monitor import UP
from abb_rws_bridge.session import Endpoint
from rws_testing.cell import USER
from rws_testing.emulator_process import EmulatorProcess

pytestmark = [pytest.mark.steady_clock, pytest.mark.watchdogs]

CLOSE_S = 3.0
FAULTS = [
    ('faults', {}),
    ('faults', {'silent': True}),
    ('faults', {'busy': True}),
    ('faults', {'html_500': True}),
    ('faults', {'stall': True}),
    ('faults', {'truncate': True}),
    ('faults', {'latency_s': 0.15}),
    ('expire_sessions', {}),
    ('lose_registrations', {}),
    ('close_websockets', {}),
    ('restart', {'down_s': 0.05, 'boot_s': 0.05}),
    ('emergency_stop', {'pressed': True}),
]


def held() -> tuple[int, int, int]:
    """Sockets, other open files and threads."""
    gc.collect()
    names = [
        os.readlink(f'/proc/self/fd/{fd}')
        for fd in os.listdir('/proc/self/fd')
        if os.path.exists(f'/proc/self/fd/{fd}')
    ]
    sockets = sum('socket:' in name for name in names)
    return sockets, len(names) - sockets, threading.active_count()


@pytest.mark.parametrize(('generation', 'dialect'), [(1, RWS1), (2, RWS2)])
def test_cycles_with_a_fault_in_each_leave_nothing(generation, dialect):
    peer = EmulatorProcess(0, '--generation', str(generation))
    endpoint = Endpoint('127.0.0.1', peer.port, timeout_s=0.3, interval_s=0.005)
    changed = threading.Condition()

    def on_change(_name):
        with changed:
            changed.notify_all()

    link, slowest_s = Link(lambda: Controller(endpoint, USER, dialect), on_change, ping_s=0.5), 0.0
    try:
        link.open(60.0)
        link.close()
        before = held()
        for cycle, (kind, values) in enumerate(FAULTS, start=generation):
            link.open(60.0)
            (peer.spoil if kind == 'faults' else lambda kind=kind, **v: peer.act(kind, **v))(
                **values
            )
            _command(link)
            if cycle % 2:  # the other links are closed while the fault lasts
                peer.spoil()
                with changed:
                    assert changed.wait_for(
                        lambda: link.known.link == UP and link.known.ready, 60.0
                    ), (kind, values, link.known.error)
            began_s = time.monotonic()
            link.close()
            slowest_s = max(slowest_s, time.monotonic() - began_s)
            peer.spoil()
            peer.act('emergency_stop', pressed=False)
            assert peer.state()['sessions'] <= 1, (kind, values)
            peer.act('expire_sessions')  # sessions whose logout got no response
        assert held() == before
        state = peer.state()
        assert (state['groups'], state['sockets'], set(state['masters'].values())) == (0, 0, {None})
        assert slowest_s < CLOSE_S
    finally:
        link.close()
        peer.end()


def _command(link: Link) -> None:
    """Send a command, which may be refused but must not hang."""
    try:
        link.submit(lambda controller, _monitor: controller.set_signal('DO_01', 1)).future.result(
            60.0
        )
    except RwsError as error:
        assert str(error)
