"""Parser of every `softarm` command: bad input is one line on standard error and exit code 2.

Files and numbers are checked while the line is parsed, before a command imports or computes
anything.
"""

import argparse
import datetime
import math
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from soft_arm_io.errors import InputError

LINE_LIMIT, WORD_LIMIT = 300, 60  # characters
MAX_SEED = 2**32 - 1


def one_line(text: object) -> str:
    """Return a text as one printable line of at most `LINE_LIMIT` characters.

    The middle of long words, and of a line that is still too long, is left out.
    """
    words = ''.join(c if c.isprintable() else ' ' for c in str(text)).split()
    line = ' '.join(w if len(w) <= WORD_LIMIT else f'{w[:40]}..{w[-10:]}' for w in words)
    return line if len(line) <= LINE_LIMIT else f'{line[: LINE_LIMIT - 104]} .. {line[-100:]}'


def refuse(who: str, why: object) -> int:
    """Tell standard error in one line; returns exit code 2."""
    sys.stderr.write(one_line(f'{who}: {why}') + '\n')
    return 2


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C and SIGTERM until the end: libraries swallow them, or lose what they hold.

    In other threads than the main one no signal is handled, and nothing is held back.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


class CommandLine(argparse.ArgumentParser):
    """A parser that reports errors in one line, and takes -3e4 and -inf for values of options."""

    def error(self, message: str) -> NoReturn:
        """Refuse in one line, exit code 2."""
        sys.exit(refuse(self.prog, f'{message.removeprefix("argument ")}; see {self.prog} --help'))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, which before Python 3.14 takes -3e4 for an option.

        A word that begins with a space it takes for a value.
        """
        words = sys.argv[1:] if args is None else args
        words = [
            f' {w}' if re.fullmatch(r'-(\d+\.?\d*|\.\d+)[eE][-+]?\d+|-inf|-nan', w) else w
            for w in words
        ]
        return super().parse_known_args(words, namespace)

    def answer(
        self,
        argv: list[str] | None,
        act: Callable[[argparse.Namespace], int],
        *errors: type[Exception],
    ) -> int:
        """Parse the arguments, act, and return the exit code.

        Args:
            argv: The arguments; None: of this process.
            act: Takes the options and returns the exit code.
            errors: Further errors of `act` that are reported in one line, with exit code 2, as
                InputError and OSError are.
        """
        try:
            options = self.parse_args(argv)
        except SystemExit as end:  # bad arguments, or --help
            return int(end.code or 0)
        expected: tuple[type[Exception], ...] = (InputError, *errors)
        try:
            return act(options)
        except expected as error:
            return refuse(self.prog, str(error) or type(error).__name__)
        except BrokenPipeError:
            raise  # for the door
        except OSError as error:
            return refuse(
                self.prog, f'{error.filename}: {error.strerror}' if error.filename else error
            )

    def add_option(
        self, name: str, kind: Any, default: Any, description: str, **options: Any
    ) -> None:
        """Add an option with a default value, which `--help` shows.

        Args:
            name: Its name.
            kind: Type of the value, as of `add_argument`, or the values to choose from.
            default: Its default value.
            description: Text of `--help`.
            options: Further ones of `add_argument`.
        """
        if not callable(kind):
            options['choices'] = kind
        elif kind is not str:
            options['type'] = kind
        shown = f'{description} (default: %(default)s)'
        self.add_argument(name, default=default, help=shown, **options)

    def add_flag(self, name: str, description: str) -> None:
        """Add an option without a value."""
        self.add_argument(name, action='store_true', help=description)

    def add_json(self) -> None:
        """Add `--json`."""
        self.add_flag('--json', 'print JSON')


def day(text: str) -> str:
    """A day as YYYY-MM-DD."""
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f'{text!r} is not a date such as 2026-01-31') from None


def input_file(text: str) -> Path:
    """Path of a file that is there."""
    if not os.path.exists(text):
        raise argparse.ArgumentTypeError(f'{text!r}: No such file')
    if os.path.isdir(text):
        raise argparse.ArgumentTypeError(f'{text!r} is a folder: give a file')
    return Path(text)


def input_path(text: str) -> Path:
    """Path of a file or folder that is there."""
    if not os.path.exists(text):
        raise argparse.ArgumentTypeError(f'{text!r}: No such file or folder')
    return Path(text)


def output_file(*endings: str) -> Callable[[str], Path]:
    """Make the type of a file that can be written, in a folder that exists.

    Args:
        endings: The name must end in one of them, such as `.png`; none: any name.
    """

    def check(text: str) -> Path:
        path = Path(text)
        folder = path.parent
        if not text or os.path.isdir(text):
            raise argparse.ArgumentTypeError(f'{text!r} is a folder: give a file')
        if endings and path.suffix.lower() not in endings:
            raise argparse.ArgumentTypeError(f'{text!r} must end in {" or ".join(endings)}')
        if not os.path.isdir(folder) or '\0' in text:
            raise argparse.ArgumentTypeError(
                f'{text!r}: folder {str(folder)!r} does not exist: create it first'
            )
        if (
            not os.access(text if os.path.exists(text) else folder, os.W_OK)
            or len(os.fsencode(path.name)) > 255
        ):
            raise argparse.ArgumentTypeError(f'{text!r} cannot be written')
        return path

    return check


plot_file = output_file('.png', '.pdf', '.svg')


def output_folder(text: str) -> Path:
    """Path of a folder that is there or can be made."""
    if not text or '\0' in text:
        raise argparse.ArgumentTypeError(f'{text!r} is not a folder')
    above = path = Path(text).absolute()
    while not os.path.exists(above):
        above = above.parent
    if (
        not os.path.isdir(above)
        or not os.access(above, os.W_OK)
        or any(len(os.fsencode(part)) > 255 for part in path.parts)
    ):
        raise argparse.ArgumentTypeError(f'{text!r}: no folder can be made there')
    return Path(text)


def number_in(low: float = -math.inf, high: float = math.inf) -> Callable[[str], float]:
    """Type of a finite number in [low, high]."""

    def check(text: str) -> float:
        return _within(_parsed(float, text, 'a finite number'), low, high)

    return check


def whole_number_in(low: int, high: int) -> Callable[[str], int]:
    """Type of a whole number in [low, high]."""

    def check(text: str) -> int:
        return _within(_parsed(int, text, 'a whole number'), low, high)

    return check


_Kind = TypeVar('_Kind', int, float)


def _parsed(kind: type[_Kind], text: str, what: str) -> _Kind:
    try:
        value = kind(text)
        if -math.inf < value < math.inf:  # not so for nan
            return value
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f'{text.strip()!r} is not {what}')


def _within(value: _Kind, low: _Kind, high: _Kind) -> _Kind:
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(
            f'{value} must be {f"at least {low}" if value < low else f"at most {high}"}'
        )
    return value


finite_number = number_in(-1e12, 1e12)  # with which no formula overflows
positive_count = whole_number_in(1, 10**9)
seed_number = whole_number_in(0, MAX_SEED)
port_or_any = whole_number_in(0, 65535)
