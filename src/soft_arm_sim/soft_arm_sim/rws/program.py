"""RAPID modules as the emulated controller holds them: text, and the data and routines that the text declares."""

import re
from dataclasses import dataclass

from abb_rws_bridge.errors import ConfigurationError
from abb_rws_bridge.mapping import parse_literal
from soft_arm_sim.rws import refusals

_MODULE = re.compile(r'^\s*MODULE\s+(\w+)\s*(\(([^)]*)\))?', re.IGNORECASE | re.MULTILINE)
_DATA = re.compile(
    r'^[ \t]*(?:LOCAL\s+|TASK\s+)*(PERS|VAR|CONST)\s+(\w+)\s+(\w+)\s*(?:\{([\d,\s]+)\})?\s*(?::=\s*((?:"(?:[^"]|"")*"|[^";])*))?;',
    re.IGNORECASE | re.MULTILINE,
)
_ROUTINE = re.compile(r'^[ \t]*(?:LOCAL\s+)?(PROC|TRAP|FUNC\s+\w+)\s+(\w+)', re.IGNORECASE | re.MULTILINE)
_FIRST_VALUES = {'num': '0', 'dnum': '0', 'bool': 'FALSE', 'string': '""'}
_SYMBOL_TYPES = {'PERS': 'per', 'VAR': 'var', 'CONST': 'con'}


@dataclass(frozen=True)
class Declaration:
    """One variable: how it is declared (per, var, con), its type and dimensions, and the literal it begins with."""

    name: str
    symbol_type: str
    data_type: str
    dimensions: tuple[int, ...]
    literal: str


@dataclass
class Module:
    """A module that is loaded."""

    name: str
    kind: str
    text: str
    file: str = ''
    changes: int = 1

    @property
    def declarations(self) -> list[Declaration]:
        """Variables outside routines, in the order of the text; those whose first value cannot be told are left out."""
        outside = re.sub(r'(?ims)^[ \t]*(?:LOCAL\s+)?(PROC|FUNC|TRAP)\b.*?^[ \t]*END\1', '', self.text)
        return [found for found in map(_declaration, _DATA.finditer(outside)) if found is not None]

    @property
    def routines(self) -> list[tuple[str, str, int]]:
        """Name, kind (PROC, FUNC type, TRAP) and line of every routine."""
        return [(m.group(2), m.group(1).upper(), self.text.count('\n', 0, m.start()) + 1) for m in _ROUTINE.finditer(self.text)]

    def replace_text(self, text: str) -> None:
        """Take another text; it must still be this module's.

        Raises:
            Refused: If it is another module's, or none.
        """
        if load(text).name.lower() != self.name.lower():
            raise refusals.invalid('The text belongs to another module')
        self.text, self.changes = text, self.changes + 1

    def text_range(self, start: tuple[int, int], end: tuple[int, int]) -> slice:
        """The characters from row and column to row and column, both counted from 1; column -1 is the end of the line.

        Raises:
            Refused: If the text has no such place.
        """
        return slice(self._offset(*start), self._offset(end[0], end[1]) + (end[1] > 0))

    def _offset(self, row: int, column: int) -> int:
        lines = self.text.splitlines(keepends=True)
        if not 1 <= row <= len(lines) or not (column == -1 or 1 <= column <= len(lines[row - 1]) + 1):
            raise refusals.invalid('Text position is outside the module')
        before = sum(map(len, lines[: row - 1]))
        return before + (len(lines[row - 1].rstrip('\r\n')) if column == -1 else column - 1)


def load(text: str, file: str = '') -> Module:
    """A module from its text.

    Raises:
        Refused: If the text is no module.
    """
    match = _MODULE.search(text)
    if match is None or not re.search(r'^\s*ENDMODULE', text, re.IGNORECASE | re.MULTILINE):
        raise refusals.syntax_error()
    return Module(match.group(1), 'SysMod' if 'SYSMODULE' in (match.group(3) or '').upper() else 'ProgMod', text, file)


def literal_parts(literal: str) -> list[str]:
    """The elements of an array's or record's literal, each a literal."""
    parts, depth, quoted, begin = [], 0, False, 1
    for place, character in enumerate(literal):
        if character == '"':
            quoted = not quoted
        if quoted or character not in '[],':
            continue
        depth += {'[': 1, ']': -1}.get(character, 0)
        if (character == ',' and depth == 1) or (character == ']' and depth == 0):
            parts.append(literal[begin:place].strip())
            begin = place + 1
    return parts


def _declaration(match: re.Match) -> Declaration | None:
    kind, data_type, name, sizes, literal = match.groups()
    dimensions = tuple(int(size) for size in sizes.split(',')) if sizes else ()
    if literal is None:
        literal = _FIRST_VALUES.get(data_type.lower())
        for size in reversed(dimensions):
            literal = None if literal is None else f'[{",".join([literal] * size)}]'
    if literal is None:
        return None
    try:
        parse_literal(literal.strip())
    except ConfigurationError:  # an expression, which only a running program could tell the value of
        return None
    return Declaration(name, _SYMBOL_TYPES[kind.upper()], data_type.lower(), dimensions, literal.strip())
