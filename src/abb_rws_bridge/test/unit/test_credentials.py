"""Credentials from a file or the environment."""

import pytest

from abb_rws_bridge.credentials import Credentials, load_credentials
from abb_rws_bridge.errors import ConfigurationError


def test_from_the_environment_and_never_by_default():
    assert load_credentials(None, {'ABB_RWS_USER': 'u', 'ABB_RWS_PASSWORD': ''}) == Credentials(
        'u', ''
    )
    for environment in ({}, {'ABB_RWS_USER': 'u'}, {'ABB_RWS_PASSWORD': 'p'}):
        with pytest.raises(ConfigurationError, match='ABB_RWS_USER'):
            load_credentials(None, environment)


def test_from_a_file_readable_by_the_owner_only(tmp_path):
    path = tmp_path / 'credentials.yaml'
    path.write_text('user: Default User\npassword: "1234"\n')
    path.chmod(0o600)
    assert load_credentials(path, {}) == Credentials('Default User', '1234')
    path.chmod(0o644)
    with pytest.raises(ConfigurationError, match='chmod 600'):
        load_credentials(path, {})


@pytest.mark.parametrize(
    'text',
    ['', 'user: u', 'user: u\npassword: 12', 'user: u\npassword: "p"\nmore: 1', ': :', '- u\n- p'],
)
def test_an_invalid_file_is_refused(tmp_path, text):
    path = tmp_path / 'credentials.yaml'
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(ConfigurationError, match=r'credentials\.yaml'):
        load_credentials(path, {})
    with pytest.raises(ConfigurationError, match='missing'):
        load_credentials(tmp_path / 'missing.yaml', {})


def test_the_repr_hides_the_password():
    assert 'geheim' not in repr(Credentials('u', 'geheim'))
