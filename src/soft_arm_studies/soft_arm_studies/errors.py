"""Error of studies."""

from soft_arm_io.errors import InputError


class StudyError(InputError):
    """Invalid study file, options or folder; the message is one line."""
