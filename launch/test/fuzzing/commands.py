"""Every command with the arguments of its parser, and argument lists that it must refuse."""

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from soft_arm_io.command_line import CommandLine
from softarm_cli import softarm

GROUPS = {'softarm.commands': (), **{f'softarm.{name}': (name,) for name in softarm._GROUPS}}
NO_NUMBERS = ('nan', '-inf', '1e300', '', 'x', '0x10', '²', '9' * 5000)
NO_PATHS = (
    '',
    '..',
    '/dev/null/x',
    'x' * 5000,
    'é\u202e\U0001f600\n\x1b[31m',
    '\0',
    '/proc/self/mem',
)
NO_ROBOTS = (*NO_PATHS, '/dev/null', 'TWO_MODULE_ARM', '../robots/two_module_arm', __file__)
NO_RIGS = ('', '..', '/', 'virtual/', 'moon', '../virtual', 'x' * 5000, '\0', 'VIRTUAL')


@dataclass(frozen=True)
class Command:
    """A command or subcommand: its words after `softarm`, and the arguments that it knows."""

    words: tuple[str, ...]
    arguments: tuple[argparse.Action, ...]


class _Seen(Exception):  # noqa: N818
    pass


def commands() -> list[Command]:
    """All of them."""
    return [
        found
        for group, words in GROUPS.items()
        for point in sorted(entry_points(group=group))
        for found in _of(point, words)
    ]


def _of(point, words: tuple[str, ...]) -> Iterator[Command]:
    seen = []

    def look(self, *_args, **_more):
        seen.append(self)
        raise _Seen

    original, CommandLine.parse_known_args = CommandLine.parse_known_args, look
    try:
        point.load()([])
    except _Seen:
        yield from _below(seen[0], (*words, point.name))
    finally:
        CommandLine.parse_known_args = original


def _below(parser: CommandLine, words: tuple[str, ...]) -> Iterator[Command]:
    nested = [
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    ]
    yield Command(
        words,
        tuple(
            a
            for a in parser._actions
            if not isinstance(a, (argparse._HelpAction, argparse._SubParsersAction))
        ),
    )
    for action in nested:
        for name, child in action.choices.items():
            yield from _below(child, (*words, name))


def refused(command: Command, rng: random.Random) -> list[str]:
    """Arguments of which the command must refuse one; the others are as good as they can be."""
    given = _good(command.arguments)
    bad = rng.choice([_unknown, _cut, *[_bad_value] * 6])(command, given, rng)
    return [*command.words, *bad]


def _good(arguments: tuple[argparse.Action, ...]) -> dict[argparse.Action, list[str]]:
    """Values of required arguments, of the right kind; the only paths are this file and folder."""
    return {
        a: [_good_value(a)] * _count(a)
        for a in arguments
        if a.required or not a.option_strings and a.nargs not in ('?', '*')
    }


def _good_value(argument: argparse.Action) -> str:
    if argument.choices:
        return str(next(iter(argument.choices)))
    for value in (
        '1',
        '0.01',
        __file__,
        str(Path(__file__).parent),
        'nowhere_yet.png',
        'nowhere_yet',
    ):
        try:
            (argument.type or str)(value)
        except (argparse.ArgumentTypeError, ValueError):
            continue
        return value
    return '1'


def _count(argument: argparse.Action) -> int:
    return argument.nargs if isinstance(argument.nargs, int) else 1


def _words(given: dict[argparse.Action, list[str]]) -> list[str]:
    options = [
        word
        for a, values in given.items()
        if a.option_strings
        for word in (a.option_strings[-1], *values)
    ]
    return [
        *(word for a, values in given.items() if not a.option_strings for word in values),
        *options,
    ]


def _unknown(command: Command, given, rng) -> list[str]:
    return [
        *_words(given),
        rng.choice(('--nothing', '-Z', '--' + 'x' * 5000, '--é', '--\n', '--robott=1')),
    ]


def _cut(command: Command, given, rng) -> list[str]:
    """Without a value that belongs to an option, or without one that is required."""
    lacking = [a for a in command.arguments if a.option_strings and a.nargs not in (0, '?', '*')]
    if not lacking:
        return _unknown(command, given, rng)
    cut = rng.choice(lacking)
    return [*_words({a: v for a, v in given.items() if a is not cut}), cut.option_strings[-1]]


def _bad_value(command: Command, given, rng) -> list[str]:
    bad = [(a, values) for a in command.arguments for values in [_bad_values(a)] if values]
    if not bad:
        return _unknown(command, given, rng)
    argument, values = rng.choice(bad)
    return _words(given | {argument: [rng.choice(values)] * _count(argument)})


def _bad_values(argument: argparse.Action) -> tuple[str, ...]:
    if argument.dest in ('robot', 'rig') and argument.option_strings:
        return NO_ROBOTS if argument.dest == 'robot' else NO_RIGS
    if argument.choices:
        return 'x', '', 'x' * 5000, '\n', 'é'
    if argument.type is None or argument.nargs == 0:
        return ()

    def taken(value: str) -> bool:
        try:
            argument.type(value)
        except (argparse.ArgumentTypeError, ValueError, TypeError):
            return False
        return True

    return tuple(value for value in (*NO_NUMBERS, *NO_PATHS) if not taken(value) and value != '--')
