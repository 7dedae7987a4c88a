"""User and password of a controller, from the environment or a file, without default."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from abb_rws_bridge.errors import ConfigurationError
from soft_arm_io.yaml_file import YamlFileError, read_yaml

USER_VARIABLE, PASSWORD_VARIABLE = 'ABB_RWS_USER', 'ABB_RWS_PASSWORD'


@dataclass(frozen=True)
class Credentials:
    """User and password; the repr hides the password."""

    user: str
    password: str = field(repr=False)


def load_credentials(
    path: str | Path | None = None, environment: Mapping[str, str] = os.environ
) -> Credentials:
    """Read credentials from a YAML file (keys `user`, `password`), or else from the environment.

    Raises:
        ConfigurationError: If they are missing, or the file is readable by others.
    """
    if path:
        return _from_file(Path(path))
    user, password = environment.get(USER_VARIABLE), environment.get(PASSWORD_VARIABLE)
    if not user or password is None:
        raise ConfigurationError(
            f'no credentials: set {USER_VARIABLE} and {PASSWORD_VARIABLE}, or name a credentials '
            'file'
        )
    return Credentials(user, password)


def _from_file(path: Path) -> Credentials:
    try:
        mode = path.stat().st_mode
        values = read_yaml(path)
    except OSError as error:
        raise ConfigurationError(f'credentials file {path}: {error.strerror}') from error
    except YamlFileError as error:
        raise ConfigurationError(
            f'credentials file {path}: {error}; write the lines "user: ..." and "password: ..."'
        ) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigurationError(
            f'credentials file {path} has mode {stat.S_IMODE(mode):04o}: others can read it; '
            'chmod 600 it'
        )
    if (
        not isinstance(values, dict)
        or set(values) != {'user', 'password'}
        or not all(isinstance(v, str) for v in values.values())
    ):
        raise ConfigurationError(
            f'credentials file {path} must hold exactly the texts user and password'
        )
    return Credentials(values['user'], values['password'])
