"""Error of recordings and mappings."""


class RecordingError(ValueError):
    """A recording or a mapping cannot be used; the message is one line."""
