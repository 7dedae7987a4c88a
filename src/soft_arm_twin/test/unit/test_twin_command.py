"""The command `softarm twin`: its end, and the sockets that it serves at by `--socket FD`."""

import argparse
import asyncio
import os
import signal
import socket

import pytest

from soft_arm_twin.cli import twin
from soft_arm_twin.cli.twin import _inherited
from soft_arm_twin.errors import AddressError


@pytest.fixture
def handlers():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_repeated_signal_does_not_interrupt_the_end(monkeypatch, handlers, number):
    async def serve(*args, **options):
        os.kill(os.getpid(), number)
        await asyncio.sleep(60.0)

    monkeypatch.setattr(twin, 'serve', serve)
    options = argparse.Namespace(host='127.0.0.1', port=0, no_browser=True, allow_host=[])
    assert twin.show(None, options) == 0
    assert signal.getsignal(number) is signal.SIG_IGN
    os.kill(os.getpid(), number)  # as ros2 launch does after Ctrl-C, while the graph is left


def test_a_listener_on_loopback_is_used():
    with (
        socket.create_server(('127.0.0.1', 0)) as opened,
        _inherited(os.dup(opened.fileno())) as listener,
    ):
        assert listener.getsockname() == opened.getsockname()


@pytest.mark.parametrize('where', ['', '127.0.0.2'])
def test_a_listener_that_other_addresses_reach_is_refused(where):
    with socket.create_server((where, 0)) as opened, pytest.raises(AddressError, match='127.0.0.1'):
        _inherited(os.dup(opened.fileno()))


def test_what_does_not_listen_is_refused(tmp_path):
    with socket.socket() as silent, pytest.raises(AddressError, match='does not listen'):
        _inherited(os.dup(silent.fileno()))
    with (tmp_path / 'file').open('w') as file, pytest.raises(AddressError, match='--socket'):
        _inherited(file.fileno())
    with pytest.raises(AddressError, match='--socket 4000'):
        _inherited(4000)
