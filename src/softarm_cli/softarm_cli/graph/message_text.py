"""Messages as plain values, for YAML and JSON."""

import math
import re
from typing import Any

from softarm_cli.errors import FieldError

MAX_ENTRIES = 128


def plain(value: Any, max_entries: int = MAX_ENTRIES) -> Any:
    """Return a message or field as dicts, lists and scalars.

    Lists are truncated to `max_entries` entries; then the last entry gives the full length.
    """
    if hasattr(value, 'get_fields_and_field_types'):
        return {
            name: plain(getattr(value, name), max_entries)
            for name in value.get_fields_and_field_types()
        }
    if isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, bytes) and len(value) == 1:
        return value[0]  # the type `byte`
    entries = [
        plain(entry if isinstance(entry, (bytes, str)) else _scalar(entry), max_entries)
        for entry in value[:max_entries]
    ]
    return [*entries, f'.. {len(value)} in all'] if len(value) > max_entries else entries


def field(message: Any, path: str) -> Any:
    """Return one field of a message.

    Args:
        message: A message.
        path: Names and indices, such as `pose.position.x` or `pressures_pa[0]`.

    Raises:
        FieldError: If the field does not exist.
    """
    value = message
    for name in re.findall(r'[^.\[\]]+', path):
        if hasattr(value, 'get_fields_and_field_types'):
            known = list(value.get_fields_and_field_types())
            if name not in known:
                raise FieldError(f'unknown field {name!r} in {path!r}; known: {", ".join(known)}')
            value = getattr(value, name)
        elif not isinstance(value, (str, bool, int, float)) and name.isdecimal() and len(name) < 10:
            if int(name) >= len(value):
                raise FieldError(f'{path!r}: this message has only {len(value)} entries there')
            value = _scalar(value[int(name)])
        else:
            raise FieldError(f'{path!r}: {name!r} is neither a field nor an index of a list')
    return value


def finite(value: Any) -> Any:
    """Return plain values with None for numbers that JSON cannot hold."""
    if isinstance(value, dict):
        return {name: finite(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _scalar(value: Any) -> Any:
    """Return a NumPy scalar as a Python number."""
    return value.item() if hasattr(value, 'dtype') and not getattr(value, 'shape', ()) else value
