"""Errors of the commands, each one line with its remedy.

They stand apart because the modules that raise them take long to import.
"""

from soft_arm_io.errors import InputError


class BagError(InputError):
    """A bag that cannot be written, read, drawn or played."""


class GraphError(InputError):
    """A missing element of the graph."""


class MessageTypeError(InputError):
    """A message type that is not installed."""


class FieldError(InputError):
    """A missing field of a message."""
