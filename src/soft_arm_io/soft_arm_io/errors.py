"""Base of the errors that a command reports in one line, with exit code 2."""


class InputError(ValueError):
    """A file, a value or a device cannot be used; the message states value, limit and remedy."""
