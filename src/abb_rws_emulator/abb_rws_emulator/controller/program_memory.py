"""Program memory: the RAPID variables of the loaded modules and their values."""

import re
from dataclasses import dataclass

from abb_rws_emulator import refusals
from abb_rws_emulator.controller import gripper_cell, rapid_literals
from abb_rws_emulator.controller.rapid_literals import InvalidLiteral, Shape, Value

TASK = 'T_ROB1'
_ELEMENT = re.compile(r'\{(\d{1,9}(?:,\d{1,9})*+)\}$', re.ASCII)


@dataclass(frozen=True)
class Declaration:
    """Declaration of a variable; `symbol_type` is per, var or con."""

    name: str
    symbol_type: str
    data_type: str
    dimensions: tuple[int, ...]
    shape: Shape


class ProgramMemory:
    """Declarations and values of the variables by `task/module/name`."""

    def __init__(self) -> None:
        self.declarations: dict[str, Declaration] = {}
        self.values: dict[str, Value] = {}
        for path, (symbol_type, data_type, sizes, literal) in gripper_cell.VARIABLES.items():
            shape = rapid_literals.shape_of(data_type, sizes)
            name = path.rpartition('/')[2]
            self.declarations[path] = Declaration(name, symbol_type, data_type, sizes, shape)
            self.values[path] = rapid_literals.parse(literal, shape)

    def find_symbol(self, path: str) -> str | None:
        """Return the full path of a variable or of the array of an element `{i}`; None if unknown.

        The module may be omitted.
        """
        path = _ELEMENT.sub('', path)
        if path in self.values:
            return path
        task, _, name = path.partition('/')
        if task != TASK:
            return None
        return next((p for p, found in self.declarations.items() if found.name == name), None)

    def read(self, path: str, generation: int = 1) -> str:
        """Return the literal of a variable or of one of its elements.

        Raises:
            Refused: If the variable or element is unknown.
        """
        found = self.find_symbol(path)
        if found is None:
            raise refusals.no_symbol_read(generation)
        value, shape = self.values[found], self.declarations[found].shape
        for index in _indices(path, self.declarations[found]):
            value, shape = value[index], shape[index]
        return rapid_literals.text(value, shape)

    def write(self, path: str, literal: str | None) -> str | None:
        """Write a variable or one of its elements; return its full path if the value changed.

        Raises:
            Refused: If the variable is unknown, or the literal is not of its type.
        """
        found = self.find_symbol(path)
        if found is None:
            raise refusals.no_symbol_written()
        declared = self.declarations[found]
        indices, shape = _indices(path, declared), declared.shape
        for index in indices:
            shape = shape[index]
        try:
            value = rapid_literals.parse(literal or '', shape)
        except InvalidLiteral as error:
            raise refusals.invalid(
                f'Value does not match the type of the symbol: {error}'
            ) from None
        before = self.values[found]
        self.values[found] = _replaced(before, indices, value)
        return found if self.values[found] != before else None


def _indices(path: str, declared: Declaration) -> list[int]:
    match = _ELEMENT.search(path)
    indices = [int(part) - 1 for part in match.group(1).split(',')] if match else []
    if len(indices) > len(declared.dimensions) or not all(
        0 <= i < n for i, n in zip(indices, declared.dimensions, strict=False)
    ):
        raise refusals.invalid('Array index out of bounds')
    return indices


def _replaced(value: Value, indices: list[int], new: Value) -> Value:
    """Return a copy of the value with one element replaced."""
    if not indices:
        return new
    return [
        _replaced(part, indices[1:], new) if i == indices[0] else part
        for i, part in enumerate(value)
    ]
