"""The $(...) substitutions of ROS 2 launch files."""

import re
import shlex
import subprocess
from collections.abc import Callable

from ament_index_python.packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
)

_KNOWN = 'var, env, find-pkg-share, find-pkg-prefix, dirname, command, equals, not-equals'
_COMMAND_S = 300.0  # of a command: calibrating a virtual rig on a busy machine


class SubstitutionError(ValueError):
    """A substitution that is not known or has no value."""


def expand(
    text: str, variables: dict[str, str], environment: dict[str, str], directory: str
) -> str:
    """Return a text with every $(...) replaced, innermost first.

    Args:
        text: Value of an attribute.
        variables: Launch configurations, for $(var NAME).
        environment: Environment variables, for $(env NAME [DEFAULT]).
        directory: Folder of the launch file, for $(dirname).
    """
    while (end := text.find(')', text.find('$('))) >= 0 and (
        start := text.rfind('$(', 0, end)
    ) >= 0:
        text = (
            text[:start]
            + _value(text[start + 2 : end], variables, environment, directory)
            + text[end + 1 :]
        )
    if '$(' in text:
        raise SubstitutionError(f'{text!r} lacks a closing parenthesis')
    return text


def split(text: str) -> list[str]:
    """Split a command line into words as a shell does, but keep each $(...) whole."""
    kept: list[str] = []
    plain, depth, start = '', 0, 0
    for i, character in enumerate(text):
        if text.startswith('$(', i):
            start = i if depth == 0 else start
            depth += 1
        if depth == 0:
            plain += character
        elif character == ')':
            depth -= 1
            if depth == 0:
                plain += f'\0{len(kept)}\0'
                kept.append(text[start : i + 1])
    if depth:
        raise SubstitutionError(f'{text!r} lacks a closing parenthesis')
    return [
        re.sub('\0(\\d+)\0', lambda match: kept[int(match[1])], word) for word in shlex.split(plain)
    ]


def _value(
    inside: str, variables: dict[str, str], environment: dict[str, str], directory: str
) -> str:
    kind, *arguments = inside.split(None, 2) or ['']
    match kind, arguments:
        case 'dirname', []:
            return directory
        case 'var', [name]:
            if name not in variables:
                declared = ', '.join(sorted(variables)) or 'none'
                raise SubstitutionError(
                    f'launch configuration {name!r} is not declared; declared: {declared}'
                )
            return variables[name]
        case 'env', [name, *default]:
            if name not in environment and not default:
                raise SubstitutionError(
                    f'environment variable {name!r} is not set and $(env {name}) gives no default'
                )
            return environment.get(name, default[0].strip('\'"') if default else '')
        case 'find-pkg-share', [package]:
            return _of_package(get_package_share_directory, package)
        case 'find-pkg-prefix', [package]:
            return _of_package(get_package_prefix, package)
        case 'equals', [one, other]:
            return str(one == other).lower()
        case 'not-equals', [one, other]:
            return str(one != other).lower()
        case 'command', [_, *_]:
            return _output(inside.removeprefix('command'))
    raise SubstitutionError(f'unknown substitution $({inside}); known: {_KNOWN}')


def _output(quoted: str) -> str:
    """Return what a command line, given as one quoted word, writes to standard output."""
    try:
        [line] = shlex.split(quoted)
        result = subprocess.run(
            shlex.split(line), capture_output=True, text=True, check=True, timeout=_COMMAND_S
        )
    except subprocess.CalledProcessError as error:
        raise SubstitutionError(
            (error.stderr.strip().splitlines() or [f'{line}: exit code {error.returncode}'])[-1]
        ) from error
    except (ValueError, OSError, subprocess.TimeoutExpired) as error:
        raise SubstitutionError(f'$(command{quoted}): {error}') from error
    return result.stdout


def _of_package(look_up: Callable[[str], str], package: str) -> str:
    try:
        return look_up(package)
    except (PackageNotFoundError, ValueError) as error:
        raise SubstitutionError(
            f'package {package!r} is not found: source env.sh, or install it'
        ) from error
