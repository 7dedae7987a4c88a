"""Read YAML and JSON files strictly, with a one-line error; write YAML that reads back equal.

Scalars follow the core schema of YAML 1.2: `1e-3` is a number; `on`, `12:30` and `2026-01-31` are
text.
"""

import re
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

MAX_BYTES = 1_000_000
MAX_DEPTH = 50
MAX_VALUES = 50_000
MAX_INTEGER = 2**63 - 1
_SHOWN, _SHOWN_PATH = 60, 100  # characters of a value and of a path that a message repeats
_Model = TypeVar('_Model', bound=BaseModel)


class YamlFileError(ValueError):
    """The content of a file cannot be used; the message is one line without the file's name."""


class _Loader(yaml.CSafeLoader):
    """Core schema of YAML 1.2, without duplicate keys."""

    yaml_implicit_resolvers = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        keys = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise YamlFileError(
                    f'line {key.start_mark.line + 1}: a key is a list or has keys itself: write a '
                    'word'
                )
            if key.value in keys:
                line = key.start_mark.line + 1
                raise YamlFileError(
                    f'line {line}: key {shown(key.value)} is given twice: remove one'
                )
            keys.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        value = int(node.value, 16 if node.value.startswith('0x') else 10)
        if abs(value) > MAX_INTEGER:
            raise YamlFileError(
                f'line {node.start_mark.line + 1}: {shown(node.value)} is outside 64 bits: '
                'correct the number'
            )
        return value


class _Dumper(yaml.SafeDumper):
    """Quotes a text that YAML 1.1 or 1.2 would read as a number or the like, such as 12e45678."""


_Loader.add_constructor('tag:yaml.org,2002:int', _Loader.construct_yaml_int)
for _tag, _pattern, _first in (
    ('null', r'~|null|Null|NULL|', ['~', 'n', 'N', '']),
    ('bool', r'true|True|TRUE|false|False|FALSE', list('tTfF')),
    ('int', r'[-+]?[0-9]+|0x[0-9a-fA-F]+', list('-+0123456789')),
    ('merge', r'<<', ['<']),
    (
        'float',
        r'[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)',
        list('-+.0123456789'),
    ),
):
    for _side in (_Loader, _Dumper):
        _side.add_implicit_resolver(
            f'tag:yaml.org,2002:{_tag}', re.compile(f'(?:{_pattern})\\Z'), _first
        )


def read_yaml(path: str | Path) -> Any:
    """Read one YAML document.

    Returns:
        What the file holds, of dict, list, str, int, float, bool and None; None for an empty file.

    Raises:
        OSError: If the file cannot be read.
        YamlFileError: If it is not YAML, or holds duplicate or unhashable keys, tags, aliases
            within anchors, integers beyond 64 bits, or more than `MAX_BYTES`, `MAX_DEPTH` or
            `MAX_VALUES`.
    """
    with Path(path).open('rb') as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise YamlFileError(
            f'larger than {MAX_BYTES / 1e6:g} MB: files written by people are smaller'
        )
    try:
        text = content.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        raise YamlFileError(f'not UTF-8 text (byte {error.start}): save it as UTF-8') from error
    try:
        _check_structure(text)
        return yaml.load(text, Loader=_Loader)  # a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f'line {mark.line + 1}: ' if mark else ''
        raise YamlFileError(
            f'not YAML: {line}{shown(error.problem or error.context, plain=True)}'
        ) from error
    except yaml.YAMLError as error:
        raise YamlFileError(f'not YAML: {shown(error, plain=True)}') from error
    except YamlFileError:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise YamlFileError(f'a value cannot be read: {shown(error, plain=True)}') from error


def load_yaml(
    model: type[_Model],
    what: str,
    path: str | Path,
    error: type[ValueError],
    *,
    remedy: str = '',
    left_out: tuple[str, ...] = (),
) -> _Model:
    """Read a YAML file into a pydantic model.

    Args:
        model: Its schema.
        what: What the file is, such as `robot file`.
        path: The file.
        error: What to raise.
        remedy: What to do about a file that cannot be read.
        left_out: As in `validation_message`.

    Raises:
        error: If the file is missing, is not YAML, or has a missing, unknown or impossible value;
            one line.
    """
    given = shown_path(path)
    try:
        content = read_yaml(path)
        if content is None:
            raise YamlFileError(f'the file is empty: begin with a copy of another {what}')
        return model.model_validate(content)
    except OSError as failure:
        reason = f'{what} {given!r}: {failure.strerror}'
        raise error(f'{reason}; {remedy}' if remedy else reason) from failure
    except YamlFileError as failure:
        raise error(f'{given}: {failure}') from failure
    except ValidationError as failure:
        raise error(f'{given}: {validation_message(failure, left_out)}') from failure


