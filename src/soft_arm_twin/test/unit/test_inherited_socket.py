"""`softarm twin --socket FD` serves only at a socket that listens on this machine alone."""

import os
import socket

import pytest

from soft_arm_twin.cli.twin import _inherited
from soft_arm_twin.errors import AddressError


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
