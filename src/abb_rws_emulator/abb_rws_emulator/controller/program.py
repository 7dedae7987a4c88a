"""RAPID modules of the emulated controller: text, and the data and routines that it declares."""

import re
from dataclasses import dataclass

from abb_rws_emulator import refusals
from abb_rws_emulator.controller import rapid_literals
from abb_rws_emulator.controller.rapid_literals import InvalidLiteral, Shape, Value

LARGEST_TEXT, MOST_NAMES, MOST_DATA = 1 << 20, 10_000, 100_000
# possessive quantifiers (++, *+) prevent backtracking, so that no text takes long
_MODULE = re.compile(
    r'^[ \t]*+MODULE[ \t]++(\w++)[ \t]*+(?:\(([^)\n]*+)\))?', re.IGNORECASE | re.MULTILINE
)
_END_OF_MODULE = re.compile(r'^[ \t]*+ENDMODULE\b', re.IGNORECASE | re.MULTILINE)
_HEAD = re.compile(
    r'^[ \t]*+(?:(?:LOCAL|TASK)[ \t]++)*+(?:(PERS|VAR|CONST)[ \t]++(\w++)[ \t]++(\w++)'
    r'|(PROC|TRAP|FUNC[ \t]++\w++)[ \t]++(\w++))',
    re.IGNORECASE | re.MULTILINE,
)
_DATA = re.compile(r'\s*+(?:\{([^}]*+)\}\s*+)?(?::=((?:"(?:[^"]|"")*+"|[^";])*+))?+;')
_END_OF_ROUTINE = {
    kind: re.compile(rf'^[^!"\n]*?\bEND{kind}\b', re.IGNORECASE | re.MULTILINE)
    for kind in ('PROC', 'FUNC', 'TRAP')
}
_SYMBOL_TYPES = {'PERS': 'per', 'VAR': 'var', 'CONST': 'con'}


@dataclass(frozen=True)
class Declaration:
    """Declaration of a variable: kind (per, var, con), type, dimensions, shape and first value."""

    name: str
    symbol_type: str
    data_type: str
    dimensions: tuple[int, ...]
    shape: Shape
    value: Value


@dataclass(frozen=True)
class Module:
    """A loaded module.

    Attributes:
        declarations: Variables outside routines, in the order of the text; those whose first value
            is an expression are left out.
        routines: Name, kind (PROC, FUNC type, TRAP) and line of every routine.
        scalars: Count of the scalars in all variables.
    """

    name: str
    kind: str
    text: str
    declarations: tuple[Declaration, ...]
    routines: tuple[tuple[str, str, int], ...]
    scalars: int = 0
    file: str = ''
    changes: int = 1

    def text_range(self, start: tuple[int, int], end: tuple[int, int]) -> slice:
        """Return the slice of the text from row and column to row and column, both counted from 1.

        Column -1 is the end of the line.

        Raises:
            Refused: If the text has no such place.
        """
        return slice(self._offset(*start), self._offset(end[0], end[1]) + (end[1] > 0))

    def _offset(self, row: int, column: int) -> int:
        lines = self.text.splitlines(keepends=True)
        if not 1 <= row <= len(lines) or not (
            column == -1 or 1 <= column <= len(lines[row - 1]) + 1
        ):
            raise refusals.invalid('Text position is outside the module')
        before = sum(map(len, lines[: row - 1]))
        return before + (len(lines[row - 1].rstrip('\r\n')) if column == -1 else column - 1)


def load(text: str, file: str = '') -> Module:
    """Return the module of a text, in a time proportional to its length.

    Raises:
        Refused: If the text is not a module, or too large.
    """
    if len(text) > LARGEST_TEXT:
        raise refusals.limit_reached('Module too large')
    match = _MODULE.search(text)
    if match is None or not _END_OF_MODULE.search(text):
        raise refusals.syntax_error()
    declarations: list[Declaration | None] = []
    routines: list[tuple[str, str, int]] = []
    place, line, counted, scalars = match.end(), 1, 0, 0
    while head := _HEAD.search(text, place):
        if len(declarations) + len(routines) == MOST_NAMES or scalars > MOST_DATA:
            raise refusals.limit_reached('Too many symbols')
        if head.group(1):
            data = _DATA.match(text, head.end())
            declared = _declaration(head, data)
            declarations.append(declared)
            scalars += 0 if declared is None else rapid_literals.size_of(declared.shape)
        else:
            kind = head.group(4).upper()
            data = _END_OF_ROUTINE[kind[:4]].search(text, head.start())
            line, counted = line + text.count('\n', counted, head.start()), head.start()
            routines.append((head.group(5), kind, line))
        if data is None:
            raise refusals.syntax_error()
        place = data.end()
    known = tuple(found for found in declarations if found is not None)
    kind = 'SysMod' if 'SYSMODULE' in (match.group(2) or '').upper() else 'ProgMod'
    return Module(match.group(1), kind, text, known, tuple(routines), scalars, file)


def _declaration(head: re.Match, data: re.Match | None) -> Declaration | None:
    if data is None:
        return None
    kind, data_type, name = head.group(1).upper(), head.group(2).lower(), head.group(3)
    sizes, literal = data.groups()
    try:
        dimensions = tuple(map(_dimension, sizes.split(','))) if sizes else ()
        shape = rapid_literals.shape_of(data_type, dimensions, literal)
        value = (
            rapid_literals.first_value(shape)
            if literal is None
            else rapid_literals.parse(literal, shape)
        )
    except InvalidLiteral:  # an expression, which only a running program could evaluate
        return None
    return Declaration(name, _SYMBOL_TYPES[kind], data_type, dimensions, shape, value)


def _dimension(text: str) -> int:
    if not re.fullmatch(r'[1-9]\d{0,5}', text.strip(), re.ASCII):
        raise InvalidLiteral(f'{text[:20]!r} is no dimension')
    return int(text)
