"""Program memory: the loaded RAPID modules and the values of their variables."""

import re
from collections.abc import Iterable

from abb_rws_emulator import refusals
from abb_rws_emulator.controller import rapid_literals
from abb_rws_emulator.controller.program import MOST_DATA, MOST_NAMES, Declaration, Module
from abb_rws_emulator.controller.rapid_literals import InvalidLiteral, Value

TASK = 'T_ROB1'
MOST_MODULES, MOST_TEXT = 200, 16 << 20
_ELEMENT = re.compile(r'\{(\d{1,9}(?:,\d{1,9})*+)\}$', re.ASCII)


class ProgramMemory:
    """Modules by name in small letters; declarations and values by `task/module/name`."""

    def __init__(self, modules: Iterable[Module]):
        self.modules: dict[str, Module] = {}
        self.values: dict[str, Value] = {}
        self.declarations: dict[str, Declaration] = {}
        self._paths: dict[str, list[str]] = {}
        for module in modules:
            self.add(module)

    def find_module(self, name: str) -> Module | None:
        """Return the module of a name, in upper or lower case; None if there is none."""
        return self.modules.get(name.lower())

    def add(self, module: Module) -> None:
        """Load a module, in place of one of its name; its variables get the values of its text.

        Raises:
            Refused: If the memory is full.
        """
        others = [m for m in self.modules.values() if m.name.lower() != module.name.lower()]
        if (
            len(others) == MOST_MODULES
            or sum(len(m.text) for m in others) + len(module.text) > MOST_TEXT
        ):
            raise refusals.limit_reached('Program memory is full')
        if (
            sum(len(m.declarations) for m in (*others, module)) > MOST_NAMES
            or sum(m.scalars for m in (*others, module)) > MOST_DATA
        ):
            raise refusals.limit_reached('Too many symbols')
        if self.find_module(module.name) is not None:
            self.drop(module.name)
        self.modules[module.name.lower()] = module
        for declared in module.declarations:
            path = f'{TASK}/{module.name}/{declared.name}'
            if path not in self.values:
                self._paths.setdefault(declared.name, []).append(path)
            self.declarations[path], self.values[path] = declared, declared.value

    def drop(self, name: str) -> Module:
        """Unload a module with its variables, and return it."""
        module = self.modules.pop(name.lower())
        for declared in module.declarations:
            path = f'{TASK}/{module.name}/{declared.name}'
            if self.values.pop(path, None) is not None:
                del self.declarations[path]
                self._paths[declared.name].remove(path)
        return module

    def find_symbol(self, path: str) -> str | None:
        """Return the full path of a variable, also from one of its elements `{i}`; None if unknown.

        The module may be left out.
        """
        path = _ELEMENT.sub('', path)
        if path in self.values:
            return path
        task, _, name = path.partition('/')
        return next(iter(self._paths.get(name, ())), None) if task == TASK else None

    def read(self, path: str, generation: int = 1) -> str:
        """Return the literal of a variable or of one of its elements.

        Raises:
            Refused: If there is no such variable or element.
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
            Refused: If it cannot be written, or the literal is not of its type.
        """
        found = self.find_symbol(path)
        if found is None:
            raise refusals.no_symbol_written()
        declared = self.declarations[found]
        if declared.symbol_type == 'con':
            raise refusals.not_persistent()
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
    """Return a copy of the value with another element."""
    if not indices:
        return new
    return [
        _replaced(part, indices[1:], new) if i == indices[0] else part
        for i, part in enumerate(value)
    ]
