"""Settings refused at the start of the node, with the reason in one line."""

import os
import subprocess

from rws_testing.bridge_operator import START


def test_a_password_in_clear_text_is_refused():
    done = subprocess.run(
        [*START, '-p', 'host:=192.0.2.1', '-p', 'generation:=2'],
        capture_output=True,
        text=True,
        timeout=20,
        env=os.environ | {'ABB_RWS_USER': 'u', 'ABB_RWS_PASSWORD': 'p'},
    )
    assert done.returncode == 2
    assert 'tls:=true' in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_missing_credentials_are_refused():
    environment = {k: v for k, v in os.environ.items() if not k.startswith('ABB_RWS')}
    done = subprocess.run(
        [*START, '-p', 'host:=127.0.0.1'],
        capture_output=True,
        text=True,
        timeout=20,
        env=environment,
    )
    assert done.returncode == 2
    assert 'ABB_RWS_USER' in done.stderr and len(done.stderr.strip().splitlines()) == 1
