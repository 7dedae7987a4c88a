"""Arguments that several commands of this package share."""

import re
from argparse import ArgumentTypeError

from soft_arm_io.command_line import CommandLine

_NAME = r'[A-Za-z][A-Za-z0-9_]*'


def add_namespace(parser: CommandLine, default: str) -> None:
    """Add `--namespace`, the namespace of the nodes that the command calls."""
    parser.add_option('--namespace', _namespace, default, 'namespace of the arm', metavar='NS')


def _namespace(text: str) -> str:
    name = text.strip('/')
    if not re.fullmatch(rf'{_NAME}(/{_NAME})*', name) or len(name) > 200:
        raise ArgumentTypeError(
            f'{text[:60]!r} is not a namespace: use letters, digits and _, such as soft_arm'
        )
    return name
