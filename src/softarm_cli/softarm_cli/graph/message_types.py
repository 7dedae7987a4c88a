"""Message types by name: their Python classes, and their definitions for bags."""

import importlib
import json
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

from softarm_cli.errors import MessageTypeError


def message_class(type_name: str) -> type:
    """Return the Python class of a message type such as `std_msgs/msg/Header`.

    Raises:
        MessageTypeError: If its package is not installed, or has no such message.
    """
    try:
        package, kind, name = type_name.split('/')
        return getattr(importlib.import_module(f'{package}.{kind}'), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise MessageTypeError(f'type {type_name} is not installed here') from error


def message_definition(type_name: str) -> tuple[str, str]:
    """Return the complete definition of a message type for bags, and its RIHS01 hash.

    Raises:
        MessageTypeError: If its package is not installed, or lacks the definition.
    """
    package, kind, name = type_name.split('/')
    try:
        folder = Path(get_package_share_directory(package)) / kind
        description = json.loads((folder / f'{name}.json').read_text())
        parts = [(folder / f'{name}.msg').read_text()]
        for referred in description['type_description_msg']['referenced_type_descriptions']:
            other_package, other_kind, other = referred['type_name'].split('/')
            path = Path(get_package_share_directory(other_package)) / other_kind / f'{other}.msg'
            parts.append(f'MSG: {other_package}/{other}\n{path.read_text()}')
    except (PackageNotFoundError, OSError) as error:
        raise MessageTypeError(f'type {type_name} has no definition here: {error}') from error
    type_hash = next(
        e['hash_string'] for e in description['type_hashes'] if e['type_name'] == type_name
    )
    return f'\n{"=" * 80}\n'.join(parts), type_hash
