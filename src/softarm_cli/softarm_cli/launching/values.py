"""Typed values of <param>, with the rules of `ros2 launch`.

A value is typed twice: as written in the file, and each part with a substitution once more after
the substitution. So `[$(var names)]` is a list of ONE string, even if `names` is "a, b", while
`$(var names)` is a list if `names` is "[a, b]".
"""

from collections.abc import Callable
from typing import Any

import yaml

from softarm_cli.launching.substitutions import Substitution, parse

_SCALARS: dict[str, type] = {'str': str, 'int': int, 'float': float, 'bool': bool}
_KINDS: dict[str, tuple[type, bool]] = {  # type, is a list
    **{name: (kind, False) for name, kind in _SCALARS.items()},
    **{f'list_of_{name}': (kind, True) for name, kind in _SCALARS.items()},
}
_REMEDY = 'give type="str", or a list of one kind'


def typed_value(
    text: str, kind: str | None, separator: str | None, expand: Callable[[str], str]
) -> object:
    """Return the value of a parameter.

    Args:
        text: Attribute `value`.
        kind: Attribute `type`; None: by YAML's rules.
        separator: Attribute `value-sep`, which makes the value a list; None: absent.
        expand: Replaces the substitutions in a text.

    Raises:
        ValueError: If the text cannot be converted to that type.
    """
    if kind is not None and kind not in _KINDS:
        raise ValueError(f'type={kind!r} is unknown: give one of {", ".join(_KINDS)}')
    item, is_list = _KINDS[kind] if kind is not None else (None, separator is not None)
    if separator is not None and not is_list:
        raise ValueError(f'value-sep needs a list, not type={kind!r}')
    literal: Any
    if separator:
        literal = [_scalar(one, item, lenient=True) for one in text.split(separator)]
    elif item is None:
        literal = _by_yaml(text, lenient=True)
    elif is_list:
        literal = _list(text, item)
    else:
        literal = _scalar(text, item, lenient=True)

    if isinstance(literal, list):
        value = [_expanded(one, item, expand) for one in literal]
        if len({item, *map(type, value)} - {None}) > 1 or (not value and item not in (None, str)):
            raise ValueError(f'value={text!r} is not a list of one kind')
        return value
    value = _expanded(literal, item, expand)
    if item is not None and type(value) is not item:
        raise ValueError(f'value={text!r} is not of type {kind!r}')
    return value


def _expanded(literal: object, item: type | None, expand: Callable[[str], str]) -> Any:
    """Replace the substitutions in a literal text, and type the result."""
    if not isinstance(literal, str):
        return literal
    expanded = expand(literal)
    if any(isinstance(part, Substitution) for part in parse(literal)):
        return _scalar(expanded, item, lenient=False)
    return expanded


def _scalar(text: str, kind: type | None, *, lenient: bool) -> Any:
    """Convert a text to a type; if lenient, return text that cannot be converted."""
    if kind is None:
        return _by_yaml(text, lenient=lenient)
    if kind is str:
        return text
    if kind is bool:
        value = _by_yaml({'1': 'true', '0': 'false'}.get(text, text), lenient=lenient)
        if isinstance(value, bool) or (lenient and isinstance(value, str)):
            return value
        raise ValueError(f'value={text!r} is neither true nor false')
    try:
        return kind(text)
    except ValueError:
        if lenient:
            return text
        raise ValueError(f'value={text!r} is not of type {kind.__name__!r}') from None


def _list(text: str, item: type) -> list[object]:
    value = _by_yaml(text, lenient=True)
    if not isinstance(value, list) or not all(isinstance(one, (item, str)) for one in value):
        raise ValueError(f'value={text!r} is not a list of {item.__name__!r} ([a, b])')
    return value


def _by_yaml(text: str, *, lenient: bool) -> Any:
    """Parse a text as YAML; if lenient, return text that is not YAML."""
    problem = f'value={text!r} is by YAML rules not a parameter: {_REMEDY}'
    try:
        value = yaml.safe_load(text) if text else ''
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date of month 13
        if lenient:
            return text
        raise ValueError(problem) from error
    kinds = {type(one) for one in value} if isinstance(value, list) else {type(value)}
    if not kinds <= {bool, int, float, str} or len(kinds - ({str} if lenient else set())) > 1:
        raise ValueError(problem)
    return value
