"""The $(...) substitutions of ROS 2 launch files, with the semantics of `ros2 launch`.

A backslash makes the next character literal. One space separates the arguments of a substitution;
an argument with spaces stands in quotes. The value of a substitution is not expanded again.
"""

import math
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ament_index_python.packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
)

from soft_arm_io.command_line import one_line

_KNOWN = 'var, env, find-pkg-share, find-pkg-prefix, dirname, command, equals, not-equals'
_COMMAND_TIMEOUT_S = 300.0  # calibration of a virtual rig on a busy machine
_ON_STDERR = ('fail', 'warn', 'ignore', 'capture')
_NAME = re.compile('[A-Za-z][A-Za-z0-9_-]*')


class SubstitutionError(ValueError):
    """A malformed, unknown or undefined substitution."""


@dataclass(frozen=True)
class Substitution:
    """One $(NAME ARGUMENT ..); each argument is a sequence of texts and substitutions."""

    name: str
    arguments: tuple[tuple['Part', ...], ...]


Part = str | Substitution


@dataclass(frozen=True)
class Scope:
    """Values for substitutions: launch configurations, environment, folder of the launch file."""

    variables: Mapping[str, str]
    environment: Mapping[str, str]
    directory: str

    def expand(self, text: str) -> str:
        """Return a text with every substitution replaced."""
        return self.join(parse(text))

    def join(self, parts: tuple[Part, ...]) -> str:
        """Return the text of parsed parts."""
        return ''.join(part if isinstance(part, str) else self._value(part) for part in parts)

    def _value(self, call: Substitution) -> str:
        arguments = [self.join(argument) for argument in call.arguments]
        match call.name, arguments:
            case 'dirname', []:
                return self.directory
            case 'var', [name, *default] if len(default) < 2:
                if name not in self.variables and not default:
                    declared = ', '.join(sorted(self.variables)) or 'none'
                    raise SubstitutionError(
                        f'launch configuration {name!r} is not declared; declared: {declared}'
                    )
                return self.variables[name] if name in self.variables else default[0]
            case 'env', [name, *default] if len(default) < 2:
                if name not in self.environment and not default:
                    raise SubstitutionError(
                        f'environment variable {name!r} is not set and $(env {name}) gives no '
                        'default'
                    )
                return self.environment[name] if name in self.environment else default[0]
            case 'find-pkg-share', [package]:
                return _of_package(get_package_share_directory, package)
            case 'find-pkg-prefix', [package]:
                return _of_package(get_package_prefix, package)
            case ('equals' | 'not-equals') as name, [one, other] if all(call.arguments):
                return str(_equal(one, other) == (name == 'equals')).lower()
            case 'command', [line, *on_stderr] if len(on_stderr) < 2:
                return _output(line, *on_stderr)
        given = ' '.join([call.name, *map(repr, arguments)])
        raise SubstitutionError(f'unknown substitution $({given}); known: {_KNOWN}')


def parse(text: str) -> tuple[Part, ...]:
    """Return the texts and substitutions of an attribute's value.

    Raises:
        SubstitutionError: If a substitution is malformed.
    """
    return _Parser(text).parts('', quote='')


def words(text: str) -> list[tuple[Part, ...]]:
    """Split a command line into words; a substitution is never split.

    As in `ros2 launch`, quotes enclose plain text only.
    """
    found: list[tuple[Part, ...]] = []
    word: list[Part] = []

    def end() -> None:
        found.append(tuple(word))
        word.clear()

    for part in parse(text) or ('',):
        if not isinstance(part, str):
            word.append(part)
            continue
        try:
            plain = shlex.split(part)
        except ValueError as error:
            raise SubstitutionError(f'{part!r}: {error}; quotes enclose plain text only') from error
        if not plain:
            end()
            continue
        if part[0].isspace() and word:
            end()
        for k, piece in enumerate(plain):
            if k:
                end()
            word.append(piece)
        if part[-1].isspace():
            end()
    if word:
        end()
    return found


class _Parser:
    def __init__(self, text: str):
        self._text, self._at = text, 0

    def parts(self, stops: str, quote: str) -> tuple[Part, ...]:
        """Read until one of the stops; `quote` is the quote around this place, if any."""
        found: list[Part] = []
        plain = ''
        while self._at < len(self._text) and (character := self._text[self._at]) not in stops:
            if self._text.startswith('$(', self._at):
                found += [plain] if plain else []
                plain = ''
                found.append(self._substitution(quote))
                continue
            if character == '\\' and self._at + 1 < len(self._text):
                self._at += 1
            plain += self._text[self._at]
            self._at += 1
        return tuple(found + ([plain] if plain else []))

    def _substitution(self, quote: str) -> Substitution:
        self._at += 2
        name = _NAME.match(self._text, self._at)
        if not name:
            raise self._error('lacks the name of a substitution after $(')
        self._at = name.end()
        arguments = []
        while self._next() == ' ':
            self._at += 1
            arguments.append(self._argument(quote))
        if self._next() != ')':
            raise self._error(
                'lacks a closing parenthesis, or has an argument that needs quotes or one space'
            )
        self._at += 1
        return Substitution(name[0], tuple(arguments))

    def _argument(self, quote: str) -> tuple[Part, ...]:
        mark = self._next()
        if not quote and mark in ('"', "'"):
            self._at += 1
            inside = self.parts(mark, quote=mark)
            if self._next() != mark:
                raise self._error(f'lacks a closing {mark}')
            self._at += 1
            return inside
        found = self.parts(' ()' + (quote or '"\''), quote)
        if not found:
            raise self._error('has an empty argument in a substitution')
        return found

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _error(self, problem: str) -> SubstitutionError:
        return SubstitutionError(f'{self._text!r} {problem}')


def _equal(one: str, other: str) -> bool:
    """Compare as Booleans or numbers if possible, else as text."""
    truths = {'true': True, '1': True, 'false': False, '0': False}
    if one.lower() in truths and other.lower() in truths:
        return truths[one.lower()] == truths[other.lower()]
    try:
        return math.isclose(float(one), float(other))
    except ValueError:
        return one == other


def _output(line: str, on_stderr: str = 'fail') -> str:
    """Return the standard output of a command line."""
    if on_stderr not in _ON_STDERR:
        raise SubstitutionError(
            f'$(command {line!r} {on_stderr!r}): the second argument must be one of '
            f'{", ".join(_ON_STDERR)}'
        )
    stderr = subprocess.STDOUT if on_stderr == 'capture' else subprocess.PIPE
    try:
        result = subprocess.run(
            shlex.split(line),
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            check=True,
            timeout=_COMMAND_TIMEOUT_S,
        )
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or '').strip().splitlines()
        raise SubstitutionError(
            lines[-1] if lines else f'{line}: exit code {error.returncode}'
        ) from error
    except (ValueError, OSError, subprocess.TimeoutExpired) as error:
        raise SubstitutionError(f'$(command {line!r}): {error}') from error
    if result.stderr and on_stderr == 'fail':
        raise SubstitutionError(
            f'$(command {line!r}) wrote to standard error: {result.stderr.strip()}; '
            'give warn as its second argument to continue'
        )
    if result.stderr and on_stderr == 'warn':
        sys.stderr.write(f'[WARNING] [launch]: {one_line(result.stderr)}\n')
    return result.stdout


def _of_package(look_up: Callable[[str], str], package: str) -> str:
    try:
        return look_up(package)
    except (PackageNotFoundError, ValueError) as error:
        raise SubstitutionError(
            f'package {package!r} is not found: source env.sh, or install it'
        ) from error
