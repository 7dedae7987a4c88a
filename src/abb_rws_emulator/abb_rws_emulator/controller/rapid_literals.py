"""Parser and formatter of RAPID literals.

A shape is the name of a scalar type, or the tuple of the shapes of an array's elements or a
record's components. A value is a float, a bool, a string with its quotes, or the list of an
array's or a record's parts. The client has a separate parser, so that an error in one of them is
not masked by the other.
"""

import re
from typing import Any

MAX_NUM = 3.4028235e38
MAX_STRING_LENGTH = 80
_MAX_EXACT_INTEGER = 2**23

Shape = str | tuple
Value = Any
_TRIPLE, _FOUR, _SIX = ('num',) * 3, ('num',) * 4, ('num',) * 6
_POSE = (_TRIPLE, _FOUR)
_LOAD = ('num', _TRIPLE, _FOUR, 'num', 'num', 'num')
TYPES: dict[str, Shape] = {
    'num': 'num',
    'bool': 'bool',
    'string': 'string',
    'jointtarget': (_SIX, _SIX),
    'loaddata': _LOAD,
    'tooldata': ('bool', _POSE, _LOAD),
    'wobjdata': ('bool', 'bool', 'string', _POSE, _POSE),
}
_TOKEN = re.compile(
    r'\s*+(?:([\[\],])|("(?:[^"]|"")*+")|(TRUE|FALSE)\b'
    r'|([-+]?(?:0x[0-9A-F]++|0o[0-7]++|0b[01]++|(?:(?:0|[1-9]\d*+)(?:\.\d*+)?+|\.\d++)(?:E[-+]?\d++)?+))(?![\w.]))',
    re.IGNORECASE | re.ASCII,
)


class InvalidLiteral(ValueError):
    """A text that is not a literal of the type; the message states the reason."""


class _Reader:
    def __init__(self, text: str):
        self._text, self._position = text.strip(), 0

    def take(self) -> re.Match:
        match = _TOKEN.match(self._text, self._position)
        if match is None:
            found = self._text[self._position : self._position + 20]
            raise InvalidLiteral(f'no value starts at {found!r}')
        self._position = match.end()
        return match

    def expect(self, character: str) -> None:
        if self.take().group(1) != character:
            raise InvalidLiteral(f'{character} is missing')

    def at_end(self) -> bool:
        return self._position == len(self._text)


def parse(text: str, shape: Shape) -> Value:
    """Return the value of a literal.

    Raises:
        InvalidLiteral: If the text is not a literal of this shape, or out of the type's range.
    """
    reader = _Reader(text)
    value = _read(reader, shape)
    if not reader.at_end():
        raise InvalidLiteral('unexpected characters after the value')
    return value


def _read(reader: _Reader, shape: Shape) -> Value:
    if isinstance(shape, str):
        return _scalar(reader.take(), shape)
    values: list[Value] = []
    for part in shape:
        reader.expect(',' if values else '[')
        values.append(_read(reader, part))
    reader.expect(']')
    return values


def _scalar(match: re.Match, kind: str) -> Value:
    _, quoted, boolean, numeral = match.groups()
    if kind == 'string' and quoted:
        if len(quoted[1:-1].replace('""', '"').replace('\\\\', '\\')) > MAX_STRING_LENGTH:
            raise InvalidLiteral(f'string longer than {MAX_STRING_LENGTH} characters')
        if not quoted.isprintable():
            raise InvalidLiteral('string with unprintable characters')
        return quoted
    if kind == 'bool' and boolean:
        return boolean.upper() == 'TRUE'
    if kind == 'num' and numeral:
        return number(numeral)
    raise InvalidLiteral(f'{match.group().strip()[:20]!r} is not a {kind}')


def number(text: str) -> float:
    """Return the value of a numeral.

    Raises:
        InvalidLiteral: If the text is not a numeral, or out of the range of num.
    """
    match = _TOKEN.fullmatch(text)
    if match is None or match.group(4) is None:
        raise InvalidLiteral(f'{text[:20]!r} is not a number')
    digits = match.group(4)
    base = {'0x': 16, '0o': 8, '0b': 2}.get(digits.lstrip('+-')[:2].lower())
    try:
        value = float(digits) if base is None else float(int(digits, base))
    except OverflowError:
        value = float('inf')
    if not abs(value) <= MAX_NUM:
        raise InvalidLiteral(f'{digits[:20]} is out of the range of num')
    return value


def shape_of(data_type: str, dimensions: tuple[int, ...]) -> Shape:
    """Return the shape of a variable."""
    shape = TYPES[data_type]
    for dimension in reversed(dimensions):
        shape = (shape,) * dimension
    return shape


def text(value: Value, shape: Shape) -> str:
    """Return the literal of a value: six digits, exponents as 9E+09."""
    if not isinstance(shape, str):
        return f'[{",".join(map(text, value, shape))}]'
    if shape == 'string':
        return value
    if shape == 'bool':
        return 'TRUE' if value else 'FALSE'
    if abs(value) <= _MAX_EXACT_INTEGER and value == int(value):
        return str(int(value))
    return f'{value:.6g}'.upper()
