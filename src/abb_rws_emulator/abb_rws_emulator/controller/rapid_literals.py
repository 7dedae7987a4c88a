"""Parse RAPID literals by type, and write them as the controller does.

A shape is the name of a scalar type, or the tuple of the shapes of an array's elements or a
record's components. A value is a float, a bool, a text with its quotes, or the list of an array's
or a record's parts. The client has its own parser, so that one mistake does not hide another.
"""

import re
from typing import Any

LARGEST_NUM = 3.4028235e38
LONGEST_STRING = 80
LARGEST_VALUE, _DEEPEST = 20_000, 8
_EXACT_NUM = 2**23  # whole numbers that a num of 32 bits holds exactly

Shape = str | tuple
Value = Any
_TRIPLE, _FOUR, _SIX = ('num',) * 3, ('num',) * 4, ('num',) * 6
_POSE = (_TRIPLE, _FOUR)
_LOAD = ('num', _TRIPLE, _FOUR, 'num', 'num', 'num')
TYPES: dict[str, Shape] = {
    'num': 'num',
    'dnum': 'dnum',
    'bool': 'bool',
    'string': 'string',
    'pos': _TRIPLE,
    'orient': _FOUR,
    'pose': _POSE,
    'confdata': _FOUR,
    'robjoint': _SIX,
    'extjoint': _SIX,
    'jointtarget': (_SIX, _SIX),
    'robtarget': (_TRIPLE, _FOUR, _FOUR, _SIX),
    'loaddata': _LOAD,
    'tooldata': ('bool', _POSE, _LOAD),
    'wobjdata': ('bool', 'bool', 'string', _POSE, _POSE),
    'speeddata': _FOUR,
    'zonedata': ('bool', *_SIX),
}
_FIRST_VALUES = {'num': 0.0, 'dnum': 0.0, 'bool': False, 'string': '""'}
_TOKEN = re.compile(
    r'\s*+(?:([\[\],])|("(?:[^"]|"")*+")|(TRUE|FALSE)\b'
    r'|([-+]?(?:0x[0-9A-F]++|0o[0-7]++|0b[01]++|(?:(?:0|[1-9]\d*+)(?:\.\d*+)?+|\.\d++)(?:E[-+]?\d++)?+))(?![\w.]))',
    re.IGNORECASE | re.ASCII,
)


class InvalidLiteral(ValueError):
    """A text that is not a value of the type; the message gives the reason."""


class _Reader:
    def __init__(self, text: str):
        self._text, self._place, self.parts = text.strip(), 0, 0

    def take(self) -> re.Match:
        match = _TOKEN.match(self._text, self._place)
        if match is None:
            raise InvalidLiteral(f'{self._text[self._place : self._place + 20]!r} begins no value')
        self._place = match.end()
        self.parts += match.group(1) is None
        if self.parts > LARGEST_VALUE:
            raise InvalidLiteral(f'a value has at most {LARGEST_VALUE} parts')
        return match

    def expect(self, character: str) -> None:
        if self.take().group(1) != character:
            raise InvalidLiteral(f'{character} is missing')

    def at_end(self) -> bool:
        return self._place == len(self._text)


def parse(text: str, shape: Shape) -> Value:
    """Return the value of a literal.

    Raises:
        InvalidLiteral: If the text is not a literal of this shape, or out of the type's range.
    """
    reader = _Reader(text)
    value = _read(reader, shape)
    if not reader.at_end():
        raise InvalidLiteral('something follows the value')
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
        if len(quoted[1:-1].replace('""', '"').replace('\\\\', '\\')) > LONGEST_STRING:
            raise InvalidLiteral(f'a string has at most {LONGEST_STRING} characters')
        if not quoted.isprintable():
            raise InvalidLiteral('a string holds printable characters only')
        return quoted
    if kind == 'bool' and boolean:
        return boolean.upper() == 'TRUE'
    if kind in ('num', 'dnum') and numeral:
        return number(numeral, kind)
    raise InvalidLiteral(f'{match.group().strip()[:20]!r} is no {kind}')


def number(text: str, kind: str = 'num') -> float:
    """Return the value of a numeral.

    Raises:
        InvalidLiteral: If the text is not a numeral, or out of the type's range.
    """
    match = _TOKEN.fullmatch(text)
    if match is None or match.group(4) is None:
        raise InvalidLiteral(f'{text[:20]!r} is no number')
    digits = match.group(4)
    base = {'0x': 16, '0o': 8, '0b': 2}.get(digits.lstrip('+-')[:2].lower())
    try:
        value = float(digits) if base is None else float(int(digits, base))
    except OverflowError:
        value = float('inf')
    if not abs(value) <= (LARGEST_NUM if kind == 'num' else 1.7976931348623157e308):
        raise InvalidLiteral(f'{digits[:20]} is out of the range of {kind}')
    return value


def shape_of(data_type: str, dimensions: tuple[int, ...], literal: str | None) -> Shape:
    """Return the shape of a variable by its type, or by its first literal if the type is unknown.

    Raises:
        InvalidLiteral: If neither gives the shape, or there are too many elements.
    """
    shape = TYPES.get(data_type)
    if shape is None:
        if literal is None:
            raise InvalidLiteral(f'{data_type} is no type that is known here')
        return _guess(_Reader(literal), 0)
    if len(dimensions) > 3:
        raise InvalidLiteral('an array has one to three dimensions')
    size = size_of(shape)
    for dimension in reversed(dimensions):
        size *= dimension
        if size > LARGEST_VALUE:
            raise InvalidLiteral(f'a value has at most {LARGEST_VALUE} parts')
        shape = (shape,) * dimension
    return shape


def size_of(shape: Shape) -> int:
    """Return the count of scalars in a value of this shape."""
    return 1 if isinstance(shape, str) else sum(map(size_of, shape))


def _guess(reader: _Reader, depth: int) -> Shape:
    bracket, quoted, boolean, _ = (match := reader.take()).groups()
    if bracket is None:
        return 'string' if quoted else 'bool' if boolean else 'num'
    if bracket != '[' or depth == _DEEPEST:
        raise InvalidLiteral(f'{match.group()!r} begins no value')
    shapes = [_guess(reader, depth + 1)]
    while (following := reader.take().group(1)) == ',':
        shapes.append(_guess(reader, depth + 1))
    if following != ']':
        raise InvalidLiteral('] is missing')
    return tuple(shapes)


def first_value(shape: Shape) -> Value:
    """Return the value of a variable that is declared without a value."""
    return _FIRST_VALUES[shape] if isinstance(shape, str) else [first_value(part) for part in shape]


def text(value: Value, shape: Shape) -> str:
    """Return the literal of a value: num with six digits, dnum with fifteen, exponents as 9E+09."""
    if not isinstance(shape, str):
        return f'[{",".join(map(text, value, shape))}]'
    if shape == 'string':
        return value
    if shape == 'bool':
        return 'TRUE' if value else 'FALSE'
    if shape == 'num' and abs(value) <= _EXACT_NUM and value == int(value):
        return str(int(value))
    return f'{value:.{6 if shape == "num" else 15}g}'.upper()
