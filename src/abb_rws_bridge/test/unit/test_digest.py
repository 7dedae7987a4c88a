"""Digest against the published examples of RFC 2617 and RFC 2069, and nonce counting (T1)."""

import re
import secrets

import pytest

from abb_rws_bridge.credentials import Credentials
from abb_rws_bridge.digest import Digest
from abb_rws_bridge.errors import NotAuthorised

NONCE = 'dcd98b7102dd2f0e8b11d0f600bfb0c093'
REALM = 'testrealm@host.com'


def field(header: str, name: str) -> str:
    return re.search(rf'\b{name}="?([^",]+)', header).group(1)


def test_rfc_2617_example(monkeypatch):
    monkeypatch.setattr(secrets, 'token_hex', lambda _n: '0a4f113b')
    digest = Digest(Credentials('Mufasa', 'Circle Of Life'))
    digest.challenge(
        f'Digest realm="{REALM}", qop="auth,auth-int", nonce="{NONCE}", '
        'opaque="5ccc069c403ebaf9f0171e9517f40e41"'
    )
    header = digest.authorization('GET', '/dir/index.html')
    assert field(header, 'response') == '6629fae49393a05397450978507c4ef1'
    assert 'nc=00000001' in header and field(header, 'opaque') == '5ccc069c403ebaf9f0171e9517f40e41'


def test_rfc_2069_example_without_qop():
    digest = Digest(Credentials('Mufasa', 'CircleOfLife'))
    digest.challenge(
        f'Digest realm="{REALM}", nonce="{NONCE}", opaque="5ccc069c403ebaf9f0171e9517f40e41"'
    )
    header = digest.authorization('GET', '/dir/index.html')
    assert field(header, 'response') == '1949323746fe6a43ef61f9606e7febea'
    assert 'nc=' not in header


def test_the_count_increases_with_each_request_and_restarts_with_a_new_nonce():
    digest = Digest(Credentials('Default User', 'x'))
    assert digest.authorization('GET', '/') is None
    counts = []
    for nonce in ('first', 'second'):
        digest.challenge(f'Digest realm="r", qop="auth", nonce="{nonce}"')
        for _ in range(3):
            header = digest.authorization('POST', '/rw/panel/ctrlstate?action=setctrlstate&json=1')
            counts.append((field(header, 'nonce'), field(header, 'nc')))
    assert counts == [(nonce, f'{n:08x}') for nonce in ('first', 'second') for n in (1, 2, 3)]
    assert field(header, 'uri') == '/rw/panel/ctrlstate?action=setctrlstate&json=1'
    assert 'username="Default User"' in header


@pytest.mark.parametrize(
    'header',
    [
        '',
        'Basic realm="x"',
        'Digest realm="x"',
        'Digest realm="x", nonce="n", algorithm=SHA-512-256',
        'Digest realm="x", nonce="n", qop="auth-int"',
    ],
)
def test_an_unsupported_challenge_is_reported(header):
    with pytest.raises(NotAuthorised):
        Digest(Credentials('u', 'p')).challenge(header)
