"""The end of the command `softarm twin`."""

import argparse
import asyncio
import os
import signal

import pytest

from soft_arm_twin.cli import twin


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
