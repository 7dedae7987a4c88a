"""Base of the errors of input that a user gave."""


class InputError(ValueError):
    """A file or a value cannot be used; the message states value, limit and remedy."""
