"""Error of recordings and mappings."""

from soft_arm_io.errors import InputError


class RecordingError(InputError):
    """A recording or a mapping cannot be used; the message is one line."""
