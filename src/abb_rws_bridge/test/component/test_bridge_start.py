"""Settings refused at the start of the node, with the reason in one line."""

import os
import subprocess

import pytest

from rws_testing.bridge_operator import START

CREDENTIALS = {'ABB_RWS_USER': 'u', 'ABB_RWS_PASSWORD': 'p'}


@pytest.mark.parametrize(
    ('host', 'credentials', 'reason'),
    [('192.0.2.1', CREDENTIALS, 'tls:=true'), ('127.0.0.1', {}, 'ABB_RWS_USER')],
)
def test_clear_text_passwords_and_missing_credentials_are_refused(host, credentials, reason):
    environment = {k: v for k, v in os.environ.items() if not k.startswith('ABB_RWS')}
    done = subprocess.run(
        [*START, '-p', f'host:={host}', '-p', 'generation:=2'],
        capture_output=True,
        text=True,
        timeout=20,
        env=environment | credentials,
    )
    assert done.returncode == 2
    assert reason in done.stderr and len(done.stderr.strip().splitlines()) == 1
