"""The RAPID modules that are loaded, and the values of their variables."""

import re
from collections.abc import Iterable

from abb_rws_bridge.errors import ConfigurationError
from abb_rws_bridge.mapping import parse_literal
from soft_arm_sim.rws import refusals
from soft_arm_sim.rws.program import Declaration, Module, literal_parts

TASK = 'T_ROB1'
_NOT_CONNECTED = re.compile(r'(?<![\d.])9E\+?0*9(?!\d)', re.IGNORECASE)
_ELEMENT = re.compile(r'\{([\d,]+)\}$')


class ProgramMemory:
    """Modules by name in small letters; literals and declarations by `task/module/name`."""

    def __init__(self, modules: Iterable[Module]):
        self.modules: dict[str, Module] = {}
        self.symbols: dict[str, str] = {}
        self.declarations: dict[str, Declaration] = {}
        for module in modules:
            self.add(module)

    def find_module(self, name: str) -> Module | None:
        """Module by name, in any case."""
        return self.modules.get(name.lower())

    def add(self, module: Module) -> None:
        """Load a module; its variables begin with what its text says."""
        self.modules[module.name.lower()] = module
        for declared in module.declarations:
            path = f'{TASK}/{module.name}/{declared.name}'
            self.declarations[path], self.symbols[path] = declared, _as_told(declared.literal)

    def drop(self, name: str) -> Module:
        """Unload a module, and its variables."""
        module = self.modules.pop(name.lower())
        for path in [path for path in self.symbols if path.startswith(f'{TASK}/{module.name}/')]:
            del self.symbols[path], self.declarations[path]
        return module

    def find_symbol(self, path: str) -> str | None:
        """Full path of a variable; the module may be left out, and an element `{i}` is of the variable in front of it."""
        path = _ELEMENT.sub('', path)
        if path in self.symbols:
            return path
        task, _, name = path.partition('/')
        found = [known for known in self.symbols if known.startswith(f'{task}/') and known.endswith(f'/{name}')]
        return found[0] if found and '/' not in name else None

    def read(self, path: str, generation: int = 1) -> str:
        """Literal of a variable or of an element of it.

        Raises:
            Refused: If there is none.
        """
        found = self.find_symbol(path)
        if found is None:
            raise refusals.no_symbol_read(generation)
        return _element(self.symbols[found], _indices(path))

    def checked(self, path: str, literal: str | None) -> tuple[str, str]:
        """Full path and whole literal that writing to a variable or an element of it makes.

        Raises:
            Refused: If it cannot be written, or type or shape do not match.
        """
        found = self.find_symbol(path)
        if self.declarations[found].symbol_type == 'con':
            raise refusals.not_persistent()
        old, indices = self.symbols[found], _indices(path)
        try:
            same = literal is not None and _shape(parse_literal(literal)) == _shape(parse_literal(_element(old, indices)))
        except ConfigurationError:
            same = False
        if not same:
            raise refusals.invalid('Value does not match the type of the symbol')
        return found, _as_told(_with_element(old, indices, literal))


def _as_told(literal: str) -> str:
    return literal if literal.startswith('"') else _NOT_CONNECTED.sub('9E+09', literal)


def _indices(path: str) -> list[int]:
    match = _ELEMENT.search(path)
    return [int(part) - 1 for part in match.group(1).split(',')] if match else []


def _element(literal: str, indices: list[int]) -> str:
    for index in indices:
        parts = literal_parts(literal)
        if not 0 <= index < len(parts):
            raise refusals.invalid('Array index out of bounds')
        literal = parts[index]
    return literal


def _with_element(literal: str, indices: list[int], new: str) -> str:
    if not indices:
        return new
    parts = literal_parts(literal)
    parts[indices[0]] = _with_element(parts[indices[0]], indices[1:], new)
    return f'[{",".join(parts)}]'


def _shape(value) -> object:
    """Type tree of a RAPID value: lists by their elements, the rest by type."""
    return tuple(map(_shape, value)) if isinstance(value, list) else type(value)
