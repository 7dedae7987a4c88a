"""Check for left-over threads, TLS certificate."""

import subprocess
import threading

import pytest


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    left = [
        thread
        for thread in threading.enumerate()
        if thread not in before and not thread.name.startswith('asyncio_')
    ]
    assert left == []


@pytest.fixture(scope='session')
def self_signed(tmp_path_factory):
    """A certificate for 127.0.0.1 and its key, as files."""
    folder = tmp_path_factory.mktemp('tls')
    certificate, key = folder / 'certificate.pem', folder / 'key.pem'
    options = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2']
    options += ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
    options += ['-keyout', key, '-out', certificate]
    subprocess.run(['openssl', *options], check=True, capture_output=True, timeout=30)
    return certificate, key
