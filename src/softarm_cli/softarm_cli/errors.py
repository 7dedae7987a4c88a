"""Errors of the commands, each one line with its remedy.

They stand apart because the modules that raise them take long to import.
"""


class BagError(ValueError):
    """A bag that cannot be written, read, drawn or played."""


class GraphError(ValueError):
    """A missing element of the graph."""


class MessageTypeError(ValueError):
    """A message type that is not installed."""


class FieldError(ValueError):
    """A missing field of a message."""