def checked(content: object, kind: type) -> Any:
    """Return what a file holds if it is of a kind, such as a TypedDict, without unknown keys.

    Raises:
        YamlFileError: If it is not.
    """
    try:
        return TypeAdapter(kind).validate_python(content, strict=True)
    except ValidationError as error:
        raise YamlFileError(validation_message(error)) from error


def read_json(path: str | Path, kind: type) -> Any:
    """The same for a JSON file. Raises OSError or YamlFileError."""
    try:
        return TypeAdapter(kind).validate_json(Path(path).read_bytes(), strict=True)
    except ValidationError as error:
        raise YamlFileError(validation_message(error)) from error


def write_yaml(path: Path, content: dict, comment: str = '') -> None:
    """Write one YAML document, whole or not at all, and the folders above it.

    Args:
        path: The file.
        content: What `read_yaml` will return.
        comment: Lines for the head of the file, without `#`.

    Raises:
        OSError: If the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f'{path.name}.part')
    head = ''.join(f'# {line}\n' for line in comment.splitlines())
    part.write_text(head + yaml_text(content), encoding='utf-8')
    part.replace(path)


def yaml_text(content: dict) -> str:
    """Content as YAML, keys in their order; `read_yaml` returns the same."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=100)


def _check_structure(text: str) -> None:
    """Refuse what could take for ever to build or to walk through."""
    values, sizes = 0, dict[str | None, int]()
    # Anchor of each open collection, and the number of values before it.
    inside: list[tuple[str | None, int]] = []
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        values += 1
        if getattr(event, 'tag', None) is not None:
            tag = shown(getattr(event, 'tag', None))
            raise YamlFileError(f'line {line}: tag {tag} is not used here: remove it')
        if isinstance(event, yaml.AliasEvent):
            if any(anchor for anchor, _ in inside):
                raise YamlFileError(
                    f'line {line}: alias *{event.anchor} stands within an anchor: write the '
                    'values out'
                )
            values += sizes.get(event.anchor, 0)
        elif isinstance(event, yaml.CollectionStartEvent):
            inside.append((event.anchor, values))
            if len(inside) > MAX_DEPTH:
                raise YamlFileError(f'line {line}: nested deeper than {MAX_DEPTH} levels')
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = inside.pop()
            sizes[anchor] = values - before
        if values > MAX_VALUES:
            raise YamlFileError(
                f'line {line}: more than {MAX_VALUES} values, aliases counted as written out'
            )


def shown(value: object, plain: bool = False) -> str:
    """A value for a message: on one line and short; as Python writes it unless `plain`."""
    text = ' '.join((str(value) if plain else repr(value)).split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + '...'


def shown_path(path: str | Path) -> str:
    """The end of a path, for a message."""
    text = str(path)
    return text if len(text) <= _SHOWN_PATH else f'..{text[-_SHOWN_PATH:]}'


def validation_message(error: ValidationError, left_out: tuple[str, ...] = ()) -> str:
    """One line for the first thing that pydantic refuses: key, what is wrong, what was given.

    Args:
        error: What pydantic raised.
        left_out: Parts of the key's path that do not stand in the file, such as the tag of a union.
    """
    first, *rest = error.errors()
    key = '.'.join(str(part) for part in first['loc'] if part not in left_out) or 'file'
    if first['type'] == 'missing':
        text = 'key is missing: add it'
    elif first['type'] == 'extra_forbidden':
        text = 'unknown key: remove it or correct its spelling'
    elif first['type'] in ('model_type', 'model_attributes_type', 'dict_type'):
        text = 'must hold keys with values'
    else:
        text = first['msg'].removeprefix('Value error, ')
        text = text if len(text) <= 200 else text[:197] + '...'
    given = (
        ''
        if first['type'] == 'missing' or isinstance(first['input'], dict | list)
        else f' (given {shown(first["input"])})'
    )
    return f'{shown(key, plain=True)}: {text}{given}' + (f' (and {len(rest)} more)' if rest else '')
