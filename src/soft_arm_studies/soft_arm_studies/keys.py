"""Keys of a study: paths into the files of a run, such as `robot.segments.0.length_m`.

A part of a path is a key, the index or the name of an item of a list, or `*` for every item.
"""

import copy
import dataclasses
import typing
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter

from soft_arm_studies.errors import StudyError

Place = tuple[str | int, ...]
"""Path of a value in the contents: keys of dicts and indices of lists."""


def places(key: str, contents: dict[str, Any], models: Mapping[str, Any]) -> list[Place]:
    """Return the places of a key, and create the dicts and lists above them.

    Args:
        key: The path.
        contents: Contents of the files by root (`robot`, `world`, ..); defaults above a place are
            written into it.
        models: Validated objects of the files by root; a root without one has only its contents.

    Raises:
        StudyError: If the key does not exist; the message names the available keys.
    """
    found: list[tuple[Place, Any]] = [((), {**contents, **models})]
    for part in key.split('.'):
        found = [child for place, node in found for child in _children(key, place, node, part)]
    for place, _ in found:
        _make_way(place, contents, models)
    return [place for place, _ in found]


def check_apart(places_of: Mapping[str, list[Place]]) -> None:
    """Raise StudyError if two keys set the same value or overlapping ones."""
    taken: dict[Place, str] = {}
    for key, own in places_of.items():
        for place in own:
            for other, other_key in taken.items():
                shorter = min(len(place), len(other))
                if place[:shorter] == other[:shorter]:
                    raise StudyError(f'vary: {key} and {other_key} set the same value: remove one')
        taken |= dict.fromkeys(own, key)


def merged(
    contents: dict[str, Any], places_of: Mapping[str, list[Place]], values: tuple
) -> dict[str, Any]:
    """Return a copy of the contents with the values of the varied keys."""
    merged_contents = copy.deepcopy(contents)
    for own, value in zip(places_of.values(), values, strict=True):
        for place in own:
            _set(merged_contents, place, value)
    return merged_contents


def _set(contents: dict[str, Any], place: Place, value: object) -> None:
    node: Any = contents
    for part in place[:-1]:
        node = node[part]
    node[place[-1]] = value


def _children(key: str, place: Place, node: Any, part: str) -> list[tuple[Place, Any]]:
    """Return the places and nodes below a node that match a part of the key.

    A node is a validated value, or the model of an absent value.
    """
    here = '.'.join(map(str, place))
    if isinstance(node, list | tuple):
        names = [getattr(item, 'name', None) for item in node]
        if part == '*' and node:
            return [((*place, i), item) for i, item in enumerate(node)]
        if part in names:
            part = str(names.index(part))
        if part.isdecimal() and int(part) < len(node):
            return [((*place, int(part)), node[int(part)])]
        offered = [*map(str, range(len(node))), *(str(name) for name in names if name), '*']
        raise _no_key(key, part, here, offered if node else [])
    fields = _fields(node)
    if fields is None:
        raise StudyError(
            f'vary: {key}: {here} is {"not given" if node is None else "a single value"}, without '
            f'parts such as {part!r}'
        )
    if part not in fields:
        raise _no_key(key, part, here, list(fields))
    return [((*place, part), fields[part])]


def _no_key(key: str, part: str, here: str, offered: list[str]) -> StudyError:
    where = f' in {here}' if here else ''
    return StudyError(
        f'vary: {key}: no {part!r}{where}; available: {", ".join(sorted(offered)) or "no keys"}'
    )


def _fields(node: Any) -> dict[str, Any] | None:
    """Return the children of a node by key; None if it has no keys."""
    if isinstance(node, dict):
        return node
    if isinstance(node, BaseModel):
        given = {name: getattr(node, name) for name in type(node).model_fields}
        absent = _fields(type(node)) or {}
        return {name: absent[name] if value is None else value for name, value in given.items()}
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        return {field.name: getattr(node, field.name) for field in dataclasses.fields(node)}
    if isinstance(node, type) and issubclass(node, BaseModel):
        return {name: _model(field.annotation) for name, field in node.model_fields.items()}
    return None


def _model(annotation: Any) -> type[BaseModel] | None:
    """Return the model in an annotation such as `Stiffness | None`; None if it is not unique."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = [model for part in typing.get_args(annotation) if (model := _model(part))]
    return found[0] if len(found) == 1 else None


def _make_way(place: Place, contents: dict[str, Any], models: Mapping[str, Any]) -> None:
    """Write defaults of the model above a place into the contents."""
    content: Any = contents
    node: Any = {**contents, **models}
    for part in place[:-1]:
        node = node[part] if isinstance(part, int) else (_fields(node) or {}).get(part)
        if isinstance(content, dict) and content.get(part) is None:
            absent = node is None or isinstance(node, type)
            content[part] = {} if absent else TypeAdapter(Any).dump_python(node, mode='json')
        content = content[part]
