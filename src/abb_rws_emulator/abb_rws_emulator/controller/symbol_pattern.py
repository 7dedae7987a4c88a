r"""Match regular expressions on names in bounded time, with sets of places instead of backtracking.

Accepted are `.`, `[..]`, `\d \w \s` and their capitals, escaped characters, `^ $`, `( | )`, `* + ?
{m,n}`; case does not count. The places in a name at which a part may begin or end are the bits of
an integer, and each part of an expression maps one to the other.
"""

import re
import string
from collections.abc import Callable, Iterable

LONGEST_PATTERN, LONGEST_NAME, _DEEPEST = 100, 32, 4
_CLASSES = {
    'd': set(string.digits),
    'w': set(string.ascii_lowercase + string.digits + '_'),
    's': set(string.whitespace),
}
_COUNT = re.compile(r'\{(\d{1,2})(,(\d{1,2})?)?\}', re.ASCII)

Part = Callable[[str, int], int]
"""Function of a name and the places where a part may begin; returns those where it may end."""


class InvalidPattern(ValueError):
    """An expression that is not valid, or too long."""


class SymbolPattern:
    """A regular expression to search names with.

    Raises:
        InvalidPattern: If the expression is not valid.
    """

    def __init__(self, pattern: str):
        if len(pattern) > LONGEST_PATTERN:
            raise InvalidPattern(f'an expression has at most {LONGEST_PATTERN} characters')
        self._rest, self._depth = pattern.lower(), 0
        self._whole = self._alternatives()
        if self._rest:
            raise InvalidPattern('a ) closes nothing')

    def found_in(self, name: str) -> bool:
        """Return whether any part of a name matches."""
        name = name[:LONGEST_NAME].lower()
        return self._whole(name, (1 << len(name) + 1) - 1) != 0

    def _alternatives(self) -> Part:
        parts = [self._sequence()]
        while self._rest.startswith('|'):
            self._rest = self._rest[1:]
            parts.append(self._sequence())
        return lambda name, places: _union(part(name, places) for part in parts)

    def _sequence(self) -> Part:
        parts = []
        while self._rest and self._rest[0] not in '|)':
            parts.append(self._repeated(self._one()))

        def match(name: str, places: int) -> int:
            for part in parts:
                places = part(name, places) if places else 0
            return places

        return match

    def _one(self) -> Part:
        first, self._rest = self._rest[0], self._rest[1:]
        if first == '(':
            return self._group()
        if first == '^':
            return lambda _name, places: places & 1
        if first == '$':
            return lambda name, places: places & 1 << len(name)
        if first in '*+?{':
            raise InvalidPattern(f'nothing stands in front of {first}')
        if first == '.':
            return _step(lambda _character: True)
        return _step(
            self._set() if first == '[' else self._escaped() if first == '\\' else first.__eq__
        )

    def _group(self) -> Part:
        self._rest, self._depth = self._rest.removeprefix('?:'), self._depth + 1
        if self._depth > _DEEPEST:
            raise InvalidPattern(f'groups stand at most {_DEEPEST} deep')
        inner = self._alternatives()
        if not self._rest.startswith(')'):
            raise InvalidPattern('a ( is not closed')
        self._rest, self._depth = self._rest[1:], self._depth - 1
        return inner

    def _escaped(self) -> Callable[[str], bool]:
        if not self._rest:
            raise InvalidPattern('nothing follows the last \\')
        letter, self._rest = self._rest[0], self._rest[1:]
        if letter in _CLASSES:
            return _CLASSES[letter].__contains__
        if letter.isalnum():
            raise InvalidPattern(f'\\{letter} is not known')
        return letter.__eq__

    def _set(self) -> Callable[[str], bool]:
        body = re.match(r'(\^?)(\]?[^\]]*+)\]', self._rest)
        if body is None:
            raise InvalidPattern('a [ is not closed')
        self._rest = self._rest[body.end() :]
        text, known, place = body.group(2), set(), 0
        while place < len(text):
            if text[place] == '\\' and text[place + 1 : place + 2] in _CLASSES:
                known |= _CLASSES[text[place + 1]]
                place += 2
            elif text[place + 1 : place + 2] == '-' and place + 2 < len(text):
                known |= set(
                    map(chr, range(ord(text[place]), min(ord(text[place + 2]), 0x2FF) + 1))
                )
                place += 3
            else:
                known.add(text[place])
                place += 1
        return (lambda character: character not in known) if body.group(1) else known.__contains__

    def _repeated(self, part: Part) -> Part:
        counted = _COUNT.match(self._rest)
        if counted:
            self._rest = self._rest[counted.end() :]
            least = int(counted.group(1))
            most = (
                least
                if counted.group(2) is None
                else int(counted.group(3))
                if counted.group(3)
                else None
            )
        elif self._rest[:1] in ('*', '+', '?'):
            least, most = {'*': (0, None), '+': (1, None), '?': (0, 1)}[self._rest[0]]
            self._rest = self._rest[1:]
        else:
            return part
        self._rest = self._rest.removeprefix('?')  # as few as possible finds the same names
        if self._rest[:1] in ('*', '+', '?'):
            raise InvalidPattern('a part is repeated twice')
        return _repeat(part, least, most)


def _union(found: Iterable[int]) -> int:
    result = 0
    for places in found:
        result |= places
    return result


def _step(fits: Callable[[str], bool]) -> Part:
    def match(name: str, places: int) -> int:
        return _union(
            1 << at + 1 for at, character in enumerate(name) if places >> at & 1 and fits(character)
        )

    return match


def _repeat(part: Part, least: int, most: int | None) -> Part:
    def match(name: str, places: int) -> int:
        for _ in range(least):
            places = part(name, places)
        reached = new = places
        left = len(name) if most is None else most - least
        while new and left > 0:  # only what is new is followed further
            new = part(name, new) & ~reached
            reached, left = reached | new, left - 1
        return reached

    return match
